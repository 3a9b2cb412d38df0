"""Import of a foreign session file."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.cli.output import print_lines
from yourtool.cli.session_commands.session_imports import STANDARD_STREAM
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.sessions import SessionCreated, SessionExtended, SessionImported
from yourtool.events.tree import FactTree, get_entry_id
from yourtool.extensions.importers import attocode_database
from yourtool.extensions.importers.builder import build_facts
from yourtool.extensions.importers.detection import read_transcript
from yourtool.extensions.importers.source import Source
from yourtool.extensions.importers.transcript import Continuation, Transcript
from yourtool.ids import new_id
from yourtool.messages.blobs import store_blob
from yourtool.messages.message import now
from yourtool.paths import to_stored_path
from yourtool.store.base import SessionStore
from yourtool.store.forks import Outcome, count_losses, find_import, workspace_hash
from yourtool.store.lost_results import find_open_turn

E = TypeVar("E", SessionImported, SessionExtended)


async def import_sessions(
    store: SessionStore, content: bytes, file: Path, workspace: Path, blobs: Path
) -> Sequence[Outcome]:
    """Import the session in a file, or all in a database but those that cannot be read.

    Raises:
        UsageError: no session can be read.
        OSError: the log of a database cannot be read.
    """
    source = await asyncio.to_thread(Source, content)
    sessions = [("" if file == STANDARD_STREAM else file.stem, source)]
    if attocode_database.is_database(source):
        source = await asyncio.to_thread(attocode_database.with_log, source, file)
        sessions = await asyncio.to_thread(attocode_database.read_sessions, source)
    outcomes, problems = list[Outcome](), list[UsageError]()
    for name, lines in sessions:
        try:
            outcomes.append(await import_foreign(store, lines, name, workspace, blobs))
        except UsageError as error:
            problems.append(error)
    if not outcomes:
        raise problems[0]
    if problems:
        text = f"sessions that cannot be read: {len(problems):,}; the first: {problems[0]}"
        print_lines(text, file=sys.stderr)
    return outcomes


async def import_foreign(
    store: SessionStore, source: Source, name: str, workspace: Path, blobs: Path
) -> Outcome:
    """Store the session in a file of another program in a workspace.

    `name`: the id of the session if its format has none. When it raises, no fact was stored.

    Raises:
        UsageError: the format is unknown, or the session to which the file adds is in use.
        InvalidMessageError: a message breaks an invariant.
        StoreError: the database cannot be read or written.
        BlobError: an image cannot be stored.
    """
    transcript = await asyncio.to_thread(read_transcript, source, name)
    if (known := await find_import(store, source.digest)) is not None:
        return Outcome(session_id=known, system=transcript.system, already_imported=True)
    if (earlier := await _find_start(store, source, transcript)) is not None:
        return await _add_new(store, source, transcript, earlier, blobs)
    facts = await asyncio.to_thread(build_facts, transcript)
    created = facts[0]
    assert isinstance(created, SessionCreated), "the builder starts with it"
    here = replace(
        created, workspace_path=to_stored_path(workspace), workspace_hash=workspace_hash(workspace)
    )
    imported = _build_end(SessionImported, source, transcript, created.session_id)
    await asyncio.to_thread(_store_attachments, transcript, blobs)
    await store.append(here, *facts[1:], imported)
    return _describe(transcript, created.session_id)


async def _find_start(
    store: SessionStore, source: Source, transcript: Transcript
) -> SessionImported | SessionExtended | None:
    """Return the last import of the start of a file."""
    found = list[SessionImported | SessionExtended]()

    def keep(fact: AnyFact) -> None:
        if (
            isinstance(fact, SessionImported | SessionExtended)
            and fact.system == transcript.system
            and fact.source_session_id == transcript.source_id
            and fact.source_bytes is not UNSET
            and fact.source_bytes < len(source.content)
        ):
            found.append(fact)

    await store.read_kinds((SessionImported, SessionExtended), keep)
    for fact in reversed(found):
        assert fact.source_bytes is not UNSET, "checked above"
        if source.get_start(fact.source_bytes).digest == fact.source_sha256:
            return fact
    return None


async def _add_new(
    store: SessionStore,
    source: Source,
    transcript: Transcript,
    earlier: SessionImported | SessionExtended,
    blobs: Path,
) -> Outcome:
    """Add the entries that a file has since it was imported."""
    assert earlier.source_bytes is not UNSET, "`_find_start` compares it"
    session_id = earlier.session_id
    start = await asyncio.to_thread(
        read_transcript, source.get_start(earlier.source_bytes), transcript.source_id
    )
    lease = store.lease(session_id)
    try:
        stored = await store.read(session_id)
        if find_open_turn(stored) is not None:
            raise UsageError(f"the last turn of `{session_id}` has not ended; resume it first")
        known = frozenset(entry.id for entry in start.entries)
        continuation = _read_continuation(session_id, stored, known)
        facts = await asyncio.to_thread(build_facts, transcript, continuation)
        await asyncio.to_thread(_store_attachments, transcript, blobs)
        await store.append(*facts, _build_end(SessionExtended, source, transcript, session_id))
    finally:
        lease.release()
    added = sum(entry.id not in known for entry in transcript.entries)
    return replace(_describe(transcript, session_id), added=added)


def _read_continuation(
    session_id: str, stored: Sequence[AnyFact], known: frozenset[str]
) -> Continuation:
    """Return where the first entries of a file are in the session that they were imported to."""
    messages = [message for message in map(message_of, stored) if message is not None]
    owners = {use.id: message.id for message in messages for use in message.tool_uses}
    ends = {message.id: message.id for message in messages}
    for message in messages:
        if message.result is not None and (owner := owners.get(message.result.tool_use_id)):
            ends[owner] = max(ends[owner], message.id)
    found, leaves = dict[str, str](), dict[str, str]()
    for message in messages:
        source = message.metadata.import_source
        if source is not None and source.source_id is not None:
            found[source.source_id] = message.id
            owner = owners.get(message.result.tool_use_id) if message.result else message.id
            leaves[source.source_id] = ends[owner or message.id]
    path = FactTree(stored).iterate_path()
    return Continuation(
        session_id=session_id,
        known=known,
        messages=found,
        leaves=leaves,
        leaf=max(map(get_entry_id, path), default=""),
    )


def _build_end(kind: type[E], source: Source, transcript: Transcript, session_id: str) -> E:
    return kind(
        id=new_id(),
        timestamp=now(),
        session_id=session_id,
        source_session_id=transcript.source_id,
        source_sha256=source.digest,
        system=transcript.system,
        source_bytes=len(source.content),
        losses=count_losses(transcript.losses) or UNSET,
    )


def _store_attachments(transcript: Transcript, blobs: Path) -> None:
    for content in transcript.attachments.values():
        store_blob(blobs, content)


def _describe(transcript: Transcript, session_id: str) -> Outcome:
    return Outcome(
        session_id=session_id,
        system=transcript.system,
        directory=transcript.directory,
        losses=count_losses(transcript.losses),
    )
