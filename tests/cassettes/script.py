"""Scripted replies without a wire format; the other modules here add theirs."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

PROMPT = "Read `notes/tide.txt` and tell me when the ferry leaves."
TOOLS = (
    (
        "read_file",
        "Read a text file.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    (
        "list_files",
        "List the files of the project.",
        {"type": "object", "properties": {}, "additionalProperties": False},
    ),
)
"""Name, description and schema of the tools that a request offers."""
RESULTS = ("High water 14:10, ferry 15:30.", "notes/tide.txt\nnotes/menü.txt")
"""The results of the calls of a reply, in order."""


@dataclass(frozen=True)
class Text:
    text: str
    streamed: str | None = None
    """The text of the deltas, if it differs from the text at the end."""


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str | None = None
    """Opaque data for the issuing model."""


@dataclass(frozen=True)
class Redacted:
    data: str


@dataclass(frozen=True)
class Refusal:
    text: str


@dataclass(frozen=True)
class Call:
    id: str | None
    name: str
    input: dict[str, Any] = field(default_factory=dict)
    signature: str | None = None
    raw: str | None = None
    """Arguments that an output limit cut; they are not JSON."""
    is_open: bool = False
    """The connection breaks in the middle of `raw`."""


@dataclass(frozen=True)
class ServerBlock:
    """A block of a tool that the provider runs itself."""

    block: dict[str, Any]


Item = Text | Thinking | Redacted | Refusal | Call | ServerBlock


@dataclass(frozen=True)
class Usage:
    """Tokens in disjoint buckets; `reasoning` is a part of `output`."""

    fresh: int = 24
    output: int = 12
    cached: int = 0
    created: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Failure:
    """An error that a provider reports; `kind` is the class that a client gives it."""

    kind: str
    status: int
    type: str | None
    message: str
    code: str | int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """The full body, if it does not have the usual form of errors."""


@dataclass(frozen=True)
class Reply:
    name: str
    items: tuple[Item, ...] = ()
    stop: str = "end_turn"
    """Our stop reason; the dialect has the provider's."""
    usage: Usage | None = field(default_factory=Usage)
    failure: Failure | None = None
    """An error inside the stream, after `items`."""
    answers: "Reply | None" = None
    """The previous reply, whose calls this request answers."""
    is_stream: bool = False

    @property
    def calls(self) -> list[Call]:
        return [item for item in self.items if isinstance(item, Call)]

    @property
    def is_cut(self) -> bool:
        """Whether the connection breaks before the end."""
        return any(call.is_open for call in self.calls)

    @property
    def id(self) -> str:
        return build_opaque_text(self.name, 18).translate(str.maketrans("+/=", "xyz"))


@dataclass(frozen=True)
class Reading:
    """Values of a client that depend on the wire format."""

    response_id: str | None
    stop_reason: str | None
    raw_usage: Any
    usage: Usage | None
    more: dict[str, Any] = field(default_factory=dict)
    """Additional fields of this dialect."""
    call_fields: tuple[dict[str, Any], ...] = ()
    """Additional fields of each call."""
    thinking_fields: tuple[dict[str, Any], ...] = ()


class Dialect(Protocol):
    """One API of one provider."""

    provider: str
    api: str
    prefix: str
    """The prefix of its cassettes."""
    model: str
    stream_type: str
    """Media type of a stream."""

    def replies(self) -> Iterator[Reply]:
        """Yield the replies of this API; the generator adds the forms, streamed and not."""
        ...

    def failures(self) -> Iterator[tuple[str, Failure]]: ...

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        """Return path and body of the request for `reply`."""
        ...

    def document(self, reply: Reply) -> str: ...

    def stream(self, reply: Reply) -> str: ...

    def error_body(self, failure: Failure) -> str: ...

    def reading(self, reply: Reply) -> Reading: ...


def build_opaque_text(seed: str, size: int = 90) -> str:
    """Return base64 that looks like a signature and is the same every time."""
    digest = b"".join(
        hashlib.sha256(f"{seed} {n}".encode()).digest() for n in range(size // 32 + 1)
    )
    return base64.b64encode(digest[:size]).decode()


def in_pieces(text: str, words: int = 2) -> Iterator[str]:
    """Yield the text as a model streams it."""
    parts = text.split(" ")
    for start in range(0, len(parts), words):
        end = start + words
        yield " ".join(parts[start:end]) + (" " if end < len(parts) else "")


def split_in_half(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def expected(dialect: Dialect, name: str, reply: Reply) -> dict[str, Any]:
    """Return the values of a correct client after it read the response."""
    reading = dialect.reading(reply)
    texts = [item.text for item in reply.items if isinstance(item, Text)]
    refusals = [item.text for item in reply.items if isinstance(item, Refusal)]
    thoughts = [item for item in reply.items if isinstance(item, Thinking)]
    extra = reading.call_fields or ({},) * len(reply.calls)
    thinking_extra = reading.thinking_fields or ({},) * len(thoughts)
    return {
        "id": name,
        "model": dialect.model,
        "response_id": reading.response_id,
        "text": "".join(texts),
        "thinking": [
            {"text": each.text, "signature": each.signature} | more
            for each, more in zip(thoughts, thinking_extra, strict=True)
        ],
        "redacted_thinking": [each.data for each in reply.items if isinstance(each, Redacted)],
        "refusal": "".join(refusals) or None,
        "tool_calls": [
            _call(call) | more
            for call, more in zip(reply.calls, extra, strict=True)
            if not call.is_open
        ],
        "unfinished_tool_calls": [
            {"id": call.id, "name": call.name, "input_raw": split_in_half(call.raw or "")[0]}
            for call in reply.calls
            if call.is_open
        ],
        "server_blocks": [
            {"type": _kind(each), "name": each.block.get("name")}
            for each in reply.items
            if isinstance(each, ServerBlock)
        ],
        "block_order": [_kind(each) for each in reply.items if not _is_open(each)],
        "stop_reason": reading.stop_reason,
        "stop_class": _stop_class(reply),
        "stop_sequence": "STOP" if reply.stop == "stop_sequence" else None,
        "usage": _usage(reading),
        "error": _error(reply.failure, 200, in_stream=True) if reply.failure else None,
        "complete": not reply.is_cut and reply.failure is None,
        "notes": [],
    } | reading.more


def expected_failure(name: str, failure: Failure) -> dict[str, Any]:
    return {
        "id": name,
        "model": None,
        "response_id": None,
        "text": "",
        "thinking": [],
        "redacted_thinking": [],
        "refusal": None,
        "tool_calls": [],
        "unfinished_tool_calls": [],
        "server_blocks": [],
        "block_order": [],
        "stop_reason": None,
        "stop_class": "error",
        "stop_sequence": None,
        "usage": {"raw": None, "total": None, "uncached": None},
        "error": _error(failure, failure.status, in_stream=False),
        "complete": True,
        "notes": [],
    }


def _kind(item: Item) -> str:
    match item:
        case Text():
            return "text"
        case Thinking():
            return "thinking"
        case Redacted():
            return "redacted_thinking"
        case Refusal():
            return "refusal"
        case Call():
            return "tool_use"
        case ServerBlock(block):
            return block["type"]


def _is_open(item: Item) -> bool:
    return isinstance(item, Call) and item.is_open


def _call(call: Call) -> dict[str, Any]:
    if call.raw is not None:
        return {"id": call.id, "name": call.name, "input": None, "input_raw": call.raw}
    signed = {"signature": call.signature} if call.signature else {}
    return {"id": call.id, "name": call.name, "input": call.input, **signed}


def _stop_class(reply: Reply) -> str | None:
    if reply.failure is not None:
        return "error"
    return None if reply.is_cut else reply.stop


def _usage(reading: Reading) -> dict[str, Any]:
    usage = reading.usage
    if usage is None:
        return {"raw": None, "total": None, "uncached": None}
    shared = {
        "output_tokens": usage.output,
        "cached_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.created,
    }
    total = usage.fresh + usage.cached + usage.created
    return {
        "raw": reading.raw_usage,
        "total": {"input_tokens": total, **shared},
        "uncached": {"input_tokens": usage.fresh, **shared},
    }


def _error(failure: Failure, status: int, *, in_stream: bool) -> dict[str, Any]:
    return {
        "status": status,
        "type": failure.type,
        "code": failure.code,
        "message": failure.message,
        "in_stream": in_stream,
        "class": failure.kind,
    }
