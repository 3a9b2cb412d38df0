"""The request body of the Messages API, https://docs.claude.com/en/api/messages."""

import re
from typing import Any

from yourtool.messages import (
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.providers.base import Request
from yourtool.providers.media import NOT_SHOWN, sendable
from yourtool.providers.kept import Kept
from yourtool.providers.loss import dropped
from yourtool.providers.shapes import text
from yourtool.providers.tool_ids import tool_name

API = "messages"
"""The name of this wire format beside what is kept for it."""
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


def body(request: Request) -> dict[str, Any]:
    """Return the request as the server takes it."""
    model = request.model
    wire: dict[str, Any] = {
        "model": model.wire_name,
        "max_tokens": request.max_output_tokens,
        "messages": _turns(request),
        "stream": True,
    }
    if system := _system(request):
        wire["system"] = system
    if request.tools:
        wire["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in request.tools
        ]
    if stops := [stop for stop in request.stop_sequences if stop.strip()]:
        wire["stop_sequences"] = stops
    wire |= _thinking(request)
    is_free = model.accepts_temperature and "thinking" not in wire
    if request.temperature is not None and is_free:
        wire["temperature"] = request.temperature
    if model.capabilities.supports_prompt_caching:
        _mark(wire, request)
    return wire


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
    kept = Kept(message, request, API)
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
