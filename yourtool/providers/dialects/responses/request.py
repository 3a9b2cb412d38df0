"""Request body of the Responses API.

It contains the conversation as a flat list of items.
"""

import re
from typing import Any

from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, Role
from yourtool.providers.base import ForcedTool, Request
from yourtool.providers.dialects.responses.spec import SPEC
from yourtool.providers.encoded_history import HistoryWriter
from yourtool.providers.json_access import mapping, text
from yourtool.providers.media_types import PLAIN
from yourtool.providers.provider_extras import ProviderExtras
from yourtool.providers.requests.media_parts import format_document, prepare_media
from yourtool.providers.requests.output_schema import build_named_schema
from yourtool.providers.requests.placeholders import (
    DEFAULT_PDF_NAME,
    EMPTY_MESSAGE,
    ERROR_PREFIX,
    NO_OUTPUT,
    placeholder_for,
)
from yourtool.providers.requests.reasoning_effort import effective_effort
from yourtool.providers.tool_ids import sanitize_tool_name

API = SPEC.api
"""The name of this wire format in stored messages."""
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MIN_OUTPUT = 16
_CANONICAL_TYPES = frozenset({"message", "reasoning", "function_call", "custom_tool_call"})
_CLIENT_TOOLS = ("local_shell_call", "shell_call", "apply_patch_call", "computer_call")
"""Prefixes of the types of items that need a specific result, and of the results."""


def build_body(request: Request, *, supports_long_cache: bool = False) -> dict[str, Any]:
    """Return the request body; `supports_long_cache`: the server can cache for a day.

    https://platform.openai.com/docs/guides/prompt-caching
    """
    model = request.model
    wire: dict[str, Any] = {
        "model": model.wire_name,
        "input": request.write_history(_HistoryWriter(request), API).items,
        "max_output_tokens": max(_MIN_OUTPUT, request.max_output_tokens),
        "store": False,
        "stream": request.is_streaming,
    }
    if request.system:
        wire["instructions"] = "\n\n".join(request.system)
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": SPEC.tool_schema(tool.input_schema).schema,
                "strict": False,  # its default is strict, which refuses optional properties
            }
            for tool in request.tools
        ]
        if request.disables_parallel_calls:
            wire["parallel_tool_calls"] = False
        if isinstance(request.tool_choice, ForcedTool):
            chosen = sanitize_tool_name(request.tool_choice.name)
            wire["tool_choice"] = {"type": "function", "name": chosen}
        elif request.tool_choice != "auto":
            wire["tool_choice"] = "none" if request.tool_choice == "none" else "required"
    if request.output_schema is not None:
        wire["text"] = {
            "format": {"type": "json_schema", **build_named_schema(request.output_schema)}
        }
    if model.capabilities.supports_thinking:
        # Models without reasoning reject a request to include it.
        wire["include"] = ["reasoning.encrypted_content"]
        if (level := effective_effort(model, request.effort)) == "off":
            wire["reasoning"] = {"effort": "none"}
        elif level is not None:
            wire["reasoning"] = {"effort": level, "summary": "auto"}
    if request.temperature is not None and model.accepts_temperature:
        wire["temperature"] = request.temperature
    if request.cache.retention != "none":
        wire["prompt_cache_key"] = request.session_id
        if request.cache.retention == "long" and supports_long_cache and model.caches_for_a_day:
            wire["prompt_cache_retention"] = "24h"
    return wire


class _HistoryWriter(HistoryWriter[Request]):
    """Writes the conversation as a flat list of items."""

    def add(self, message: Message) -> None:
        """Write the items of a message."""
        match message.role:
            case Role.USER:
                parts = _content_parts(message.content, message, self.request)
                parts = parts or [{"type": "input_text", "text": EMPTY_MESSAGE}]
                self.items.append({"type": "message", "role": "user", "content": parts})
            case Role.ASSISTANT:
                self.items += _assistant_content(message, self.request)
            case Role.TOOL:
                self.items += [
                    _tool_result(block, message, self.request)
                    for block in message.content
                    if isinstance(block, ToolResultBlock)
                ]
            case Role.SYSTEM:
                pass


def _content_parts(
    blocks: tuple[ContentBlock, ...] | tuple[TextBlock | ImageBlock, ...],
    message: Message,
    request: Request,
) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append({"type": "input_text", "text": block.text})
        elif isinstance(block, MediaBlock):
            placeholder = {"type": "input_text", "text": placeholder_for(block)}
            parts += _media_part(block, message, request) or [placeholder]
    return parts


def _media_part(block: MediaBlock, message: Message, request: Request) -> list[dict[str, Any]]:
    """Return an image or a document; the API has no audio item
    (https://platform.openai.com/docs/guides/pdf-files)."""
    if isinstance(block, AudioBlock):
        request.drop_log.drop(block, message, request.model, "the API has no audio item")
        return []
    if (media := prepare_media(block, message, request)) is None:
        return []
    match block:
        case ImageBlock():
            return [{"type": "input_image", "image_url": media.data_url, "detail": "auto"}]
        case DocumentBlock() if media.url is not None:
            return [{"type": "input_file", "file_url": media.url}]
        case DocumentBlock() if media.media_type == PLAIN:
            return [{"type": "input_text", "text": format_document(block, media)}]
        case DocumentBlock(name=name):
            file = {"filename": name or DEFAULT_PDF_NAME, "file_data": media.data_url}
            return [{"type": "input_file", **file}]


def _tool_result(result: ToolResultBlock, message: Message, request: Request) -> dict[str, Any]:
    """Return the output of a tool; an error has a prefix."""
    parts = _content_parts(result.content, message, request)
    words = "\n".join(part["text"] for part in parts if "text" in part)
    images = [part for part in parts if "text" not in part]
    if not words and not images:
        words = NO_OUTPUT
    if result.is_error:
        words = f"{ERROR_PREFIX}{words}"
    output: Any = words
    if images:
        output = [{"type": "input_text", "text": words}] if words else []
        output += images
    call_id = request.tool_ids.wire(request.model.provider, result.tool_use_id, _IDS)
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _assistant_content(message: Message, request: Request) -> list[dict[str, Any]]:
    """Return the items of a reply; reasoning without a following item is dropped."""
    extras = ProviderExtras(message, request, API)
    items: list[dict[str, Any]] = []
    thoughts: list[ContentBlock] = []  # of the reasoning items without a following item
    for place, block in enumerate(message.content):
        new = [raw for raw in extras.before(place) if _is_replayable(raw)]
        match block:
            case TextBlock(words) if words.strip():
                new.append(_text_item(words, extras.notes(place)))
            case ToolUseBlock():
                new.append(_tool_call(block, request))
            case ThinkingBlock() | RedactedThinkingBlock():
                notes = [mapping(note.get("item")) for note in extras.notes(place)]
                own = [item for item in notes if item.get("type") == "reasoning"]
                if not own:
                    request.drop_log.drop(
                        block, message, request.model, "reasoning that did not come as an item"
                    )
                    continue
                items += [*new, own[0]]
                thoughts = [*([] if new else thoughts), block]
                continue
            case _:
                pass
        items += new
        thoughts = [] if new else thoughts
    rest = [raw for raw in extras.rest() if _is_replayable(raw)]
    if not rest:
        for thought in thoughts:
            request.drop_log.drop(
                thought, message, request.model, "reasoning without a following text or tool call"
            )
        items = items[: len(items) - len(thoughts)]
    return _move_text_before_calls(items) + rest


def _text_item(words: str, notes: list[dict[str, Any]]) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": words, "annotations": []}],
    }
    for note in notes:
        if phase := text(note.get("phase")):
            item["phase"] = phase
    return item


def _tool_call(call: ToolUseBlock, request: Request) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": request.tool_ids.wire(request.model.provider, call.id, _IDS),
        "name": sanitize_tool_name(call.name),
        "arguments": canonical_json(call.input).decode(),
    }


def _is_replayable(raw: dict[str, Any]) -> bool:
    """Whether a stored item can be replayed: it needs no result from us."""
    kind = text(raw.get("type"))
    return bool(kind) and kind not in _CANONICAL_TYPES and not kind.startswith(_CLIENT_TOOLS)


def _move_text_before_calls(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move text before the first call, with the reasoning that precedes it.

    Some servers reject a message between calls.
    """
    steps: list[list[dict[str, Any]]] = [[]]
    for item in items:
        steps[-1].append(item)
        if item["type"] != "reasoning":
            steps.append([])
    kinds = [step[-1]["type"] if step else "" for step in steps]
    first = kinds.index("function_call") if "function_call" in kinds else len(steps)
    moved = [at for at in range(first, len(steps)) if kinds[at] == "message"]
    rest = [at for at in range(first, len(steps)) if kinds[at] != "message"]
    return [item for at in (*range(first), *moved, *rest) for item in steps[at]]
