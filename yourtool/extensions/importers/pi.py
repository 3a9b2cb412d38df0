"""Sessions of pi and OpenClaw.

Version 1 has no ids: entries follow each other. A file of messages without a header, as the
transcripts of OpenClaw, is linear too.
"""

from collections.abc import Sequence
from typing import Any

from yourtool.extensions.importers.messages import PRICES
from yourtool.extensions.importers.parts import (
    NO_IMAGE,
    build_call,
    build_image,
    build_model,
    build_parts,
    keep_entry,
    keep_unknown,
)
from yourtool.extensions.importers.source import (
    Object,
    as_cost,
    as_count,
    as_exit_code,
    as_list,
    as_object,
    as_text,
    as_time,
)
from yourtool.extensions.importers.transcript import (
    Command,
    Compaction,
    Entry,
    Label,
    Note,
    Nothing,
    Prompt,
    Reply,
    ReplyPart,
    Result,
    Summary,
    Title,
    Transcript,
    UnknownEntry,
    What,
)
from yourtool.messages.blocks import ImageBlock, RedactedThinkingBlock, TextBlock, ThinkingBlock
from yourtool.messages.usage import Usage
from yourtool.store.pi_export import OWN_ENTRY, SYSTEM

_NEWEST = 3
_SIGNED = ("anthropic-messages", "bedrock-converse-stream")
"""The APIs whose signatures are those of a `ThinkingBlock`."""
_QUIET = ("model_change", "thinking_level_change")


def is_session(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a session of pi."""
    return objects[0].get("type") == "session" and not any("parent_id" in e for e in objects[1:3])


def is_messages(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are messages without a header."""
    known = objects[0].get("role") in ("user", "assistant", "toolResult")
    return known and not objects[0].keys() & {"type", "params"}


def read_session(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read the lines of a session into a transcript."""
    header = objects[0]
    version = as_count(header.get("version")) or 1
    if version > _NEWEST:
        transcript.losses[f"what version {version} of the format adds to version {_NEWEST}"] += 1
    transcript.system, transcript.format = SYSTEM, f"pi v{version}"
    transcript.source_id = as_text(header.get("id"))
    transcript.directory = as_text(header.get("cwd"))
    transcript.created_at = as_time(header.get("timestamp"), transcript.created_at)
    at, previous = transcript.created_at, ""
    ids = [as_text(each.get("id")) or f"line {n}" for n, each in enumerate(objects)]
    for number, raw in enumerate(objects[1:], 1):
        if raw.get("type") == "session":
            transcript.losses["a second header"] += 1
            continue
        at = as_time(raw.get("timestamp"), at)
        parent = as_text(raw.get("parentId")) if version > 1 else previous
        what = _read_entry(raw, ids, transcript)
        transcript.entries.append(Entry(id=ids[number], parent=parent, at=at, what=what))
        previous = ids[number]


def read_messages(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read lines of messages into a transcript."""
    transcript.system, transcript.format, previous = "openclaw", "messages", ""
    at = as_time(objects[0].get("timestamp"), transcript.created_at)
    transcript.created_at = at
    for number, raw in enumerate(objects):
        at = as_time(raw.get("timestamp"), at)
        what = _read_message(raw, transcript, raw)
        transcript.entries.append(Entry(id=f"line {number}", parent=previous, at=at, what=what))
        previous = f"line {number}"


def _read_entry(raw: Object, ids: Sequence[str], transcript: Transcript) -> What:
    match as_text(raw.get("type")):
        case "message":
            return _read_message(as_object(raw.get("message")), transcript, raw)
        case "compaction":
            at = raw.get("firstKeptEntryIndex")
            first = ids[at] if isinstance(at, int) and 0 <= at < len(ids) else ""
            return Compaction(
                summary=as_text(raw.get("summary")),
                first_kept=as_text(raw.get("firstKeptEntryId")) or first,
                tokens_before=as_count(raw.get("tokensBefore")),
            )
        case "branch_summary":
            summary = as_text(raw.get("summary"))
            return Summary(summary=summary) if summary else Nothing()
        case "custom_message":
            return _read_note(raw)
        case "custom" if raw.get("customType") == OWN_ENTRY:
            data = as_object(raw.get("data"))
            kind, text = as_text(data.get("kind")), as_text(data.get("text"))
            if system := as_text(data.get("system")):
                return UnknownEntry(system=system, kind=kind, text=text)
            return Note(kind=kind or "note", text=text)
        case "label":
            return Label(target=as_text(raw.get("targetId")), label=as_text(raw.get("label")))
        case "session_info":
            return Title(title=as_text(raw.get("name")))
        case kind:
            return Nothing() if kind in _QUIET else keep_entry(transcript, raw, kind)


def _read_message(raw: Object, transcript: Transcript, entry: Object) -> What:
    """Return a message; `entry`: the line that has it."""

    def read_part(part: dict[str, Any]) -> TextBlock | ImageBlock | None:
        if part.get("type") == "text":
            return TextBlock(as_text(part.get("text")))
        if part.get("type") == "image":
            kind = as_text(part.get("mimeType"))
            return build_image(transcript, as_text(part.get("data")), kind) or TextBlock(NO_IMAGE)
        return None

    match as_text(raw.get("role")):
        case "user":
            content = build_parts(transcript, raw.get("content"), read_part)
            return Prompt(content=content) if content else Nothing()
        case "assistant":
            return _read_reply(raw, transcript)
        case "toolResult":
            return Result(
                call=as_text(raw.get("toolCallId")),
                content=build_parts(transcript, raw.get("content"), read_part),
                is_error=raw.get("isError") is True,
            )
        case "bashExecution":
            return Command(
                command=as_text(raw.get("command")),
                output=as_text(raw.get("output")),
                exit_code=as_exit_code(raw.get("exitCode")),
                shared=raw.get("excludeFromContext") is not True,
            )
        case "custom" | "hookMessage":
            return _read_note(raw)
        case role:
            return keep_entry(transcript, entry, role, "a message with the role")


def _read_note(raw: Object) -> Note:
    content = raw.get("content")
    texts = [as_text(as_object(part).get("text")) for part in as_list(content)]
    text = as_text(content) or "\n".join(filter(None, texts))
    return Note(kind=as_text(raw.get("customType")) or "custom", text=text, for_model=True)


def _read_reply(raw: Object, transcript: Transcript) -> Reply:
    stop = as_text(raw.get("stopReason"))
    has_signatures = as_text(raw.get("api")) in _SIGNED
    blocks = list[ReplyPart]()
    for part in map(as_object, as_list(raw.get("content"))):
        match as_text(part.get("type")):
            case "text":
                blocks.append(TextBlock(as_text(part.get("text"))))
            case "thinking":
                blocks += _read_thinking(part, has_signatures, transcript)
            case "toolCall":
                call_id, name = as_text(part.get("id")), as_text(part.get("name"))
                blocks.append(build_call(call_id, name, part.get("arguments")))
            case _:
                blocks.append(keep_unknown(transcript, part))
    if isinstance(raw.get("content"), str):
        blocks.append(TextBlock(as_text(raw.get("content"))))
    is_cancelled = stop == "aborted"
    failure = as_text(raw.get("errorMessage")) if stop in ("error", "aborted") else ""
    return Reply(
        content=tuple(each for each in blocks if not isinstance(each, TextBlock) or each.text),
        model=build_model(as_text(raw.get("provider")), as_text(raw.get("model"))),
        usage=_read_usage(as_object(raw.get("usage"))),
        stop=stop,
        failure=failure or (stop if stop in ("error", "aborted") else ""),
        is_cancelled=is_cancelled,
    )


def _read_thinking(
    part: Object, has_signatures: bool, transcript: Transcript
) -> list[ThinkingBlock | RedactedThinkingBlock]:
    signature = as_text(part.get("thinkingSignature"))
    if signature and not has_signatures:
        transcript.losses["a signature of reasoning that only its provider reads"] += 1
        signature = ""
    if part.get("redacted") is True:
        return [RedactedThinkingBlock(signature)] if signature else []
    text = as_text(part.get("thinking"))
    return [ThinkingBlock(text, signature or None)] if text or signature else []


def _read_usage(raw: Object) -> Usage | None:
    if not raw:
        return None
    return Usage(
        input_tokens=as_count(raw.get("input")),
        output_tokens=as_count(raw.get("output")),
        cached_input_tokens=as_count(raw.get("cacheRead")),
        cache_creation_input_tokens=as_count(raw.get("cacheWrite")),
        cost_usd=as_cost(as_object(raw.get("cost")).get("total")),
        pricing_version=PRICES,
        latency_ms=0,
    )
