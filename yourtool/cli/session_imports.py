"""`yourtool sessions import`: from our own exports and from files of other programs."""

import asyncio
import io
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO, cast

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.errors import StoreError, UsageError
from yourtool.events.catalog import AnyFact
from yourtool.paths import Paths
from yourtool.store.base import SessionStore
from yourtool.store.bundles import is_bundle, read_bundle
from yourtool.store.export_lines import import_warnings
from yourtool.store.exports import is_export, read_export
from yourtool.store.foreign_imports import Outcome, count_losses, import_foreign
from yourtool.store.forks import find_import, import_session
from yourtool.store.importers import attocode_database
from yourtool.store.importers.source import Source, read_source

STANDARD_STREAM = Path("-")
OURS = "yourtool"
"""The system of our own exports."""


async def import_file(store: SessionStore, paths: Paths, arguments: Arguments) -> None:
    """Import the session in a file, and print what was lost.

    Raises:
        UsageError: the file cannot be read, or it is not a session; nothing was imported.
    """
    file = arguments.file or STANDARD_STREAM
    try:
        # Standard input stays open: the caller owns it.
        with (
            nullcontext(sys.stdin.buffer) if file == STANDARD_STREAM else file.open("rb") as opened
        ):
            found = await asyncio.to_thread(_read, opened, paths.blobs)
        if isinstance(found, Source) and attocode_database.is_database(found):
            found = await asyncio.to_thread(attocode_database.with_log, found, file)
        if isinstance(found, Source):
            name = "" if file == STANDARD_STREAM else file.stem
            outcomes = await _import_foreign(store, found, name, paths, arguments)
        else:
            outcomes = [await _import_export(store, *found, arguments.workspace)]
    except OSError as error:
        raise UsageError(f"cannot read `{file}`: {error.strerror}") from error
    except (UsageError, StoreError) as error:
        raise UsageError(f"cannot import `{file}`: {error}") from error
    for outcome in outcomes:
        if arguments.json:
            _print_as_json(outcome)
        else:
            _print(outcome)


async def _import_foreign(
    store: SessionStore, source: Source, name: str, paths: Paths, arguments: Arguments
) -> list[Outcome]:
    """Import the session in a file, or all in a database but those that cannot be read.

    Raises:
        UsageError: no session can be read.
    """
    sessions, outcomes, problems = [(name, source)], list[Outcome](), list[UsageError]()
    if attocode_database.is_database(source):
        sessions = await asyncio.to_thread(attocode_database.read_sessions, source)
    for source_id, lines in sessions:
        try:
            outcomes.append(
                await import_foreign(store, lines, source_id, arguments.workspace, paths.blobs)
            )
        except UsageError as error:
            problems.append(error)
    if not outcomes:
        raise problems[0]
    if problems:
        text = f"sessions that cannot be read: {len(problems):,}; the first: {problems[0]}"
        print_lines(text, file=sys.stderr)
    return outcomes


def _read(file: BinaryIO, blobs: Path) -> tuple[tuple[AnyFact, ...], str] | Source:
    """Return the facts and the hash of an export or bundle of ours, or else the bytes."""
    reader = io.BufferedReader(cast("io.RawIOBase", file))
    try:
        if is_export(start := reader.peek(1)):
            return read_export(reader, blobs)
        source = read_source(reader)
        if is_bundle(start):
            return read_bundle(source.content, blobs), source.digest
        return source
    finally:
        reader.detach()  # closing it would close the file


async def _import_export(
    store: SessionStore, facts: tuple[AnyFact, ...], digest: str, workspace: Path
) -> Outcome:
    known = await find_import(store, digest)
    session_id = known or await import_session(store, facts, workspace, digest)
    found = Counter(import_warnings(facts))
    return Outcome(
        session_id=session_id,
        system=OURS,
        already_imported=known is not None,
        losses=count_losses(found),
    )


def _print_as_json(outcome: Outcome) -> None:
    printed: dict[str, object] = {
        "session_id": outcome.session_id,
        "already_imported": outcome.already_imported,
        "warnings": outcome.losses,
    }
    if outcome.system != OURS:
        printed |= {"system": outcome.system, "added": outcome.added}
    print_json(printed)


def _print(outcome: Outcome) -> None:
    if outcome.system != OURS and not outcome.already_imported:
        print_lines(f"The file is a session of {outcome.system}.")
    if outcome.directory:
        print_lines(f"It ran in {outcome.directory}; here it works in this directory.")
    for loss in outcome.losses:
        what = "Stored, but not shown to models" if outcome.system == OURS else "Not taken over"
        print_lines(f"{what}: {loss}.")
    done = "Already imported" if outcome.already_imported else "Imported"
    if outcome.added:
        done = f"Added {outcome.added} new entries to the session imported before"
    print_lines(f"{done}. Continue with: yourtool --resume {outcome.session_id}")
