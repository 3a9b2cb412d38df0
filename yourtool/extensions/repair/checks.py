"""Problems in the facts of a session.

The store itself reports what it cannot read (`SessionStore.find_damage`).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import UNSET

from yourtool.errors import BlobError
from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
)
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.context import (
    ContextCompacted,
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
)
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallStarted, RequestPart
from yourtool.events.sessions import SessionCreated, SessionImported
from yourtool.events.tree import get_entry_id
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import FileImage
from yourtool.messages.blobs import is_blob, read_blob
from yourtool.messages.blocks import MediaBlock, iter_blocks
from yourtool.messages.invariants import validate_message, value_problems
from yourtool.messages.message import Message
from yourtool.store.base import Problem, SessionStore
from yourtool.store.lost_results import find_unanswered
from yourtool.store.texts import hash_text

_FILE_CONTENTS = "files"
"""The directory of file contents for undo, among the attachments."""


async def check_session(store: SessionStore, session_id: str, blobs: Path) -> list[Problem]:
    """Return everything that is wrong with a session; reads it twice and writes nothing.

    Raises:
        SessionNotFoundError: the session does not exist.
        StoreError: the database cannot be read.
    """
    damage = await store.find_damage(session_id)
    return [*damage, *find_problems(await store.read(session_id), blobs)]


def find_problems(facts: Sequence[AnyFact], blobs: Path) -> Iterator[Problem]:
    """Yield what is wrong with facts that can be read; blocks on the file system."""
    yield from _find_order_problems(facts)
    yield from _find_message_problems(facts)
    yield from _find_pairing_problems(facts)
    yield from _find_lost_references(facts)
    yield from _find_wrong_hashes(facts)
    yield from _find_missing_contents(facts, blobs)


def find_message_problems(fact: AnyFact, message: Message) -> list[str]:
    """Return what is wrong with the message of a fact."""
    problems = [*validate_message(message), *value_problems(message)]
    if message.session_id != fact.session_id:
        problems.append(f"it belongs to session `{message.session_id}`")
    return problems


def find_wrong_parts(facts: Sequence[AnyFact]) -> dict[str, list[str]]:
    """Return the wrong digests of parts of requests, by the id of the fact of the request.

    A text can have another digest than is stored with it, or no fact has the text of a digest.
    """
    wrong, texts = dict[str, list[str]](), set[str]()
    for fact in facts:
        if not isinstance(fact, LlmCallStarted):
            continue
        for part in _list_parts(fact):
            if part.text is not UNSET and hash_text(part.text) == part.digest:
                texts.add(part.digest)
            elif part.text is not UNSET or part.digest not in texts:
                wrong.setdefault(fact.id, []).append(part.digest)
    return wrong


def has_wrong_hash(fact: AnyFact) -> bool:
    """Return whether the hash in a fact does not match its text."""
    match fact:
        case SessionCreated(workspace_path=path, workspace_hash=digest):
            return digest != hash_text(path)
        case TurnStarted(message=message, user_message_hash=digest) if message is not None:
            return digest != hash_text(message.text)
        case _:
            return False


class StoredContents:
    """The files that facts refer to: attachments, and file contents for undo."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs
        self._found: dict[tuple[Path, str], bool] = {}

    def has_attachment(self, reference: str) -> bool:
        """Return whether an attachment is stored and unchanged; blocks on the file system."""
        return self._has(self._blobs, reference)

    def has_content(self, image: FileImage) -> bool:
        """Return whether the content of a file is stored and unchanged; as `has_attachment`."""
        return self._has(self._blobs / _FILE_CONTENTS, f"sha256:{image.digest}")

    def _has(self, directory: Path, reference: str) -> bool:
        key = directory, reference
        if key not in self._found:
            try:
                read_blob(directory, reference)
            except BlobError:
                self._found[key] = False
            else:
                self._found[key] = True
        return self._found[key]


def list_images(fact: AnyFact) -> list[FileImage]:
    """Return the states of files in a fact whose contents are stored."""
    changes = fact.changes if isinstance(fact, FilesChanged) else ()
    images = [image for each in changes for image in (each.before, each.after)]
    return [image for image in images if image.stored]


def list_entries(facts: Sequence[AnyFact]) -> set[str]:
    """Return the ids of all entries of conversations: messages, and what is composed as one."""
    entries = {message.id for message in map(message_of, facts) if message is not None}
    entries |= set(map(get_entry_id, facts))
    merged = (fact.merged for fact in facts if isinstance(fact, BranchMerged))
    return entries | {each.id for copies in merged for each in copies}


def list_references(fact: AnyFact) -> list[str]:
    """Return the ids of entries that a fact is about."""
    match fact:
        case ContextElided(through=entry) | ContextCompacted(through=entry):
            return [entry]
        case BranchSelected(leaf=leaf, left=left):
            return [each for each in (leaf, left) if each]
        case (
            BranchLabelled(target=entry)
            | BranchSummarised(left=entry)
            | ContextOverridden(target=entry)
        ):
            return [entry]
        case BranchMerged(merged=merged):
            return [each.source for each in merged]
        case ContextHandedOver(left_out=left_out):
            return [each.message_id for each in left_out]
        case _:
            return []


def _find_order_problems(facts: Sequence[AnyFact]) -> Iterator[Problem]:
    starts = [fact for fact in facts if isinstance(fact, SessionCreated)]
    if not facts or starts[:1] != [facts[0]]:
        first = facts[0].id if facts else ""
        yield Problem(kind="row", id=first, text="the start of the session is missing")
    for fact in starts[1:]:
        yield Problem(kind="row", id=fact.id, text="the session starts a second time")


def _find_message_problems(facts: Sequence[AnyFact]) -> Iterator[Problem]:
    seen = set[str]()
    for fact in facts:
        if (message := message_of(fact)) is None:
            continue
        for text in find_message_problems(fact, message):
            yield Problem(kind="message", id=message.id, text=text)
        if message.id in seen:
            yield Problem(kind="message", id=message.id, text="two messages have this id")
        seen.add(message.id)


def _find_pairing_problems(facts: Sequence[AnyFact]) -> Iterator[Problem]:
    calls, answered = set[str](), set[str]()
    for fact in facts:
        if (message := message_of(fact)) is None:
            continue
        for call in message.tool_uses:
            if call.id in calls:
                yield Problem(kind="pairing", id=call.id, text="two calls have this id")
            calls.add(call.id)
        if (result := message.result) is not None:
            call_id = result.tool_use_id
            if call_id not in calls:
                text = f"the message `{message.id}` is the result of a call that is missing"
                yield Problem(kind="pairing", id=call_id, text=text)
            elif call_id in answered:
                yield Problem(kind="pairing", id=call_id, text="the call has two results")
            answered.add(call_id)
    for call_id, fact in find_unanswered(facts).items():
        text = f"the call in event `{fact.id}` has no result"
        yield Problem(kind="pairing", id=call_id, text=text)


def _find_lost_references(facts: Sequence[AnyFact]) -> Iterator[Problem]:
    events, entries = set[str](), list_entries(facts)
    for fact in facts:
        events.add(fact.id)
        if fact.parent_event_id and fact.parent_event_id not in events:
            text = f"its parent `{fact.parent_event_id}` is missing"
            yield Problem(kind="parent", id=fact.id, text=text)
        for entry in set(list_references(fact)) - entries:
            text = f"it refers to the message `{entry}`, which is missing"
            yield Problem(kind="parent", id=fact.id, text=text)


def _find_wrong_hashes(facts: Sequence[AnyFact]) -> Iterator[Problem]:
    for fact in facts[_count_imported(facts) :]:
        if has_wrong_hash(fact):
            yield Problem(kind="hash", id=fact.id, text="its hash does not match its text")
    wrong_in_file = find_wrong_parts(facts[: _count_imported(facts)]).values()
    masked = {digest for digests in wrong_in_file for digest in digests}
    for fact_id, digests in find_wrong_parts(facts).items():
        if wrong := [f"`{each[:12]}…`" for each in digests if each not in masked]:
            text = f"no text of the request matches {', '.join(wrong)}"
            yield Problem(kind="hash", id=fact_id, text=text)


def _count_imported(facts: Sequence[AnyFact]) -> int:
    """Return the number of facts from a file, in whose texts secrets can be masked."""
    places = (at for at in range(len(facts) - 1, -1, -1) if isinstance(facts[at], SessionImported))
    return next(places, 0)


def _find_missing_contents(facts: Sequence[AnyFact], blobs: Path) -> Iterator[Problem]:
    contents, reported = StoredContents(blobs), set[str]()
    imported = _count_imported(facts)
    for at, fact in enumerate(facts):
        for reference in _list_attachments(fact):
            if reference not in reported and not contents.has_attachment(reference):
                reported.add(reference)
                text = f"the attachment `{reference}` is missing or has changed"
                yield Problem(kind="attachment", id=fact.id, text=text)
        for image in list_images(fact) if at >= imported else ():  # exports have none
            if image.digest not in reported and not contents.has_content(image):
                reported.add(image.digest)
                text = f"the content `{image.digest}` of a file, for undo, is missing"
                yield Problem(kind="file content", id=fact.id, text=text)


def _list_attachments(fact: AnyFact) -> list[str]:
    message = message_of(fact)
    return [
        block.source.data
        for block in iter_blocks(message.content if message is not None else ())
        if isinstance(block, MediaBlock) and is_blob(block.source)
    ]


def _list_parts(fact: LlmCallStarted) -> list[RequestPart]:
    return [part for part in (*(fact.system or ()), fact.tools) if isinstance(part, RequestPart)]
