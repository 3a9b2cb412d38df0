"""`yourtool sessions import`: imports of sessions.

It reads our exports and files of other programs.
"""

import asyncio
import hashlib
import io
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO, cast

from yourtool import extensions
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.errors import StoreError, UsageError
from yourtool.events.catalog import AnyFact
from yourtool.paths import Paths
from yourtool.store.base import SessionStore
from yourtool.store.bundles import MAX_BYTES, is_bundle, read_bundle
from yourtool.store.export_lines import import_warnings
from yourtool.store.exports import is_export, read_export
from yourtool.store.forks import Outcome, count_losses, find_import, import_session

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
        workspace = arguments.workspace
        if isinstance(found, bytes):
            outcomes = await _import_foreign(store, found, file, workspace, paths.blobs)
        else:
            outcomes = [await _import_export(store, *found, workspace)]
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
    store: SessionStore, content: bytes, file: Path, workspace: Path, blobs: Path
) -> Sequence[Outcome]:
    if (importer := extensions.load_session_importer()) is None:
        raise UsageError("it is no export of yourtool, and nothing here reads other formats")
    return await importer.import_sessions(store, content, file, workspace, blobs)


def _read(file: BinaryIO, blobs: Path) -> tuple[tuple[AnyFact, ...], str] | bytes:
    """Return the facts and the hash of an export or bundle of ours, or else the bytes."""
    reader = io.BufferedReader(cast("io.RawIOBase", file))
    try:
        if is_export(start := reader.peek(1)):
            return read_export(reader, blobs)
        content = reader.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UsageError(f"it is larger than {MAX_BYTES // 2**20} MiB")
        if is_bundle(start):
            return read_bundle(content, blobs), hashlib.sha256(content).hexdigest()
        return content
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
