"""Copies of sessions: forks and imports.

A copy is an ordinary session with its own ids: writing, exporting and deleting it does not involve
the original, and queries stay plain SQL. New ids have the same order as the ids they replace, and
the providers' ids of tool calls do not change. A provider therefore receives the same content as
before and accepts its signatures.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from yourtool.errors import UsageError
from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    MergedMessage,
)
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.context import (
    ContextCompacted,
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
)
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestoring
from yourtool.events.model_calls import LlmCallCompleted, LlmCallStarted
from yourtool.events.sessions import (
    SessionCreated,
    SessionExtended,
    SessionForked,
    SessionImported,
    SessionResumed,
)
from yourtool.events.tools import ShellRan
from yourtool.events.turns import TurnCancelled, TurnCompleted, TurnStarted
from yourtool.foundation.file_images import FileImage, FileRestore, RecordedChange, is_digest
from yourtool.ids import is_ulid, new_id, new_session_id, new_tool_use_id
from yourtool.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Message, now
from yourtool.messages.metadata import ReplyMetadata, ResultMetadata
from yourtool.paths import to_stored_path
from yourtool.store.base import SessionStore
from yourtool.store.texts import hash_text

Change = TypeVar("Change", RecordedChange, FileRestore)

_CALL_PREFIX = "tu_"
_SESSION_PREFIX = "sess_"
_MAX_LOSSES = 100
"""Different kinds of losses that are stored."""
_REFERENCES: Mapping[type[AnyFact], tuple[str, ...]] = {
    SessionResumed: ("last_event_id_at_resume",),
    FileChangeFailed: ("changed_event_id",),
    FilesRestoring: ("turns", "through"),
    LlmCallStarted: ("rejected_through",),
    ContextElided: ("through",),
    ContextCompacted: ("through", "kept"),
    ContextOverridden: ("target",),
    BranchSelected: ("leaf", "left"),
    BranchLabelled: ("target",),
    BranchSummarised: ("left",),
}
"""The fields, besides those that all facts have, that refer to facts and messages by id."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    session_id: str
    system: str
    """The program that wrote the file."""
    directory: str = ""
    """Where that program ran."""
    already_imported: bool = False
    added: int = 0
    """Entries of the file that were added to a session imported earlier."""
    losses: tuple[str, ...] = ()


async def fork(
    store: SessionStore,
    session_id: str,
    at: str | None = None,
) -> str:
    """Copy a session up to the message `at` and return the id of the copy.

    The copy ends between turns: before the turn of `at` if it is a prompt of the user, after it
    otherwise. Without `at`, all finished turns are copied.

    Raises:
        SessionNotFoundError: the session does not exist.
        UsageError: the session has no message `at`, or its turn is unfinished.
        StoreError: the database cannot be read or written.
    """
    facts = facts_until(await store.read(session_id), at)
    fork_id = new_session_id()
    copied = await asyncio.to_thread(with_new_ids, facts, fork_id)
    forked = SessionForked(
        id=new_id(), timestamp=now(), session_id=fork_id, parent_session_id=session_id
    )
    await store.append(*copied, forked)
    return fork_id


async def import_session(
    store: SessionStore,
    facts: Sequence[AnyFact],
    workspace: Path,
    source_sha256: str | UnsetType = UNSET,
) -> str:
    """Store the facts of an exported session in a workspace and return the session id.

    The ids stay the same if all of them are unused here; otherwise all are replaced. The workspace
    path in the export is ignored: it belongs to another machine or user. `source_sha256`: the hash
    of the file, for `find_import`. When it raises, nothing was stored.

    Raises:
        UsageError: the facts are not one complete session in order.
        InvalidMessageError: a message breaks an invariant.
        StoreError: facts contradict one another, or the database cannot be written.
    """
    require_complete(facts)
    source = facts[0].session_id
    if not _can_keep_ids(facts) or await store.has_any(_unique_ids(facts), source):
        facts = await asyncio.to_thread(with_new_ids, facts, new_session_id())
    created, session_id = facts[0], facts[0].session_id
    assert isinstance(created, SessionCreated), "checked by require_complete"
    here = replace(
        as_own_session(created),
        workspace_path=to_stored_path(workspace),
        workspace_hash=workspace_hash(workspace),
    )
    imported = SessionImported(
        id=new_id(),
        timestamp=now(),
        session_id=session_id,
        source_session_id=source,
        source_sha256=source_sha256,
    )
    others = map(_without_directory, map(_without_source, facts[1:]))
    others = map(_without_invalid_digests, others)
    await store.append(here, *others, imported)
    return session_id


async def find_import(store: SessionStore, source_sha256: str) -> str | None:
    """Return the id of the stored session that was imported from a file with this hash, if any.

    Raises:
        StoreError: the database cannot be read.
    """
    found = list[str]()

    def keep(fact: AnyFact) -> None:
        is_import = isinstance(fact, SessionImported | SessionExtended)
        if is_import and fact.source_sha256 == source_sha256:
            found.append(fact.session_id)

    await store.read_kinds((SessionImported, SessionExtended), keep)
    return found[0] if found else None


def _without_source(fact: AnyFact) -> AnyFact:
    """Return a fact without the hash of an imported file, which only the first copy has.

    Otherwise an export could contain the hash of another file and take its place.
    """
    is_import = isinstance(fact, SessionImported | SessionExtended)
    return replace(fact, source_sha256=UNSET) if is_import else fact


def _without_directory(fact: AnyFact) -> AnyFact:
    """Return a fact without a directory of another machine in which the session went on."""
    return replace(fact, workspace_path=UNSET) if isinstance(fact, SessionResumed) else fact


def _without_invalid_digests(fact: AnyFact) -> AnyFact:
    """Return a fact whose digests of files are digests or empty, and never paths."""
    match fact:
        case FilesChanged(changes=changes):
            return replace(fact, changes=tuple(map(_clean_change, changes)))
        case FilesRestoring(files=files):
            return replace(fact, files=tuple(map(_clean_change, files)))
        case _:
            return fact


def _clean_change(change: Change) -> Change:
    before, after = map(_clean_image, (change.before, change.after))
    return replace(change, before=before, after=after)


def _clean_image(image: FileImage) -> FileImage:
    return image if is_digest(image.digest) else replace(image, digest="", stored=False)


def require_complete(facts: Sequence[AnyFact]) -> None:
    """Check that the facts are one session from its start, in order.

    Raises:
        UsageError: they are not.
    """
    if not facts or [fact for fact in facts if isinstance(fact, SessionCreated)] != [facts[0]]:
        raise UsageError("it does not contain exactly one session from its start")
    if any(one.id >= other.id for one, other in pairwise(facts)):
        raise UsageError("its events are not in the order of their ids, or one occurs twice")


def as_own_session(created: SessionCreated) -> SessionCreated:
    """Return the start of a copy, which belongs to the user also if the original is a worker."""
    return replace(created, parent_session_id=UNSET, parent_tool_use_id=UNSET)


def workspace_hash(workspace: Path) -> str:
    """Return the SHA-256 of a path, used where the path itself must not appear."""
    return hash_text(to_stored_path(workspace))


def count_losses(losses: Counter[str]) -> tuple[str, ...]:
    """Return a line for each kind of loss, the most frequent first."""
    found = losses.most_common(_MAX_LOSSES)
    return tuple(f"{what} ({count})" if count > 1 else what for what, count in found)


def facts_until(facts: Sequence[AnyFact], at: str | None = None) -> Sequence[AnyFact]:
    """Return the facts up to the turn boundary that `fork` describes.

    Raises:
        UsageError: there is no message `at`, or its turn is unfinished.
    """
    if at is None:
        ends = [
            i for i, fact in enumerate(facts) if isinstance(fact, TurnCompleted | TurnCancelled)
        ]
        starts = [i for i, fact in enumerate(facts) if isinstance(fact, TurnStarted)]
        is_finished = not starts or (ends and ends[-1] > starts[-1])
        return facts if is_finished else facts[: starts[-1]]
    matches = (i for i, fact in enumerate(facts) if (found := message_of(fact)) and found.id == at)
    position = next(matches, None)
    if position is None:
        raise UsageError(f"There is no message `{at}` in this session.")
    if isinstance(facts[position], TurnStarted | ShellRan):
        return facts[:position]
    turn = facts[position].turn_id
    for i, fact in enumerate(facts):
        if fact.turn_id == turn and isinstance(fact, TurnCompleted | TurnCancelled):
            return facts[: i + 1]
    raise UsageError(f"The turn of message `{at}` is unfinished; fork from an earlier message.")


def with_new_ids(facts: Sequence[AnyFact], session_id: str) -> tuple[AnyFact, ...]:
    """Return the facts as another session, with all ids replaced."""
    ids = _IdMap(facts, session_id)
    return tuple(ids.map_fact(fact) for fact in facts)


def map_references(fact: AnyFact, map_id: Callable[[str], str]) -> dict[str, object]:
    """Return the fields of a fact that refer to other facts and messages, with other ids."""
    changes: dict[str, object] = {}
    for name in _REFERENCES.get(type(fact), ()):
        old: str | tuple[str, ...] | UnsetType | None = getattr(fact, name)
        if isinstance(old, str | tuple):
            ids = tuple(map(map_id, (old,) if isinstance(old, str) else old))
            changes[name] = ids[0] if isinstance(old, str) else ids
    if isinstance(fact, BranchMerged):
        pairs = ((map_id(each.source), map_id(each.id)) for each in fact.merged)
        changes["merged"] = tuple(MergedMessage(*pair) for pair in pairs)
    if isinstance(fact, ContextHandedOver):
        changes["left_out"] = tuple(
            replace(each, message_id=map_id(each.message_id)) for each in fact.left_out
        )
    return changes


class _IdMap:
    """Maps old ids of a session to new ones; unknown ids stay the same."""

    def __init__(self, facts: Sequence[AnyFact], session_id: str) -> None:
        self._session_id = session_id
        calls = _call_ids(facts)
        self._new = {
            old: new_tool_use_id() if old in calls else new_id()
            for old in sorted(_unique_ids(facts), key=lambda old: old.removeprefix(_CALL_PREFIX))
        }

    def map_fact(self, fact: AnyFact) -> AnyFact:
        changes: dict[str, object] = {"session_id": self._session_id}
        if isinstance(fact, SessionCreated):
            fact = as_own_session(fact)
        fact = _without_source(fact)
        for name in ("id", "turn_id", "parent_event_id", "tool_use_id"):
            if (old := getattr(fact, name, None)) is not None:
                changes[name] = self._map_id(old)
        changes |= map_references(fact, self._map_id)
        if isinstance(fact, LlmCallCompleted):
            changes["provider_tool_ids"] = {
                self._map_id(ours): wire for ours, wire in fact.provider_tool_ids.items()
            }
        if (message := message_of(fact)) is not None:
            changes["message"] = self._map_message(message)
        return replace(fact, **changes)

    def _map_id(self, old: str) -> str:
        return self._new.get(old, old)

    def _map_message(self, message: Message) -> Message:
        metadata = message.metadata
        match metadata:
            case ResultMetadata(parent_tool_use_id=str(parent)):
                metadata = replace(metadata, parent_tool_use_id=self._map_id(parent))
            case ReplyMetadata(tool_input_errors=dict(errors)):
                errors = {self._map_id(call): error for call, error in errors.items()}
                metadata = replace(metadata, tool_input_errors=errors)
            case _:
                pass
        return replace(
            message,
            id=self._map_id(message.id),
            session_id=self._session_id,
            content=tuple(map(self._map_block, message.content)),
            metadata=metadata,
        )

    def _map_block(self, block: ContentBlock) -> ContentBlock:
        match block:
            case ToolUseBlock():
                return replace(block, id=self._map_id(block.id))
            case ToolResultBlock():
                return replace(block, tool_use_id=self._map_id(block.tool_use_id))
            case _:
                return block


def _unique_ids(facts: Sequence[AnyFact]) -> set[str]:
    """Return the ids that must be unique across sessions: of events, turns, messages and calls."""
    events = {fact.id for fact in facts} | {fact.turn_id for fact in facts if fact.turn_id}
    copies = {each.id for fact in facts if isinstance(fact, BranchMerged) for each in fact.merged}
    return events | copies | {each.id for each in _messages(facts)} | _call_ids(facts)


def _call_ids(facts: Sequence[AnyFact]) -> set[str]:
    return {call.id for message in _messages(facts) for call in message.tool_uses}


def _messages(facts: Sequence[AnyFact]) -> Iterator[Message]:
    for fact in facts:
        if (message := message_of(fact)) is not None:
            yield message


def _can_keep_ids(facts: Sequence[AnyFact]) -> bool:
    """Whether a session can be stored under its own ids: all are well-formed and in the past."""
    session = {fact.session_id for fact in facts}
    ulids = {each.removeprefix(_CALL_PREFIX) for each in _unique_ids(facts)}
    ulids |= {each.removeprefix(_SESSION_PREFIX) for each in session}
    latest = new_id()
    return (
        len(session) == 1
        and facts[0].session_id.startswith(_SESSION_PREFIX)
        and all(is_ulid(ulid) and ulid < latest for ulid in ulids)
        and all(call.startswith(_CALL_PREFIX) for call in _call_ids(facts))
    )
