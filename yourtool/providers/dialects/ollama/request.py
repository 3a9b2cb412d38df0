"""The request body of Ollama's chat API."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Self

from yourtool.effects import ToolDefinition
from yourtool.messages.blocks import (
    ContentBlock,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from yourtool.messages.message import Message, Role
from yourtool.providers.base import ForcedTool, Request
from yourtool.providers.dialects.ollama.spec import SPEC
from yourtool.providers.encoded_history import HistoryWriter
from yourtool.providers.requests.media_parts import prepare_media
from yourtool.providers.requests.output_schema import close_objects
from yourtool.providers.requests.placeholders import (
    EMPTY_MESSAGE,
    ERROR_PREFIX,
    IMAGES_LABEL,
    NO_OUTPUT,
    SEE_BELOW,
    placeholder_for,
)
from yourtool.providers.requests.reasoning_effort import effective_effort
from yourtool.providers.requests.request_view import move_system_to_first_prompt
from yourtool.providers.tool_ids import sanitize_tool_name

API = SPEC.api
"""The name of this wire format in stored messages."""
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_EFFORT_MODELS = "gpt-oss"
"""Part of the names of models with a reasoning effort; others have only on and off."""


def build_body(request: Request) -> dict[str, Any]:
    """Return the request body."""
    model = request.model
    options: dict[str, Any] = {
        "num_ctx": model.capabilities.max_context_tokens,
        "num_predict": request.max_output_tokens,
    }
    if request.temperature is not None and model.accepts_temperature:
        options["temperature"] = request.temperature
    if request.stop_sequences:
        options["stop"] = list(request.stop_sequences)
    wire: dict[str, Any] = {
        "model": model.wire_name,
        "messages": _messages(move_system_to_first_prompt(request)),
        "options": options,
        "shift": False,
        "stream": request.is_streaming,
        "truncate": False,
    }
    if request.output_schema is not None:
        wire["format"] = close_objects(request.output_schema)
    if tools := _callable_tools(request):
        wire["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": SPEC.tool_schema(tool.input_schema).schema,
                },
            }
            for tool in tools
        ]
    if (level := effective_effort(model, request.effort)) is not None:
        is_on = level != "off"
        wire["think"] = level if is_on and _EFFORT_MODELS in model.wire_name else is_on
    return wire


def _callable_tools(request: Request) -> Sequence[ToolDefinition]:
    """Return the tools to offer, as the API has no tool choice.

    With an output schema the whole reply follows the schema, so it cannot contain calls.
    """
    choice = request.tool_choice
    is_bare = choice == "none" or request.output_schema is not None
    if is_bare or not request.model.capabilities.supports_tools:
        return ()
    if isinstance(choice, ForcedTool):
        return [tool for tool in request.tools if tool.name == choice.name]
    return request.tools


def _messages(request: Request) -> list[Any]:
    system = "\n\n".join(request.system)
    first = [{"role": "system", "content": system}] if system else []
    return [*first, *request.write_history(_HistoryWriter(request), API).items]


class _HistoryWriter(HistoryWriter[Request]):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._images: list[str] = []
        """Images of tool results; they follow the last result."""
        self._names: dict[str, str] = {}
        """Names of the tools, by the id of the call."""

    def add(self, message: Message) -> None:
        """Write a message."""
        request = self.request
        if message.role is not Role.TOOL:
            self.finish()
        match message.role:
            case Role.USER:
                self.items.append(_user_message(message, request))
            case Role.ASSISTANT:
                for call in message.tool_uses:
                    self._names[call.id] = sanitize_tool_name(call.name)
                self.items += _assistant_message(message, request)
            case Role.TOOL:
                for block in message.content:
                    if isinstance(block, ToolResultBlock):
                        texts, own = _split_content(block.content, message, request)
                        output = "\n".join(texts) or (SEE_BELOW if own else NO_OUTPUT)
                        name = self._names.get(block.tool_use_id, "unknown")
                        self.items.append(_tool_result(block, name, output, request))
                        self._images += own
            case Role.SYSTEM:
                pass

    def finish(self) -> None:
        """Write the images of the preceding tool results."""
        if self._images:
            self.items.append({"role": "user", "content": IMAGES_LABEL, "images": self._images})
            self._images = []

    def copy_for(self, request: Request) -> Self:
        """Return a writer for another request, with the same state."""
        twin = super().copy_for(request)
        twin._images, twin._names = self._images.copy(), self._names.copy()
        return twin


def _user_message(message: Message, request: Request) -> dict[str, Any]:
    texts, images = _split_content(message.content, message, request)
    content = "\n\n".join(texts) or ("" if images else EMPTY_MESSAGE)
    wire: dict[str, Any] = {"role": "user", "content": content}
    return {**wire, "images": images} if images else wire


def _split_content(
    blocks: Iterable[ContentBlock], message: Message, request: Request
) -> tuple[list[str], list[str]]:
    """Return the texts, with placeholders for unsupported media, and the images."""
    texts: list[str] = []
    images: list[str] = []
    for block in blocks:
        if isinstance(block, TextBlock) and block.text.strip():
            texts.append(block.text)
        elif isinstance(block, MediaBlock):
            image = _image_data(block, message, request)
            (texts if image is None else images).append(image or placeholder_for(block))
    return texts, images


def _image_data(block: MediaBlock, message: Message, request: Request) -> str | None:
    """Return an image as base64; the server does not fetch URLs."""
    if not isinstance(block, ImageBlock):
        request.drop_log.drop(block, message, request.model, "the API has no field for it")
    elif block.source.kind == "url":
        request.drop_log.drop(block, message, request.model, "the server does not fetch images")
    elif (image := prepare_media(block, message, request)) is not None:
        return image.data
    return None


def _assistant_message(message: Message, request: Request) -> list[dict[str, Any]]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text}
    thoughts: list[str] = []
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.text.strip():
            thoughts.append(block.text)
        elif isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            request.drop_log.drop(
                block, message, request.model, "the API has no field for encrypted reasoning"
            )
    calls = [
        {
            "id": request.tool_ids.wire(request.model.provider, call.id, _IDS),
            "function": {"name": sanitize_tool_name(call.name), "arguments": call.input},
        }
        for call in message.tool_uses
    ]
    if thoughts:
        wire["thinking"] = "\n\n".join(thoughts)
    if calls:
        wire["tool_calls"] = calls
    return [wire] if calls or thoughts or message.text.strip() else []


def _tool_result(
    result: ToolResultBlock, name: str, output: str, request: Request
) -> dict[str, Any]:
    """Return a tool message; an error has a prefix."""
    return {
        "role": "tool",
        "tool_name": name,
        "tool_call_id": request.tool_ids.wire(request.model.provider, result.tool_use_id, _IDS),
        "content": f"{ERROR_PREFIX}{output}" if result.is_error else output,
    }
