"""Dialect: the Messages API, https://docs.claude.com/en/api/messages and .../messages-streaming.

Server tools run at the provider, so their blocks are no calls of ours; like every block of a type
that is not known here they are kept with the message and sent back in their place to the model that
wrote them. A tool without arguments streams as empty text. Counters come in two events, and the
last figure that is not null is the final one.
"""

import re
from collections.abc import Iterable
from typing import Any

from yourtool.deltas import StreamEvent, TokenUsage
from yourtool.messages import (
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    Role,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.providers.base import Request
from yourtool.providers.images import NOT_SHOWN, sendable
from yourtool.providers.kept import Kept
from yourtool.providers.loss import dropped
from yourtool.providers.refusal import refusal
from yourtool.providers.reply import Reply
from yourtool.providers.shapes import count, decode_frame, mapping, objects, text
from yourtool.providers.sse import SseEvent
from yourtool.providers.stops import stop_reason
from yourtool.providers.tool_ids import tool_name
from yourtool.providers.wire import WireRequest

_PATH = "/v1/messages"
_HEADERS = {"anthropic-version": "2023-06-01"}
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CACHE = {"type": "ephemeral"}
_LEVELS = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
    "max": "max",
}
_THINKING_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576, "max": 32_768}
_LEAST_BUDGET = 1_024
_STOPS = {
    "end_turn": StopReason.END_TURN,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "tool_use": StopReason.TOOL_USE,
    "pause_turn": StopReason.PAUSE_TURN,
    "refusal": StopReason.REFUSAL,
}
_COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class Anthropic:
    """Speaks the Messages API."""

    def to_wire(self, request: Request) -> WireRequest:
        """Write the request; equal requests have equal bytes."""
        model = request.model
        body: dict[str, Any] = {
            "model": model.wire_name,
            "max_tokens": request.max_output_tokens,
            "messages": _turns(request),
            "stream": True,
        }
        if system := _system(request):
            body["system"] = system
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                }
                for tool in request.tools
            ]
        if stops := [stop for stop in request.stop_sequences if stop.strip()]:
            body["stop_sequences"] = stops
        body |= _thinking(request)
        is_free = model.accepts_temperature and "thinking" not in body
        if request.temperature is not None and is_free:
            body["temperature"] = request.temperature
        if model.capabilities.supports_prompt_caching:
            _mark(body, request)
        return WireRequest(path=_PATH, headers=_HEADERS, body=canonical_json(body))

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Read one event of a stream; unknown ones are skipped, new ones come without notice.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        match chunk.get("type"):
            case "content_block_delta":
                return _delta(chunk.get("index"), mapping(chunk.get("delta")), reply)
            case "content_block_start":
                return _block(chunk.get("index"), mapping(chunk.get("content_block")), reply)
            case "content_block_stop":
                return reply.close(chunk.get("index"))
            case "message_start":
                return _count(mapping(chunk.get("message")).get("usage"), reply)
            case "message_delta":
                _stop(mapping(chunk.get("delta")).get("stop_reason"), reply)
                return _count(chunk.get("usage"), reply)
            case "message_stop":
                reply.done = True
            case "error":
                reply.error = refusal(reply.provider, 200, frame.data)
            case None if chunk.get("error"):
                reply.error = refusal(reply.provider, 200, frame.data)
            case _:
                pass
        return ()

    def whole(self, document: bytes, reply: Reply) -> Iterable[StreamEvent]:
        """Read a reply that came as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        message = decode_frame(document)
        if not isinstance(message.get("content"), list):
            reply.error = refusal(reply.provider, 200, document)
            return
        for index, block in enumerate(objects(message["content"])):
            yield from _block(index, block, reply)
            yield from reply.close(index)
        yield from _count(message.get("usage"), reply)
        _stop(message.get("stop_reason"), reply)
        reply.done = True

    def may_end(self, reply: Reply) -> bool:
        """A stream is whole with `message_stop` only."""
        return reply.done


def _system(request: Request) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": block.text}
        for message in request.messages
        if message.role is Role.SYSTEM
        for block in message.content
        if isinstance(block, TextBlock) and block.text.strip()
    ]


def _turns(request: Request) -> list[dict[str, Any]]:
    """Return the conversation with neighbours of one role joined."""
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        match message.role:
            case Role.SYSTEM:
                continue
            case Role.ASSISTANT:
                role, blocks = "assistant", _said(message, request)
            case _:
                role, blocks = "user", _heard(message, request)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns and turns[-1]["role"] == "assistant":
        last = turns[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].rstrip()
    return turns


def _heard(message: Message, request: Request) -> list[dict[str, Any]]:
    """Return the blocks of a user's or a tool's message."""
    blocks: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            blocks.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock):
            blocks += _image(block, message, request)
        elif isinstance(block, ToolResultBlock):
            blocks.append(_result(block, message, request))
    return blocks or [{"type": "text", "text": NOT_SHOWN}]


def _result(result: ToolResultBlock, message: Message, request: Request) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in result.content:
        if isinstance(part, TextBlock):
            if part.text.strip():
                content.append({"type": "text", "text": part.text})
        elif result.is_error:
            dropped(part, message, request.model.provider, "an error takes only text")
        else:
            content += _image(part, message, request)
    provider = request.model.provider
    wire: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": request.tool_ids.wire(provider, result.tool_use_id, _IDS),
    }
    if content:
        wire["content"] = content
    if result.is_error:
        wire["is_error"] = True
        wire.setdefault("content", [{"type": "text", "text": "The tool failed and said nothing."}])
    return wire


def _image(block: ImageBlock, message: Message, request: Request) -> list[dict[str, Any]]:
    picture = sendable(block, message, request)
    if picture is None:
        return []
    if picture.url is not None:
        return [{"type": "image", "source": {"type": "url", "url": picture.url}}]
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
    return [{"type": "image", "source": source}]


def _said(message: Message, request: Request) -> list[dict[str, Any]]:
    """Return the blocks of the model's own message; reasoning never stands last."""
    model = request.model
    kept = Kept(message, request)
    blocks: list[tuple[dict[str, Any], ThinkingBlock | RedactedThinkingBlock | None]] = []
    for place, block in enumerate(message.content):
        blocks += [(raw, None) for raw in kept.before(place) if text(raw.get("type"))]
        match block:
            case TextBlock(words) if words.strip():
                wire: dict[str, Any] = {"type": "text", "text": words}
                if notes := kept.notes(place):
                    wire["citations"] = notes
                blocks.append((wire, None))
            case ToolUseBlock():
                wire_id = request.tool_ids.wire(model.provider, block.id, _IDS)
                call = {"id": wire_id, "name": tool_name(block.name), "input": block.input}
                blocks.append(({"type": "tool_use", **call}, None))
            case ThinkingBlock(words, signature) if signature:
                wire = {"type": "thinking", "thinking": words, "signature": signature}
                blocks.append((wire, block))
            case ThinkingBlock():
                dropped(block, message, model.provider, "reasoning without a signature")
            case RedactedThinkingBlock(data) if data:
                blocks.append(({"type": "redacted_thinking", "data": data}, block))
            case _:
                pass
    blocks += [(raw, None) for raw in kept.rest() if text(raw.get("type"))]
    while blocks and (thought := blocks[-1][1]) is not None:
        dropped(thought, message, model.provider, "reasoning that led to nothing")
        blocks.pop()
    return [wire for wire, _ in blocks]


def _thinking(request: Request) -> dict[str, Any]:
    """Return the fields that ask for a thinking level in the model's own form."""
    level = _LEVELS.get(request.effort or "")
    if level is None or not request.model.capabilities.supports_thinking:
        return {}
    form = request.model.thinking or "budget"
    if form == "budget":
        budget = min(_THINKING_BUDGETS[level], request.max_output_tokens - _LEAST_BUDGET)
        enabled = {"type": "enabled", "budget_tokens": budget}
        return {"thinking": enabled} if budget >= _LEAST_BUDGET else {}
    fields: dict[str, Any] = {"output_config": {"effort": level}}
    if form == "adaptive":
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    return fields


def _mark(body: dict[str, Any], request: Request) -> None:
    """Let the prefix be cached up to the tools, the stable system prompt, and the last block."""
    if body.get("tools"):
        body["tools"][-1]["cache_control"] = _CACHE
    stable = next((message for message in request.messages if message.role is Role.SYSTEM), None)
    if stable is not None:
        size = sum(
            isinstance(part, TextBlock) and bool(part.text.strip()) for part in stable.content
        )
        if size:
            body["system"][size - 1]["cache_control"] = _CACHE
    if body["messages"]:
        last = body["messages"][-1]["content"][-1]
        if last["type"] in ("text", "image", "tool_use", "tool_result"):
            last["cache_control"] = _CACHE


def _delta(key: Any, delta: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    match delta.get("type"):
        case "text_delta":
            return reply.text(text(delta.get("text")), key)
        case "thinking_delta":
            return reply.thinking(text(delta.get("thinking")), key)
        case "signature_delta":
            return reply.signature(text(delta.get("signature")), key)
        case "input_json_delta" if not reply.is_server(key):
            return reply.arguments(key, text(delta.get("partial_json")))
        case "citations_delta":
            reply.annotate(key, delta.get("citation"))
        case _:
            for field, value in delta.items():
                if field != "type" and isinstance(value, str):
                    reply.grow_server(key, field, value)
    return ()


def _block(key: Any, block: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Read a block that begins, or a whole one."""
    match block.get("type"):
        case "text":
            yield from reply.text(text(block.get("text")), key)
            for citation in objects(block.get("citations")):
                reply.annotate(key, citation)
        case "thinking":
            yield from reply.thinking(text(block.get("thinking")), key)
            if signature := text(block.get("signature")):
                yield from reply.signature(signature, key)
        case "redacted_thinking":
            yield from reply.redacted(text(block.get("data")))
        case "tool_use":
            yield from reply.call(key, text(block.get("id")), text(block.get("name")))
            if block.get("input"):
                yield from reply.arguments(key, canonical_json(block["input"]).decode())
        case _:
            reply.server(key, block)


def _stop(word: Any, reply: Reply) -> None:
    if isinstance(word, str):
        reply.stop_reason = stop_reason(word, _STOPS, reply.provider)
        reply.stop_detail = word


def _count(usage: Any, reply: Reply) -> Iterable[StreamEvent]:
    """Take counters: the last figure that is not null holds."""
    counters: dict[str, int] = reply.scratch
    for name in _COUNTERS:
        if (figure := count(mapping(usage).get(name))) is not None:
            counters[name] = figure
    if "input_tokens" not in counters or "output_tokens" not in counters:
        return ()
    return reply.usage(
        TokenUsage(
            input_tokens=counters["input_tokens"],
            output_tokens=counters["output_tokens"],
            cached_input_tokens=counters.get("cache_read_input_tokens", 0),
            cache_creation_input_tokens=counters.get("cache_creation_input_tokens", 0),
        )
    )
