"""Threads of Suna.

The content of a row is an object or its JSON; the output of a tool in it can be JSON, too. Rows are
sorted by time, and a row `llm_response_end` has the model and the usage of the reply before it.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from yourtool.extensions.importers.messages import PRICES
from yourtool.extensions.importers.parts import (
    NO_IMAGE,
    build_call,
    build_image,
    build_parts,
    keep_entry,
)
from yourtool.extensions.importers.source import (
    Object,
    as_count,
    as_list,
    as_object,
    as_text,
    as_time,
    decode,
)
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Call,
    Entry,
    Note,
    Nothing,
    Part,
    Prompt,
    Reply,
    Result,
    Transcript,
    What,
)
from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.messages.usage import Usage

SYSTEM = "Suna"
_KEYS = {"message_id", "thread_id", "is_llm_message"}
_QUIET = ("status", "llm_response_start", "browser_state", "cost", "thread_run")
"""Kinds of rows that only that program needs."""


def find_rows(document: object) -> list[Object]:
    """Return the rows in a JSON document; none: it is not a thread."""
    rows = as_list(document) or as_list(as_object(document).get("messages"))
    objects = [as_object(row) for row in rows]
    return objects if objects and objects[0].keys() >= _KEYS else []


def read_rows(rows: Sequence[Object], transcript: Transcript) -> None:
    """Read the rows of a thread into a transcript."""
    ordered = sorted(
        rows, key=lambda row: (as_text(row.get("created_at")), as_text(row.get("message_id")))
    )
    transcript.system, transcript.format = SYSTEM, "rows"
    transcript.source_id = as_text(ordered[0].get("thread_id"))
    at = as_time(ordered[0].get("created_at"), transcript.created_at)
    transcript.created_at, previous = at, ""
    uncounted = list[int]()
    for number, row in enumerate(ordered):
        at = as_time(row.get("created_at"), at)
        if as_text(row.get("type")) == "llm_response_end":
            if uncounted:
                _add_usage(as_object(_unpack(row.get("content"))), transcript, uncounted.pop())
            continue
        entry_id = as_text(row.get("message_id")) or f"row {number}"
        what = _read_row(row, transcript)
        if isinstance(what, Reply):
            uncounted.append(len(transcript.entries))
        transcript.entries.append(Entry(id=entry_id, parent=previous, at=at, what=what))
        previous = entry_id


def _unpack(value: object) -> object:
    """Return a value, or what its JSON has if it is the JSON of an object or a list."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return decode(value)
        except (ValueError, RecursionError):
            return value
    return value


def _read_row(row: Object, transcript: Transcript) -> What:
    kind, content = as_text(row.get("type")), _unpack(row.get("content"))
    fields = as_object(content)
    role = as_text(fields.get("role")) or kind
    if row.get("is_llm_message") is not True or role not in ("user", "assistant", "tool", "system"):
        return Nothing() if kind in _QUIET else keep_entry(transcript, row, kind, "a row")

    def read_part(part: dict[str, Any]) -> TextBlock | ImageBlock | None:
        if part.get("type") == "text":
            return TextBlock(as_text(part.get("text")))
        if part.get("type") == "image_url":
            url = as_text(as_object(part.get("image_url")).get("url"))
            if not url.startswith("data:"):
                return TextBlock(f"[image {url}]")
            return build_image(transcript, url) or TextBlock(NO_IMAGE)
        return None

    blocks = build_parts(transcript, fields.get("content", content), read_part)
    match role:
        case "assistant":
            calls = (as_object(each) for each in as_list(fields.get("tool_calls")))
            texts = (block for block in blocks if not isinstance(block, ImageBlock))
            return Reply(content=(*texts, *map(_read_call, calls)))
        case "tool":
            return _read_result(row, fields, blocks)
        case "system":
            text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
            return Note(kind="system", text=text) if text else Nothing()
        case _:
            return Prompt(content=blocks) if blocks else Nothing()


def _read_call(call: Object) -> Call:
    function = as_object(call.get("function"))
    name = as_text(function.get("name"))
    return build_call(as_text(call.get("id")), name, function.get("arguments"))


def _read_result(row: Object, fields: Object, blocks: tuple[Part, ...]) -> Result:
    metadata = as_object(_unpack(row.get("metadata")))
    call = as_text(fields.get("tool_call_id")) or as_text(metadata.get("tool_call_id"))
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    outcome = as_object(_unpack(text))
    return Result(call=call, content=blocks, is_error=outcome.get("success") is False)


def _add_usage(content: Object, transcript: Transcript, at: int) -> None:
    """Give a reply its model and usage; prompt tokens include those read from a cache."""
    entry, usage = transcript.entries[at], as_object(content.get("usage"))
    assert isinstance(entry.what, Reply), "only replies are uncounted"
    cached = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    counted = Usage(
        input_tokens=max(0, as_count(usage.get("prompt_tokens")) - cached - written),
        output_tokens=as_count(usage.get("completion_tokens")),
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        cost_usd=Decimal(0),
        pricing_version=PRICES,
        latency_ms=0,
    )
    provider, _, name = as_text(content.get("model")).partition("/")
    model = f"{provider}:{name}" if name else UNKNOWN_MODEL
    what = replace(entry.what, model=model, usage=counted)
    transcript.entries[at] = replace(entry, what=what)
