"""Sessions of Operator-Use.

They are JSON Lines: a tree of entries, or a flat list in older versions. In a flat file a line of a
tool has the call and its result.
"""

from collections.abc import Iterator, Sequence
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
    as_list,
    as_object,
    as_text,
    as_time,
)
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Call,
    Compaction,
    Entry,
    Label,
    Note,
    Nothing,
    Part,
    Position,
    Prompt,
    Reply,
    Result,
    Summary,
    Title,
    Transcript,
    Unknown,
    What,
)
from yourtool.messages.blocks import ImageBlock, TextBlock, ThinkingBlock
from yourtool.messages.usage import Usage

SYSTEM = "Operator-Use"
_ALIASES = {"llm": "message", "compaction_summary": "compaction"}
"""Names of kinds in earlier versions."""
_QUIET = ("thinking_level_change", "model_change", "channel", "custom")
_FAILED = ("error", "aborted", "cancelled")


def is_tree(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a tree; its names have underscores, unlike those of pi."""
    kinds = ("session", "session_header")
    return objects[0].get("type") in kinds and any("parent_id" in each for each in objects[1:3])


def is_flat(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a flat list."""
    return objects[0].get("type") == "metadata" and "created_at" in objects[0]


def read_tree(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read the entries of a tree into a transcript."""
    header, model = objects[0], UNKNOWN_MODEL
    transcript.system, transcript.format = SYSTEM, "tree"
    transcript.source_id = as_text(header.get("id"))
    transcript.directory = as_text(header.get("cwd"))
    at = transcript.created_at = as_time(header.get("timestamp"), transcript.created_at)
    for number, raw in enumerate(objects[1:], 1):
        at = as_time(raw.get("timestamp"), at)
        if raw.get("type") == "model_change":
            model = build_model(as_text(raw.get("provider_id")), as_text(raw.get("model_id")))
        entry_id, parent = as_text(raw.get("id")) or f"line {number}", as_text(raw.get("parent_id"))
        found = list(_read_entry(raw, model, transcript)) or [Nothing()]
        for place, what in enumerate(found, 1):
            # What follows this line follows its last entry.
            own_id = entry_id if place == len(found) else f"{entry_id} {place}"
            transcript.entries.append(Entry(id=own_id, parent=parent, at=at, what=what))
            parent = own_id


def read_flat(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read a flat list into a transcript; it has no times and no model."""
    header = objects[0]
    transcript.system, transcript.format = SYSTEM, "flat"
    transcript.source_id = as_text(header.get("id"))
    at = transcript.created_at = as_time(header.get("created_at"), transcript.created_at)
    parent = ""
    for number, raw in enumerate(objects[1:], 1):
        for place, what in enumerate(_read_flat(raw, f"call {number}", transcript)):
            entry_id = f"line {number} {place}"
            transcript.entries.append(Entry(id=entry_id, parent=parent, at=at, what=what))
            parent = entry_id


def _read_entry(raw: Object, model: str, transcript: Transcript) -> Iterator[What]:
    kind = as_text(raw.get("type"))
    match _ALIASES.get(kind, kind):
        case "message":
            yield from _read_message(as_object(raw.get("message")), model, transcript)
        case "compaction":
            yield Compaction(
                summary=as_text(raw.get("summary")),
                first_kept=as_text(raw.get("first_kept_entry_id")),
                tokens_before=as_count(raw.get("tokens_before")),
            )
        case "branch_summary":
            if summary := as_text(raw.get("summary")):
                yield Summary(summary=summary)
        case "label":
            yield Label(target=as_text(raw.get("target_id")), label=as_text(raw.get("label")))
        case "leaf":
            yield Position(target=as_text(raw.get("target_id")))
        case "session_info":
            yield Title(title=as_text(raw.get("name")))
        case "custom_message":
            parts = (as_object(part) for part in as_list(raw.get("content")))
            text = "\n".join(as_text(part.get("content") or part.get("text")) for part in parts)
            yield Note(kind="custom", text=text, for_model=True)
        case _:
            if kind not in _QUIET:
                yield keep_entry(transcript, raw, kind)


def _read_message(raw: Object, model: str, transcript: Transcript) -> Iterator[What]:
    role, parts = as_text(raw.get("role")), [as_object(e) for e in as_list(raw.get("contents"))]
    if role == "assistant":
        yield _read_reply(raw, parts, model, transcript)
    elif role == "tool":
        for part in parts:
            yield Result(
                call=as_text(part.get("id")),
                content=_read_parts(part.get("content"), transcript),
                is_error=part.get("is_error") is True,
            )
    elif role == "user":
        if content := _read_parts(parts, transcript):
            yield Prompt(content=content)
    elif texts := "\n".join(as_text(part.get("content")) for part in parts):
        yield Note(kind=role[:80] or "unknown", text=texts)


def _read_parts(content: object, transcript: Transcript) -> tuple[Part, ...]:
    def read_part(part: dict[str, Any]) -> TextBlock | ImageBlock | None:
        if part.get("type") == "text":
            return TextBlock(as_text(part.get("content")) or as_text(part.get("text")))
        if part.get("type") == "image":
            data = next(iter(as_list(part.get("images"))), "")
            return build_image(transcript, as_text(data)) or TextBlock(NO_IMAGE)
        return None

    return build_parts(transcript, content, read_part)


def _read_reply(raw: Object, parts: Sequence[Object], model: str, transcript: Transcript) -> Reply:
    blocks = list[TextBlock | ThinkingBlock | Call | Unknown]()
    for part in parts:
        match as_text(part.get("type")):
            case "text":
                blocks.append(TextBlock(as_text(part.get("content"))))
            case "thinking":
                blocks.append(ThinkingBlock(as_text(part.get("content"))))
            case "tool_call":
                call_id, name = as_text(part.get("id")), as_text(part.get("name"))
                blocks.append(build_call(call_id, name, part.get("args")))
            case _:
                blocks.append(keep_unknown(transcript, part))
    stop = as_text(raw.get("stop_reason"))
    return Reply(
        content=tuple(each for each in blocks if isinstance(each, Call) or each.text),
        model=model,
        usage=_read_usage(as_object(raw.get("usage"))),
        stop=stop,
        failure=stop if stop in _FAILED else "",
        is_cancelled=stop in _FAILED[1:],
    )


def _read_flat(raw: Object, call_id: str, transcript: Transcript) -> Iterator[What]:
    text = as_text(raw.get("content"))
    usage = _read_usage(as_object(raw.get("usage")))
    thinking = as_text(raw.get("thinking"))
    before = (ThinkingBlock(thinking),) if thinking else ()
    match as_text(raw.get("role")):
        case "human":
            if text:
                yield Prompt(content=(TextBlock(text),))
        case "ai":
            content = (*before, *((TextBlock(text),) if text else ()))
            yield Reply(content=content, usage=usage)
        case "tool":
            own_id = as_text(raw.get("id")) or call_id
            call = build_call(own_id, as_text(raw.get("name")), raw.get("params"))
            yield Reply(content=(*before, call), usage=usage)
            yield Result(call=own_id, content=(TextBlock(text),) if text else ())
        case "system":
            yield Note(kind="system", text=text)
        case role:
            yield keep_entry(transcript, raw, role, "a message with the role")


def _read_usage(raw: Object) -> Usage | None:
    if not raw:
        return None
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cached_input_tokens=as_count(raw.get("cache_read_tokens")),
        cache_creation_input_tokens=as_count(raw.get("cache_write_tokens")),
        cost_usd=as_cost(as_object(raw.get("cost")).get("total")),
        pricing_version=PRICES,
        latency_ms=0,
    )
