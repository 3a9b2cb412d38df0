"""Request body of Chat Completions."""

import re
from typing import Any, Self, TypeAlias

from yourtool.messages.blocks import (
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
from yourtool.providers.dialects.chat.media import media_parts
from yourtool.providers.dialects.chat.spec import SPEC
from yourtool.providers.encoded_history import HistoryWriter
from yourtool.providers.json_access import mapping, text
from yourtool.providers.provider_extras import ProviderExtras
from yourtool.providers.quirks import Quirks
from yourtool.providers.requests.output_schema import build_named_schema
from yourtool.providers.requests.placeholders import (
    EMPTY_MESSAGE,
    ERROR_PREFIX,
    FILLER_REPLY,
    IMAGES_LABEL,
    NO_OUTPUT,
    SEE_BELOW,
    placeholder_for,
)
from yourtool.providers.requests.reasoning_effort import effective_effort
from yourtool.providers.requests.request_view import move_system_to_first_prompt
from yourtool.providers.token_weights import find_weights
from yourtool.providers.tool_ids import sanitize_tool_name

API = SPEC.api
"""The name of this wire format in stored messages."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Fields with reasoning as one text; the first one that is present counts."""
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_SHORT_IDS = re.compile(r"[a-zA-Z0-9]{9}")
_NEEDS_BREAKPOINTS = ("anthropic/", "google/", "qwen/")
"""Models at OpenRouter that cache only up to explicit breakpoints
(https://openrouter.ai/docs/features/prompt-caching)."""
_TAKES_MESSAGE_BREAKPOINTS = ("anthropic/",)
"""Models that support several breakpoints; others get one after the stable system prompt."""
_REQUIRES_REASONING = re.compile(
    r"deepseek-(?:chat|reasoner|v[4-9])|kimi-k(?:2[.-](?:[5-9]|thinking)|[3-9])|mimo", re.IGNORECASE
)
"""Models that reject a conversation with tools in which a reply has no reasoning; a blank is
enough (https://api-docs.deepseek.com/guides/thinking_mode)."""
_REASONING_FIELD = "reasoning_content"
_BLANK_REASONING = " "
_NUMBERED_IDS = re.compile(r"kimi", re.IGNORECASE)
"""Models that stop responding if calls have other ids than in their training
(https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md)."""
_CACHE_CONTROL = {"type": "ephemeral"}
Reasoning: TypeAlias = ThinkingBlock | RedactedThinkingBlock
REASONING_ENTRIES = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of entries in `reasoning_details` and the field with their text."""


def build_body(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the request body."""
    model = request.model
    wire: dict[str, Any] = {
        "model": model.wire_name,
        "messages": _messages(move_system_to_first_prompt(request), quirks),
        "stream": request.is_streaming,
    }
    if quirks.stream_usage and request.is_streaming:
        wire["stream_options"] = {"include_usage": True}
    limit = "max_completion_tokens" if model.uses_max_completion_tokens else "max_tokens"
    wire[limit] = request.max_output_tokens
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": SPEC.tool_schema(tool.input_schema).schema,
                },
            }
            for tool in request.tools
        ]
        if request.disables_parallel_calls:
            wire["parallel_tool_calls"] = False
        if isinstance(request.tool_choice, ForcedTool):
            chosen = {"name": sanitize_tool_name(request.tool_choice.name)}
            wire["tool_choice"] = {"type": "function", "function": chosen}
        elif request.tool_choice != "auto":
            wire["tool_choice"] = "none" if request.tool_choice == "none" else "required"
    if request.stop_sequences and not model.uses_max_completion_tokens:
        wire["stop"] = list(request.stop_sequences)
    if request.temperature is not None and model.accepts_temperature:
        wire["temperature"] = request.temperature
    if request.output_schema is not None:
        shape = build_named_schema(request.output_schema)
        wire["response_format"] = {"type": "json_schema", "json_schema": shape}
    if (level := effective_effort(model, request.effort)) is not None:
        level = "none" if level == "off" else level
        if quirks.effort == "reasoning":
            wire["reasoning"] = {"effort": level}
        elif quirks.effort == "reasoning_effort":
            wire["reasoning_effort"] = level
    return wire


def _messages(request: Request, quirks: Quirks) -> list[Any]:
    history = request.write_history(_HistoryWriter(request, quirks), API, quirks)
    if system := _system_prompt(request, quirks):
        return [{"role": quirks.system_role, "content": system}, *history.items]
    return history.items


class _HistoryWriter(HistoryWriter[Request]):
    def __init__(self, request: Request, quirks: Quirks) -> None:
        super().__init__(request)
        self._quirks = quirks
        self._images: list[dict[str, Any]] = []
        """Images of tool results; they follow the last result."""
        self._ids: dict[str, str] = {}
        """Wire ids of the calls."""
        is_short = quirks.short_tool_ids
        if is_short is None:
            is_short = find_weights(request.model.wire_name).name == "mistral"
        self._accepted_ids = _SHORT_IDS if is_short else _IDS
        self._numbers_ids = bool(_NUMBERED_IDS.search(request.model.wire_name)) and not is_short

    def add(self, message: Message) -> None:
        """Write a message."""
        request, quirks = self.request, self._quirks
        if message.role is not Role.TOOL:
            self.finish()
        match message.role:
            case Role.USER:
                prompt = _user_message(message, request, quirks)
                self._append_prompt(_with_cache_breakpoint(prompt, message, request, quirks))
            case Role.ASSISTANT:
                for call in message.tool_uses:
                    self._ids[call.id] = self._build_id(call)
                self.items += _assistant_message(message, request, quirks, self._ids)
            case Role.TOOL:
                answers = _tool_results(message, request, quirks, self._ids, self._images)
                self.items += _with_cache_breakpoint(answers, message, request, quirks)
            case Role.SYSTEM:
                pass

    def finish(self) -> None:
        """Write the images of the preceding tool results."""
        if self._images:
            self._append_prompt([_images_message(self._images)])
            self._images = []

    def copy_for(self, request: Request) -> Self:
        """Return a writer for another request, with the same state."""
        twin = super().copy_for(request)
        twin._images, twin._ids = self._images.copy(), self._ids.copy()
        return twin

    def _append_prompt(self, prompt: list[dict[str, Any]]) -> None:
        """Append a prompt, after a filler reply if it must not follow tool results directly."""
        follows_tool = self.items and self.items[-1]["role"] == "tool"
        if self._quirks.reply_after_tools and follows_tool:
            self.items.append({"role": "assistant", "content": FILLER_REPLY})
        self.items += prompt

    def _build_id(self, call: ToolUseBlock) -> str:
        if self._numbers_ids:
            return f"functions.{sanitize_tool_name(call.name)}:{len(self._ids)}"
        provider = self.request.model.provider
        return self.request.tool_ids.wire(provider, call.id, self._accepted_ids)


def _system_prompt(request: Request, quirks: Quirks) -> str | list[dict[str, Any]]:
    """Merge the system messages, in parts if a cache breakpoint follows the stable one."""
    texts = [
        "\n\n".join(
            block.text
            for block in message.content
            if isinstance(block, TextBlock) and block.text.strip()
        )
        for message in request.messages
        if message.role is Role.SYSTEM
    ]
    marked = {mark.message_id for mark in request.cache.breakpoints}
    is_needed = quirks.cache_breakpoints and request.model.wire_name.startswith(_NEEDS_BREAKPOINTS)
    if not (is_needed and texts and texts[0] and request.messages[0].id in marked):
        return "\n\n".join(filter(None, texts))
    stable = {"type": "text", "text": texts[0], "cache_control": _CACHE_CONTROL}
    return [stable, *({"type": "text", "text": text} for text in texts[1:] if text)]


def _with_cache_breakpoint(
    wires: list[dict[str, Any]], message: Message, request: Request, quirks: Quirks
) -> list[dict[str, Any]]:
    """Add a cache breakpoint to the end of a message, for models that support several.

    For these models all text is sent in parts, so a message has the same form without a breakpoint.
    """
    is_supported = request.model.wire_name.startswith(_TAKES_MESSAGE_BREAKPOINTS)
    if not (quirks.cache_breakpoints and is_supported and request.cache.breakpoints):
        return wires
    for wire in wires:
        if isinstance(wire["content"], str):
            wire["content"] = [{"type": "text", "text": wire["content"]}]
    if any(mark.message_id == message.id for mark in request.cache.breakpoints):
        wires[-1]["content"][-1]["cache_control"] = _CACHE_CONTROL
    return wires


def _images_message(images: list[dict[str, Any]]) -> dict[str, Any]:
    label = {"type": "text", "text": IMAGES_LABEL}
    return {"role": "user", "content": [label, *images]}


def _user_message(message: Message, request: Request, quirks: Quirks) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, MediaBlock):
            parts += media_parts(block, message, request, relayed=quirks.more_media) or [
                {"type": "text", "text": placeholder_for(block)}
            ]
    if not parts:
        return [{"role": "user", "content": EMPTY_MESSAGE}]
    if len(parts) == 1 and "text" in parts[0]:
        return [{"role": "user", "content": parts[0]["text"]}]
    return [{"role": "user", "content": parts}]


def _assistant_message(
    message: Message, request: Request, quirks: Quirks, ids: dict[str, str]
) -> list[dict[str, Any]]:
    extras = ProviderExtras(message, request, API)
    wire: dict[str, Any] = {"role": "assistant"}
    if message.text.strip():
        wire["content"] = message.text
    calls = [
        _tool_call(block, ids[block.id], extras.notes(place))
        for place, block in enumerate(message.content)
        if isinstance(block, ToolUseBlock)
    ]
    if calls:
        wire.setdefault("content", None)
        wire["tool_calls"] = calls
    if "content" not in wire:
        for block in message.content:
            _drop_reasoning(block, message, request)
        return []
    details, rest = _reasoning_entries(message, quirks, extras)
    if details:
        wire["reasoning_details"] = details
    if not details or rest:
        wire |= _reasoning_field(message, rest, request, quirks, extras)
    for block in rest:
        if not isinstance(block, ThinkingBlock) or not any(
            name in wire for name in REASONING_FIELDS
        ):
            _drop_reasoning(block, message, request)
    return [wire]


def _drop_reasoning(block: object, message: Message, request: Request) -> None:
    if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
        request.drop_log.drop(block, message, request.model, "the API has no field for it")


def _tool_call(call: ToolUseBlock, wire_id: str, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a call, with the extra content from Google's compatible API
    (https://ai.google.dev/gemini-api/docs/thought-signatures)."""
    arguments = canonical_json(call.input).decode()
    wire: dict[str, Any] = {
        "id": wire_id,
        "type": "function",
        "function": {"name": sanitize_tool_name(call.name), "arguments": arguments},
    }
    for note in notes:
        if extra := mapping(note.get("extra_content")):
            wire["extra_content"] = extra
    return wire


def _reasoning_field(
    message: Message,
    blocks: list[Reasoning],
    request: Request,
    quirks: Quirks,
    extras: ProviderExtras,
) -> dict[str, str]:
    """Return reasoning in the field that it arrived in, or a blank if the model requires one."""
    notes = [note for place in range(len(message.content)) for note in extras.notes(place)]
    field = next(
        (name for note in notes if (name := text(note.get("field"))) in REASONING_FIELDS), ""
    )
    is_required = quirks.reasoning_content
    if is_required is None:
        is_required = bool(_REQUIRES_REASONING.search(request.model.wire_name))
    elif not is_required:
        return {}
    words = "".join(block.text for block in blocks if isinstance(block, ThinkingBlock))
    if words.strip() and (field or is_required):
        return {field or _REASONING_FIELD: words}
    return {_REASONING_FIELD: _BLANK_REASONING} if is_required else {}


def _reasoning_entries(
    message: Message, quirks: Quirks, extras: ProviderExtras
) -> tuple[list[dict[str, Any]], list[Reasoning]]:
    """Return reasoning that arrived in entries, in their order, and the other reasoning blocks.

    Gateways such as OpenRouter, Vercel and Snowflake send such entries. Their models reject or
    ignore reasoning without the encrypted data in them.
    """
    details: list[dict[str, Any]] = []
    rest: list[Reasoning] = []
    for place, block in enumerate(message.content):
        if not isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            continue
        entries = [mapping(note.get("entry")) for note in extras.notes(place)]
        entry = next(filter(None, entries), mapping(None))
        if quirks.reasoning_details or (entry and quirks.reasoning_details is None):
            details.append(_reasoning_entry(block, entry))
        else:
            rest.append(block)
    return details, rest


def _reasoning_entry(block: Reasoning, entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(block, RedactedThinkingBlock):
        return {"type": "reasoning.encrypted", **entry, "data": block.data}
    kind = text(entry.get("type")) or "reasoning.text"
    signed = {"signature": block.signature} if block.signature else {}
    return {**entry, "type": kind, REASONING_ENTRIES.get(kind, "text"): block.text, **signed}


def _tool_results(
    message: Message,
    request: Request,
    quirks: Quirks,
    ids: dict[str, str],
    images: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    return [
        {
            "role": "tool",
            "tool_call_id": ids.get(block.tool_use_id, block.tool_use_id),
            "content": _tool_result(block, message, request, quirks, images),
        }
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


def _tool_result(
    result: ToolResultBlock,
    message: Message,
    request: Request,
    quirks: Quirks,
    images: list[dict[str, Any]],
) -> str | list[dict[str, Any]]:
    """Return the output of a tool; an error has a prefix."""
    texts: list[str] = []
    own: list[dict[str, Any]] = []
    for part in result.content:
        if isinstance(part, TextBlock):
            texts.append(part.text)
        else:
            shown = media_parts(part, message, request, relayed=quirks.more_media)
            own += shown
            texts += [] if shown else [placeholder_for(part)]
    output = "\n".join(text for text in texts if text.strip())
    if own and not quirks.images_in_tool_results:
        images += own
        output = output or SEE_BELOW
        own = []
    output = output or ("" if own else NO_OUTPUT)
    if result.is_error:
        output = f"{ERROR_PREFIX}{output}"
    if not own:
        return output
    return [*([{"type": "text", "text": output}] if output else []), *own]
