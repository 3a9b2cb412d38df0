"""Repaired copies of damaged sessions.

A copy lacks the damaged facts; the original never changes.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.sessions import SessionCreated, SessionForked
from yourtool.events.turns import TurnStarted
from yourtool.extensions.repair.checks import (
    StoredContents,
    find_message_problems,
    find_wrong_parts,
    has_wrong_hash,
    list_entries,
    list_images,
    list_references,
)
from yourtool.foundation.file_images import FileImage, RecordedChange
from yourtool.ids import new_id, new_session_id
from yourtool.messages.blobs import is_blob
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
)
from yourtool.messages.message import now
from yourtool.paths import to_stored_path
from yourtool.store.base import SessionStore
from yourtool.store.forks import with_new_ids
from yourtool.store.lost_results import add_lost_results
from yourtool.store.texts import hash_text


async def write_repaired_copy(
    store: SessionStore, session_id: str, workspace: Path, blobs: Path
) -> str:
    """Store what is sound of a session as a new session, and return its id.

    `workspace`: that of the copy if the start of the session is lost.

    Raises:
        SessionNotFoundError: the session does not exist.
        StoreError: the database cannot be read or written; nothing was stored.
    """
    facts = await store.read(session_id)
    repaired = await asyncio.to_thread(_repair, facts, workspace, StoredContents(blobs))
    copy_id = new_session_id()
    copied = await asyncio.to_thread(with_new_ids, repaired, copy_id)
    forked = SessionForked(
        id=new_id(),
        timestamp=now(),
        session_id=copy_id,
        parent_session_id=session_id,
        is_repaired=True,
    )
    await store.append(*copied, forked)
    return copy_id


async def find_repaired_copies(store: SessionStore, session_id: str) -> list[str]:
    """Return the ids of the copies that have all of a session, newest first.

    Raises:
        SessionNotFoundError: the session does not exist.
        StoreError: the database cannot be read.
    """
    last = max((fact.id for fact in await store.read(session_id)), default="")
    found = list[SessionForked]()

    def keep(fact: AnyFact) -> None:
        if isinstance(fact, SessionForked) and fact.is_repaired is True:
            found.append(fact)

    await store.read_kinds((SessionForked,), keep)
    copies = {fact.session_id: fact for fact in found}
    return sorted(
        (
            each
            for each, fact in copies.items()
            if fact.parent_session_id == session_id and fact.id > last
        ),
        reverse=True,
    )


def _repair(
    facts: Sequence[AnyFact], workspace: Path, contents: StoredContents
) -> Sequence[AnyFact]:
    """Return the facts without what `checks.py` finds; blocks on the file system.

    The ids of new facts and messages are not ULIDs, but sort where these belong.
    """
    repaired = [*_drop_invalid(facts)]
    if not repaired or not isinstance(repaired[0], SessionCreated):
        repaired.insert(0, _build_start(repaired, workspace))
    repaired = [_correct_hash(_replace_missing(fact, contents)) for fact in repaired]
    repaired = [*add_lost_results(_drop_parts(repaired))]
    return [*_drop_references(repaired)]


def _drop_invalid(facts: Iterable[AnyFact]) -> Iterator[AnyFact]:
    """Yield the facts without a second start, invalid messages, and results without a call."""
    messages, calls, open_calls, is_first = set[str](), set[str](), set[str](), True
    for fact in facts:
        if isinstance(fact, SessionCreated) and not is_first:
            continue
        is_first = False
        if (message := message_of(fact)) is not None:
            own_calls = {call.id for call in message.tool_uses}
            if message.id in messages or own_calls & calls or find_message_problems(fact, message):
                continue
            if (result := message.result) is not None:
                if result.tool_use_id not in open_calls:
                    continue
                open_calls.remove(result.tool_use_id)
            messages.add(message.id)
            calls |= own_calls
            open_calls |= own_calls
        yield fact


def _build_start(facts: Sequence[AnyFact], workspace: Path) -> SessionCreated:
    return SessionCreated(
        timestamp=facts[0].timestamp if facts else now(),
        workspace_path=(path := to_stored_path(workspace)),
        workspace_hash=hash_text(path),
    )


def _replace_missing(fact: AnyFact, contents: StoredContents) -> AnyFact:
    """Put texts in place of missing attachments, and forget file contents that are missing."""
    if isinstance(fact, FilesChanged):
        if all(map(contents.has_content, list_images(fact))):
            return fact
        changes = tuple(_forget_missing(change, contents) for change in fact.changes)
        return replace(fact, changes=changes)
    if (message := message_of(fact)) is None:
        return fact
    content = tuple(_replace_missing_block(block, contents) for block in message.content)
    if content == message.content:
        return fact
    return replace(fact, **{"message": replace(message, content=content)})


def _forget_missing(change: RecordedChange, contents: StoredContents) -> RecordedChange:
    def forget(image: FileImage) -> FileImage:
        is_lost = image.stored and not contents.has_content(image)
        return replace(image, stored=False) if is_lost else image

    return replace(change, before=forget(change.before), after=forget(change.after))


def _replace_missing_block(block: ContentBlock, contents: StoredContents) -> ContentBlock:
    match block:
        case ToolResultBlock(content=parts):
            new = tuple(_replace_missing_block(part, contents) for part in parts)
            return block if new == parts else replace(block, **{"content": new})
        case ImageBlock() | AudioBlock() | DocumentBlock() if is_blob(block.source):
            lost = TextBlock(f"[{block.media_type}: the attachment is lost]")
            return block if contents.has_attachment(block.source.data) else lost
        case _:
            return block


def _correct_hash(fact: AnyFact) -> AnyFact:
    match fact:
        case SessionCreated() if has_wrong_hash(fact):
            return replace(fact, workspace_hash=hash_text(fact.workspace_path))
        case TurnStarted(message=message) if message is not None and has_wrong_hash(fact):
            return replace(fact, user_message_hash=hash_text(message.text))
        case _:
            return fact


def _drop_parts(facts: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """Return the facts without system prompts and tools that have no text, or a wrong one."""
    wrong = find_wrong_parts(facts)
    return [
        replace(fact, system=UNSET, tools=UNSET)
        if isinstance(fact, LlmCallStarted) and fact.id in wrong
        else fact
        for fact in facts
    ]


def _drop_references(facts: Sequence[AnyFact]) -> Iterator[AnyFact]:
    """Yield the facts without references to what is missing.

    A summary, and a label or a summary of a branch, that is about something missing is dropped.
    After a lost `branch.selected`, all branches are one conversation.
    """
    entries, events = list_entries(facts), set[str]()
    for fact in facts:
        if not entries.issuperset(list_references(fact)):
            continue
        events.add(fact.id)
        if fact.parent_event_id and fact.parent_event_id not in events:
            fact = replace(fact, parent_event_id=None)
        yield fact
