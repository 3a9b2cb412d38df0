"""Request body of the Messages API.

See https://docs.claude.com/en/api/messages.
"""

import logging
import re
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from yourtool.messages.blocks import (
    DocumentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, Role
from yourtool.providers.base import ForcedTool, Request
from yourtool.providers.dialects.messages.spec import SPEC
from yourtool.providers.encoded_history import HistoryWriter
from yourtool.providers.json_access import text
from yourtool.providers.media_types import IMAGE_TYPES, PDF, PLAIN
from yourtool.providers.provider_extras import ProviderExtras
from yourtool.providers.requests.media_parts import prepare_media
from yourtool.providers.requests.output_schema import BASIC_KEYWORDS, restrict_schema
from yourtool.providers.requests.placeholders import EMPTY_MESSAGE, placeholder_for
from yourtool.providers.requests.reasoning_effort import effective_effort, supported_efforts
from yourtool.providers.tool_ids import sanitize_tool_name

API = SPEC.api
"""The name of this wire format in stored messages."""
_SCHEMA_KEYWORDS = BASIC_KEYWORDS | {"const", "title", "format"}
"""https://docs.claude.com/en/docs/build-with-claude/structured-outputs"""
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_EFFORTS = {"minimal": "low"}
_BUDGETS = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 28_672,
    "max": 32_768,
}
_MIN_BUDGET = 1_024
_FORCED_CALLS = ("any", "tool")
_DISABLED_THINKING = {"type": "disabled"}
_CANONICAL_TYPES = frozenset({"redacted_thinking", "text", "thinking", "tool_result", "tool_use"})
_REASONING_TYPES = ("thinking", "redacted_thinking")

_log = logging.getLogger(__name__)


def build_body(
    request: Request, *, supports_long_cache: bool = False, requires_signatures: bool = True
) -> dict[str, Any]:
    """Return the request body.

    `supports_long_cache`: the server can cache for an hour.
    `requires_signatures`: the server rejects reasoning without a signature.
    """
    model = request.model
    if not supports_long_cache and request.cache.retention == "long":
        request = replace(request, cache=replace(request.cache, retention="short"))
    history = request.write_history(
        _HistoryWriter(request, requires_signatures=requires_signatures),
        API,
        requires_signatures,
    )
    wire: dict[str, Any] = {
        "model": model.wire_name,
        "max_tokens": request.max_output_tokens,
        "messages": history.items,
        "stream": request.is_streaming,
    }
    if system := _system_prompt(request):
        wire["system"] = system
    if request.tools:
        wire["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": SPEC.tool_schema(tool.input_schema).schema,
            }
            for tool in request.tools
        ]
        _add_cache_breakpoint(wire["tools"], None, 0, request)
    if stops := [stop for stop in request.stop_sequences if stop.strip()]:
        wire["stop_sequences"] = stops
    if (choice := _tool_choice(request)) is not None:
        wire["tool_choice"] = choice
    wire |= _reasoning_fields(
        request, is_forced=choice is not None and choice["type"] in _FORCED_CALLS
    )
    if (
        wire.get("thinking", _DISABLED_THINKING)["type"] == "enabled"
        and history.started_without_reasoning
    ):
        _log.warning("`%s` continues a reply that started without reasoning", model.id)
        del wire["thinking"]
    if request.output_schema is not None:
        shape = {
            "type": "json_schema",
            "schema": restrict_schema(request.output_schema, _SCHEMA_KEYWORDS),
        }
        wire["output_config"] = {**wire.get("output_config", {}), "format": shape}
    is_free = (
        model.accepts_temperature and wire.get("thinking", _DISABLED_THINKING) == _DISABLED_THINKING
    )
    if request.temperature is not None and is_free:
        wire["temperature"] = request.temperature
    return wire


def _system_prompt(request: Request) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role is Role.SYSTEM:
            for index, block in enumerate(message.content):
                if isinstance(block, TextBlock) and block.text.strip():
                    parts.append({"type": "text", "text": block.text})
                    _add_cache_breakpoint(parts, message.id, index, request)
    return parts


class _HistoryWriter(HistoryWriter[Request]):
    """Writes the conversation with consecutive messages of one role merged."""

    def __init__(self, request: Request, *, requires_signatures: bool) -> None:
        super().__init__(request)
        self._requires_signatures = requires_signatures
        self._first_type: str | None = None
        """Type of the first block of the unfinished reply, as far as its items are final."""

    def add(self, message: Message) -> None:
        """Write a message, or add it to the last item."""
        if message.role is Role.ASSISTANT:
            role, blocks = (
                "assistant",
                _assistant_content(
                    message, self.request, requires_signatures=self._requires_signatures
                ),
            )
        else:
            role, blocks = "user", _user_content(message, self.request)
        if not blocks:
            return
        if self.items and self.items[-1]["role"] == role:
            self.items[-1]["content"] += blocks
        else:
            self.items.append({"role": role, "content": blocks})

    def finish(self) -> None:
        """Remove white space at the end of a reply, which the API rejects."""
        if self.items and self.items[-1]["role"] == "assistant":
            last = self.items[-1]["content"][-1]
            if last["type"] == "text":
                last["text"] = last["text"].rstrip()

    def take_final_items(self) -> list[Any]:
        """Remove and return the items that later messages cannot change."""
        final = super().take_final_items()
        self._first_type = _find_first_type(final, self._first_type, is_end=False)
        return final

    @property
    def started_without_reasoning(self) -> bool:
        """Whether the unfinished reply started without reasoning, as one of another model does.

        A reply is everything between two prompts of the user, tool results included. Models with a
        reasoning budget reject reasoning that starts in the middle of one
        (https://docs.claude.com/en/docs/build-with-claude/extended-thinking).
        """
        own = [item for item in self.items if not isinstance(item, Raw)]
        first = _find_first_type(own, self._first_type, is_end=True)
        return first is not None and first not in _REASONING_TYPES


def _find_first_type(
    items: list[dict[str, Any]], first_type: str | None, *, is_end: bool
) -> str | None:
    """Return the type of the first block since the last prompt.

    `first_type`: that of the items before. `is_end`: the last item ends the conversation, so text
    after tool results does not start a new reply.
    """
    for at, item in enumerate(items):
        kinds = {block["type"] for block in item["content"]}
        if item["role"] == "assistant":
            first_type = first_type or item["content"][0]["type"]
        elif "tool_result" not in kinds or (
            kinds != {"tool_result"} and not (is_end and at == len(items) - 1)
        ):
            first_type = None
    return first_type


def _user_content(message: Message, request: Request) -> list[dict[str, Any]]:
    """Return the blocks of a user or tool message."""
    blocks: list[dict[str, Any]] = []
    for index, block in enumerate(message.content):
        if isinstance(block, TextBlock) and block.text.strip():
            blocks.append({"type": "text", "text": block.text})
        elif isinstance(block, MediaBlock):
            blocks += _media_or_placeholder(block, message, request)
        elif isinstance(block, ToolResultBlock):
            blocks.append(_tool_result(block, message, request))
        _add_cache_breakpoint(blocks, message.id, index, request)
    return blocks or [{"type": "text", "text": EMPTY_MESSAGE}]


def _tool_result(result: ToolResultBlock, message: Message, request: Request) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in result.content:
        if isinstance(part, TextBlock):
            if part.text.strip():
                content.append({"type": "text", "text": part.text})
        elif result.is_error:
            request.drop_log.drop(
                part, message, request.model, "an error result can contain only text"
            )
            content.append({"type": "text", "text": placeholder_for(part)})
        else:
            content += _media_or_placeholder(part, message, request)
    provider = request.model.provider
    wire: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": request.tool_ids.wire(provider, result.tool_use_id, _IDS),
    }
    if content:
        wire["content"] = content
    if result.is_error:
        wire["is_error"] = True
        wire.setdefault("content", [{"type": "text", "text": "The tool failed without output."}])
    return wire


def _media_or_placeholder(
    block: MediaBlock, message: Message, request: Request
) -> list[dict[str, Any]]:
    return _media_part(block, message, request) or [
        {"type": "text", "text": placeholder_for(block)}
    ]


def _media_part(block: MediaBlock, message: Message, request: Request) -> list[dict[str, Any]]:
    """Return an image, a PDF or a plain text; the API has no audio block
    (https://docs.claude.com/en/docs/build-with-claude/pdf-support)."""
    media = prepare_media(block, message, request, only=(*IMAGE_TYPES, PDF, PLAIN))
    if media is None:
        return []
    source = {"type": "base64", "media_type": media.media_type, "data": media.data}
    if media.url is not None:
        source = {"type": "url", "url": media.url}
    elif media.media_type == PLAIN:
        source = {"type": "text", "media_type": PLAIN, "data": media.text}
    if not isinstance(block, DocumentBlock):
        return [{"type": "image", "source": source}]
    named = {"title": block.name} if block.name else {}
    return [{"type": "document", "source": source, **named}]


def _assistant_content(
    message: Message, request: Request, *, requires_signatures: bool
) -> list[dict[str, Any]]:
    """Return the blocks of a reply; trailing reasoning is dropped.

    Compatible servers without signatures require their reasoning back as well.
    """
    model = request.model
    extras = ProviderExtras(message, request, API)
    blocks: list[tuple[dict[str, Any], ThinkingBlock | RedactedThinkingBlock | None]] = []
    for place, block in enumerate(message.content):
        blocks += [(raw, None) for raw in extras.before(place) if _is_replayable(raw)]
        match block:
            case TextBlock(words) if words.strip():
                wire: dict[str, Any] = {"type": "text", "text": words}
                if notes := extras.notes(place):
                    wire["citations"] = notes
                blocks.append((wire, None))
            case ToolUseBlock():
                wire_id = request.tool_ids.wire(model.provider, block.id, _IDS)
                call = {"id": wire_id, "name": sanitize_tool_name(block.name), "input": block.input}
                blocks.append(({"type": "tool_use", **call}, None))
            case ThinkingBlock(words, signature) if signature or (
                words and not requires_signatures
            ):
                wire = {"type": "thinking", "thinking": words, "signature": signature or ""}
                blocks.append((wire, block))
            case ThinkingBlock():
                request.drop_log.drop(block, message, model, "reasoning without a signature")
            case RedactedThinkingBlock(data) if data:
                blocks.append(({"type": "redacted_thinking", "data": data}, block))
            case _:
                pass
        _add_cache_breakpoint([wire for wire, _ in blocks], message.id, place, request)
    blocks += [(raw, None) for raw in extras.rest() if _is_replayable(raw)]
    while blocks and (thought := blocks[-1][1]) is not None:
        request.drop_log.drop(
            thought, message, model, "reasoning without a following text or tool call"
        )
        blocks.pop()
    return [wire for wire, _ in blocks]


def _is_replayable(raw: dict[str, Any]) -> bool:
    """Whether a stored block can be replayed: it has a type that is not canonical."""
    kind = text(raw.get("type"))
    return bool(kind) and kind not in _CANONICAL_TYPES


def _reasoning_fields(request: Request, *, is_forced: bool) -> dict[str, Any]:
    """Return the fields for the reasoning effort in the form of the model.

    A forced tool call requires that reasoning is off.
    """
    if not request.model.capabilities.supports_thinking:
        return {}
    level, form = (
        effective_effort(request.model, request.effort),
        request.model.thinking or "budget",
    )
    is_off = level == "off" or is_forced
    if form == "budget":
        if level is None or is_off:
            return {}
        budget = min(_BUDGETS[level], request.max_output_tokens - _MIN_BUDGET)
        enabled = {"type": "enabled", "budget_tokens": budget}
        return {"thinking": enabled} if budget >= _MIN_BUDGET else {}
    fields: dict[str, Any] = {}
    if level is not None and level != "off":
        fields["output_config"] = {"effort": _EFFORTS.get(level, level)}
    if form == "adaptive" and is_off:
        fields["thinking"] = _DISABLED_THINKING
    elif form == "adaptive" and fields:
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    return fields


def _tool_choice(request: Request) -> dict[str, Any] | None:
    """Return the tool choice; a model that always reasons does not support forced tool calls.

    https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    """
    choice, model = request.tool_choice, request.model
    one = {"disable_parallel_tool_use": True} if request.disables_parallel_calls else {}
    auto = {"type": "auto", **one} if one else None
    if choice == "auto" or not request.tools:
        return auto
    if choice == "none":
        return {"type": "none"}
    thinks = model.capabilities.supports_thinking and model.thinking in ("adaptive", "effort")
    if thinks and "off" not in supported_efforts(model):
        _log.warning("`%s` always reasons, so no tool call is forced", model.id)
        return auto
    if isinstance(choice, ForcedTool):
        return {"type": "tool", "name": sanitize_tool_name(choice.name), **one}
    return {"type": "any", **one}


def _add_cache_breakpoint(
    blocks: list[dict[str, Any]], message_id: str | None, index: int, request: Request
) -> None:
    """Set a cache breakpoint on the last block, if the cache plan has one there."""
    if (
        blocks
        and request.cache.has(message_id, index)
        and blocks[-1].get("type") not in _REASONING_TYPES
    ):
        long = request.cache.retention == "long"
        blocks[-1]["cache_control"] = {"type": "ephemeral", **({"ttl": "1h"} if long else {})}
