"""Copies of sessions: a fork of one that is stored here, and one that came from a file.

A copy is a session like any other, with ids of its own: it is written, exported and deleted
without regard to where it came from, and common questions stay plain SQL. The ids that are minted
for it have the order of those they replace, and the ids that providers gave to calls stay, so a
provider is sent what it was sent before and takes its signatures back.
"""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from yourtool.errors import UsageError
from yourtool.events import (
    AnyFact,
    LlmCallCompleted,
    SessionCreated,
    SessionForked,
    SessionImported,
    SessionResumed,
    ShellRan,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    message_of,
)
from yourtool.ids import is_ulid, new_id, new_session_id, new_tool_use_id
from yourtool.messages import ContentBlock, Message, ToolResultBlock, ToolUseBlock, now
from yourtool.store.log import Log

_CALL = "tu_"
_SESSION = "sess_"


async def fork(log: Log, session_id: str, at: str | None = None) -> str:
    """Copy a session, or a part of it from its beginning, and return the id of the copy.

    A part ends where a turn does: before the turn that the message `at` began, if that is the
    user's, and after its turn if it is not. Without `at`, everything that is over is copied.

    Raises:
        SessionNotFoundError: there is no such session.
        UsageError: it has no such message, or the turn of that message is not over.
        StoreError: the database cannot be read or written.
    """
    facts = part(await log.read(session_id), at)
    fork_id = new_session_id()
    copied = await asyncio.to_thread(renamed, facts, fork_id)
    forked = SessionForked(
        id=new_id(), timestamp=now(), session_id=fork_id, parent_session_id=session_id
    )
    await log.append(*copied, forked)
    return fork_id


async def adopt(log: Log, facts: Sequence[AnyFact], workspace: Path) -> str:
    """Store the facts of an exported session as a session of a directory; return its id.

    It keeps its ids where none of them is in use here; otherwise it gets new ones. The directory
    that stands in the export is not looked at: it is that of another machine, or of somebody else.

    Raises:
        UsageError: these are not the facts of one session from its beginning, in their order.
        InvalidMessageError: a message breaks an invariant; nothing was stored.
        StoreError: facts contradict one another, or the disk refuses; nothing was stored.
    """
    require_whole(facts)
    source = facts[0].session_id
    if not _is_ours(facts) or await log.has_any(_ids(facts), source):
        facts = await asyncio.to_thread(renamed, facts, new_session_id())
    created, session_id = facts[0], facts[0].session_id
    assert isinstance(created, SessionCreated), "looked at above"
    here = replace(created, workspace_path=str(workspace), workspace_hash=workspace_hash(workspace))
    imported = SessionImported(
        id=new_id(), timestamp=now(), session_id=session_id, source_session_id=source
    )
    await log.append(here, *facts[1:], imported)
    return session_id


def require_whole(facts: Sequence[AnyFact]) -> None:
    """Refuse what is not one session from its beginning, in its order.

    Raises:
        UsageError: it is not.
    """
    if not facts or [fact for fact in facts if isinstance(fact, SessionCreated)] != [facts[0]]:
        raise UsageError("it does not hold one session from its beginning")
    if any(one.id >= other.id for one, other in pairwise(facts)):
        raise UsageError("its events are not in the order of their ids, or one stands there twice")


def workspace_hash(workspace: Path) -> str:
    """Return the SHA-256 of a path, which stands for it where the path itself must not."""
    return hashlib.sha256(str(workspace).encode(errors="surrogateescape")).hexdigest()


def part(facts: Sequence[AnyFact], at: str | None = None) -> Sequence[AnyFact]:
    """Return the facts up to the boundary of turns that `fork` describes.

    Raises:
        UsageError: there is no message `at`, or its turn is not over.
    """
    if at is None:
        ends = [
            i for i, fact in enumerate(facts) if isinstance(fact, TurnCompleted | TurnCancelled)
        ]
        begins = [i for i, fact in enumerate(facts) if isinstance(fact, TurnStarted)]
        is_over = not begins or (ends and ends[-1] > begins[-1])
        return facts if is_over else facts[: begins[-1]]
    bringing = (i for i, fact in enumerate(facts) if (said := message_of(fact)) and said.id == at)
    place = next(bringing, None)
    if place is None:
        raise UsageError(f"There is no message `{at}` in this session.")
    if isinstance(facts[place], TurnStarted | ShellRan):
        return facts[:place]
    turn = facts[place].turn_id
    for i, fact in enumerate(facts):
        if fact.turn_id == turn and isinstance(fact, TurnCompleted | TurnCancelled):
            return facts[: i + 1]
    raise UsageError(f"The turn of message `{at}` is not over, so nothing can follow it yet.")


def renamed(facts: Sequence[AnyFact], session_id: str) -> tuple[AnyFact, ...]:
    """Return the same facts as those of another session, with new ids throughout."""
    names = _Names(facts, session_id)
    return tuple(names.fact(fact) for fact in facts)


class _Names:
    """The new ids of a session by its old ones; an id that is not known stays."""

    def __init__(self, facts: Sequence[AnyFact], session_id: str) -> None:
        self._session_id = session_id
        calls = _calls(facts)
        self._new = {
            old: new_tool_use_id() if old in calls else new_id()
            for old in sorted(_ids(facts), key=lambda old: old.removeprefix(_CALL))
        }

    def fact(self, fact: AnyFact) -> AnyFact:
        changes: dict[str, object] = {"session_id": self._session_id}
        for name in ("id", "turn_id", "parent_event_id", "tool_use_id"):
            if (old := getattr(fact, name, None)) is not None:
                changes[name] = self._of(old)
        if isinstance(fact, LlmCallCompleted):
            given = fact.provider_tool_ids
            changes["provider_tool_ids"] = {self._of(ours): wire for ours, wire in given.items()}
        if isinstance(fact, SessionResumed) and fact.last_event_id_at_resume:
            changes["last_event_id_at_resume"] = self._of(fact.last_event_id_at_resume)
        if (message := message_of(fact)) is not None:
            changes["message"] = self._message(message)
        return replace(fact, **changes)

    def _of(self, old: str) -> str:
        return self._new.get(old, old)

    def _message(self, message: Message) -> Message:
        metadata = message.metadata
        if (parent := metadata.parent_tool_use_id) is not None:
            metadata = replace(metadata, parent_tool_use_id=self._of(parent))
        if (errors := metadata.tool_input_errors) is not None:
            errors = {self._of(call): error for call, error in errors.items()}
            metadata = replace(metadata, tool_input_errors=errors)
        return replace(
            message,
            id=self._of(message.id),
            session_id=self._session_id,
            content=tuple(map(self._block, message.content)),
            metadata=metadata,
        )

    def _block(self, block: ContentBlock) -> ContentBlock:
        match block:
            case ToolUseBlock():
                return replace(block, id=self._of(block.id))
            case ToolResultBlock():
                return replace(block, tool_use_id=self._of(block.tool_use_id))
            case _:
                return block


def _ids(facts: Sequence[AnyFact]) -> set[str]:
    """Return the ids that only one session may have: of events, turns, messages and calls."""
    events = {fact.id for fact in facts} | {fact.turn_id for fact in facts if fact.turn_id}
    return events | {message.id for message in _messages(facts)} | _calls(facts)


def _calls(facts: Sequence[AnyFact]) -> set[str]:
    return {call.id for message in _messages(facts) for call in message.tool_uses}


def _messages(facts: Sequence[AnyFact]) -> Iterator[Message]:
    for fact in facts:
        if (message := message_of(fact)) is not None:
            yield message


def _is_ours(facts: Sequence[AnyFact]) -> bool:
    """Tell whether a session can be stored under its own ids: all well-formed, and of the past."""
    session = {fact.session_id for fact in facts}
    ulids = {each.removeprefix(_CALL) for each in _ids(facts)}
    ulids |= {each.removeprefix(_SESSION) for each in session}
    latest = new_id()
    return (
        len(session) == 1
        and facts[0].session_id.startswith(_SESSION)
        and all(is_ulid(ulid) and ulid < latest for ulid in ulids)
        and all(call.startswith(_CALL) for call in _calls(facts))
    )
