"""Sessions of Attocode as JSON Lines.

The last checkpoint that can be read is the conversation. Without one, the messages are.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from yourtool.extensions.importers.attocode_python import get_key
from yourtool.extensions.importers.parts import build_call, build_parts, keep_entry
from yourtool.extensions.importers.source import Object, as_list, as_object, as_text, as_time
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Call,
    Entry,
    Label,
    Note,
    Nothing,
    Position,
    Prompt,
    Reply,
    Result,
    Transcript,
    What,
)
from yourtool.messages.blocks import ImageBlock, TextBlock

SYSTEM = "Attocode"
_KINDS = ("message", "tool_call", "tool_result", "checkpoint", "compaction", "metadata")


def is_session(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a session of Attocode."""
    first = objects[0]
    has_time = isinstance(first.get("timestamp"), str)
    return has_time and "data" in first and first.get("type") in _KINDS


def read_session(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read the last checkpoint of a session into a transcript."""
    transcript.system, transcript.format = SYSTEM, "jsonl"
    at = transcript.created_at = as_time(objects[0].get("timestamp"), transcript.created_at)
    messages, threads = list[Object](), list[Object]()
    active, model = "", UNKNOWN_MODEL
    for raw in objects:
        data = as_object(raw.get("data"))
        if raw.get("type") != "checkpoint":
            continue
        if found := as_list(data.get("messages")):
            messages = [as_object(each) for each in found]
            at = as_time(raw.get("timestamp"), at)
        threads = [as_object(each) for each in as_list(data.get("threads"))] or threads
        active = as_text(data.get("active")) or active
        model = as_text(data.get("model")) or model
    if not messages:
        lines = (raw for raw in objects if raw.get("type") == "message")
        messages = [as_object(raw.get("data")) for raw in lines]
    tree = _Tree(transcript, at, model)
    for number, raw in enumerate(objects):
        if (kind := as_text(raw.get("type"))) not in _KINDS:
            tree.append_unknown(f"line {number}", keep_entry(transcript, raw, kind, "a line"))
    tree.add_path("message", messages)
    for number, thread in enumerate(threads):
        path = [as_object(each) for each in as_list(thread.get("messages"))]
        tree.add_path(f"thread {number}", path, as_text(thread.get("label")))
        if as_text(thread.get("id")) == active:
            tree.active = path
    tree.end()


class _Tree:
    """The entries of messages; paths that start with equal ones share these."""

    def __init__(self, transcript: Transcript, at: datetime, model: str) -> None:
        self._transcript = transcript
        self._at = at
        self._model = model
        self._children: dict[tuple[str, tuple[str, str]], str] = {}
        """The last entry of a message, by that of the message before and what it contains."""
        self._first_path: list[tuple[str, str]] = []
        self._ends: dict[str, str] = {}
        self.active: Sequence[Object] | None = None
        """The messages of the thread that the conversation is on."""

    def add_path(self, name: str, messages: Sequence[Object], label: str = "") -> None:
        """Add the messages that no other path has."""
        previous, is_new = "", False
        for number, message in enumerate(messages):
            step = previous, get_key(message)
            if step not in self._children:
                is_new = True
                self._children[step] = self._add(f"{name} {number}", previous, message)
            previous = self._children[step]
        if not self._ends:
            self._first_path = [get_key(each) for each in messages]
        self._ends[name] = previous
        if label and is_new and len(self._ends) > 1:
            self._append(f"{name} label", previous, Label(target=previous, label=label))

    def _add(self, name: str, previous: str, message: Object) -> str:
        for place, what in enumerate(_read_message(message, self._transcript, self._model)):
            previous = self._append(f"{name} {place}", previous, what)
        return previous

    def _append(self, entry_id: str, previous: str, what: What) -> str:
        entry = Entry(id=entry_id, parent=previous, at=self._at, what=what)
        self._transcript.entries.append(entry)
        return entry_id

    def append_unknown(self, entry_id: str, what: What) -> None:
        """Add an entry that adds nothing to the conversation."""
        self._append(entry_id, "", what)

    def end(self) -> None:
        """Continue the conversation on its thread, if it is not on the last entry."""
        if len(self._ends) < 2:
            return
        keys = [get_key(each) for each in self.active or ()]
        place = next(iter(self._ends.values()))
        if self._first_path[: len(keys)] != keys:
            place = ""
            for key in keys:
                place = self._children[place, key]
        if place and place != self._transcript.entries[-1].id:
            last = self._transcript.entries[-1].id
            self._append("position", last, Position(target=place))


def _read_message(raw: Object, transcript: Transcript, model: str) -> Iterator[What]:
    if raw.get("represented") is True:
        transcript.losses["the kinds of blocks that were stored as a text"] += 1
    content = build_parts(
        transcript,
        raw.get("content"),
        lambda part: TextBlock(as_text(part.get("text"))) if part.get("type") == "text" else None,
    )
    match as_text(raw.get("role")):
        case "user":
            yield Prompt(content=content) if content else Nothing()
        case "assistant":
            texts = (block for block in content if not isinstance(block, ImageBlock))
            calls = (as_object(each) for each in as_list(raw.get("toolCalls")))
            yield Reply(content=(*texts, *map(_read_call, calls)), model=model)
        case "tool" if "toolCallId" not in raw:
            transcript.losses["the call of a result, which the file does not have"] += 1
            text = "".join(block.text for block in content if not isinstance(block, ImageBlock))
            yield Note(kind="tool_result", text=text, for_model=True)
        case "tool":
            yield Result(call=as_text(raw.get("toolCallId")), content=content)
        case "system":
            text = "".join(block.text for block in content if isinstance(block, TextBlock))
            yield Note(kind="system", text=text)
        case role:
            yield keep_entry(transcript, raw, role, "a message with the role")


def _read_call(call: Object) -> Call:
    """Return a call; one whose arguments that program could not read has the reason."""
    call_id, name = as_text(call.get("id")), as_text(call.get("name"))
    problem = as_text(call.get("parseError"))
    if problem:
        return Call(call_id, name, {}, problem[:200])
    return build_call(call_id, name, call.get("arguments"))
