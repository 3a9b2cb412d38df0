"""Sessions of Attocode as JSON Lines in `.agent/sessions/`: checkpoints of the whole conversation.

The last checkpoint that can be read is the conversation. Without one, the messages are.
"""

from collections.abc import Iterator, Sequence

from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.store.importers.parts import build_call, build_parts
from yourtool.store.importers.source import Object, as_list, as_object, as_text, as_time
from yourtool.store.importers.transcript import (
    Call,
    Entry,
    Note,
    Nothing,
    Prompt,
    Reply,
    Result,
    Transcript,
    What,
)

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
    messages = list[Object]()
    for raw in objects:
        data = as_object(raw.get("data"))
        if raw.get("type") == "checkpoint" and (found := as_list(data.get("messages"))):
            messages = [as_object(each) for each in found]
            at = as_time(raw.get("timestamp"), at)
    if not messages:
        lines = (raw for raw in objects if raw.get("type") == "message")
        messages = [as_object(raw.get("data")) for raw in lines]
    previous = ""
    for number, message in enumerate(messages):
        for place, what in enumerate(_read_message(message, transcript)):
            entry_id = f"message {number} {place}"
            transcript.entries.append(Entry(id=entry_id, parent=previous, at=at, what=what))
            previous = entry_id


def _read_message(raw: Object, transcript: Transcript) -> Iterator[What]:
    content = build_parts(
        transcript,
        raw.get("content"),
        lambda part: TextBlock(as_text(part["text"])) if part.get("type") == "text" else None,
    )
    match as_text(raw.get("role")):
        case "user":
            yield Prompt(content=content) if content else Nothing()
        case "assistant":
            texts = (block for block in content if not isinstance(block, ImageBlock))
            calls = (as_object(each) for each in as_list(raw.get("toolCalls")))
            yield Reply(content=(*texts, *map(_read_call, calls)))
        case "tool":
            yield Result(call=as_text(raw.get("toolCallId")), content=content)
        case "system":
            text = "".join(block.text for block in content if isinstance(block, TextBlock))
            yield Note(kind="system", text=text)
        case role:
            transcript.losses[f"a message with the role `{role[:80]}`"] += 1


def _read_call(call: Object) -> Call:
    """Return a call; one whose arguments that program could not read has the reason."""
    call_id, name = as_text(call.get("id")), as_text(call.get("name"))
    problem = as_text(call.get("parseError"))
    if problem:
        return Call(call_id, name, {}, problem[:200])
    return build_call(call_id, name, call.get("arguments"))
