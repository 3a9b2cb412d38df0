"""The request body of generateContent.

Turns of the user and the model alternate and start with the user. The calls of one reply are parts
of one content, and as many results follow it directly, matched by order and function name, because
most calls have no id. Calls of other models have no signature; newer models require a marker
instead.
"""

import re
from typing import Any, Self

from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, Role
from yourtool.providers.base import ForcedTool, Request, ToolChoice
from yourtool.providers.dialects.generate_content.spec import SPEC
from yourtool.providers.encoded_history import HistoryWriter
from yourtool.providers.json_access import count, text
from yourtool.providers.provider_extras import ProviderExtras
from yourtool.providers.requests.media_parts import prepare_media
from yourtool.providers.requests.output_schema import BASIC_KEYWORDS, restrict_schema
from yourtool.providers.requests.placeholders import (
    EMPTY_MESSAGE,
    IMAGES_LABEL,
    NO_OUTPUT,
    SEE_BELOW,
    placeholder_for,
)
from yourtool.providers.requests.reasoning_effort import effective_effort
from yourtool.providers.tool_ids import sanitize_tool_name

API = "generateContent"
"""The name of this wire format in stored messages."""
_SCHEMA_KEYWORDS = BASIC_KEYWORDS | {
    "title",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
}
"""https://ai.google.dev/gemini-api/docs/structured-output"""
SIGNATURE = "thoughtSignature"
_NO_SIGNATURE = "skip_thought_signature_validator"
_UNSIGNED_MODELS = re.compile(r"(?:.*/)?(?:gemini-[12]\b|gemma)")
_MEDIA_TYPE_NAMES = {"audio/mpeg": "audio/mp3"}
"""Media types with another name in this API."""
_NON_CONTENT_FIELDS = {"partMetadata", "thought"}
"""Fields of a part in addition to its content."""
_CANONICAL_FIELDS = {"functionCall", "functionResponse"}
_CONTINUE = {"text": "(go on)"}
_MAX_STOPS = 5
_BUDGETS = {
    "off": 0,
    "minimal": 512,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}

Parts = list[dict[str, Any]]


def build_body(request: Request) -> dict[str, Any]:
    """Return the request body."""
    wire: dict[str, Any] = {
        "contents": request.write_history(_HistoryWriter(request), API).items,
        "generationConfig": _generation_config(request),
    }
    if system := [{"text": words} for words in request.system]:
        wire["systemInstruction"] = {"parts": system}
    if request.tools:
        declarations: Parts = []
        for tool in request.tools:
            declared: dict[str, Any] = {
                "name": function_name(tool.name),
                "description": tool.description,
            }
            if schema := SPEC.tool_schema(tool.input_schema).schema:
                declared["parameters"] = schema
            declarations.append(declared)
        wire["tools"] = [{"functionDeclarations": declarations}]
        if request.tool_choice != "auto":
            wire["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
    return wire


def function_name(name: str) -> str:
    """Return a tool name that Google accepts: it starts with a letter or `_`."""
    name = sanitize_tool_name(name)
    return name if name[0].isalpha() or name[0] == "_" else f"_{name}"[:64]


def _tool_choice(choice: ToolChoice) -> dict[str, Any]:
    if isinstance(choice, ForcedTool):
        return {"mode": "ANY", "allowedFunctionNames": [function_name(choice.name)]}
    return {"mode": choice.upper()}


def _generation_config(request: Request) -> dict[str, Any]:
    model = request.model
    config: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens}
    if stops := [stop for stop in request.stop_sequences if stop]:
        config["stopSequences"] = stops[:_MAX_STOPS]
    if request.temperature is not None and model.accepts_temperature:
        config["temperature"] = request.temperature
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = restrict_schema(request.output_schema, _SCHEMA_KEYWORDS)
    if (level := effective_effort(model, request.effort)) is not None:
        is_budget = model.thinking == "budget"
        setting = {"thinkingBudget": _BUDGETS[level]} if is_budget else {"thinkingLevel": level}
        config["thinkingConfig"] = {"includeThoughts": level != "off", **setting}
    return config


class _HistoryWriter(HistoryWriter[Request]):
    """Writes contents that alternate between the user and the model, who both start and end."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._images: Parts = []
        """Images of tool results; they follow the last result."""
        self._names: dict[str, str] = {}
        """Names of the tools, by the id of the call."""

    def add(self, message: Message) -> None:
        """Write a message, or add it to the last content."""
        request = self.request
        if message.role is Role.TOOL:
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    result = _tool_result(block, message, request, self._names, self._images)
                    self._append("user", [result])
            return
        self._append_images()
        if message.role is Role.ASSISTANT:
            self._names |= {call.id: call.name for call in message.tool_uses}
            self._append("model", _assistant_content(message, request))
        else:
            self._append("user", _user_content(message, request))

    def finish(self) -> None:
        """Write the images of the preceding tool results, and a content of the user at the end."""
        self._append_images()
        if not self.items or self.items[-1]["role"] == "model":
            self._append("user", [_CONTINUE])

    def copy_for(self, request: Request) -> Self:
        """Return a writer for another request, with the same state."""
        twin = super().copy_for(request)
        twin._images, twin._names = self._images.copy(), self._names.copy()
        return twin

    def _append(self, role: str, parts: Parts) -> None:
        """Append parts to the last content if it has the same role, else start a new one.

        Tool results are not mixed with other parts: the next user message is a separate content.
        """
        if not parts:
            return
        if not self.items and role == "model":
            self.items.append({"role": "user", "parts": [_CONTINUE]})
        last: dict[str, Any] = self.items[-1] if self.items else {"role": None, "parts": []}
        is_same = last["role"] == role and all(
            ("functionResponse" in last["parts"][-1]) == ("functionResponse" in part)
            for part in parts
        )
        if is_same:
            last["parts"] += parts
        else:
            self.items.append({"role": role, "parts": parts})

    def _append_images(self) -> None:
        if self._images:
            self._append("user", [{"text": IMAGES_LABEL}, *self._images])
            self._images = []


def _user_content(message: Message, request: Request) -> Parts:
    parts: Parts = []
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append({"text": block.text})
        elif isinstance(block, MediaBlock):
            parts += _media_part(block, message, request) or [{"text": placeholder_for(block)}]
    return parts or [{"text": EMPTY_MESSAGE}]


def _media_part(block: MediaBlock, message: Message, request: Request) -> Parts:
    """Return an image, audio or a document, which have the same form
    (https://ai.google.dev/gemini-api/docs/audio)."""
    media = prepare_media(block, message, request)
    if media is None:
        return []
    media_type = _MEDIA_TYPE_NAMES.get(media.media_type, media.media_type)
    if media.url is not None:
        return [{"fileData": {"mimeType": media_type, "fileUri": media.url}}]
    return [{"inlineData": {"mimeType": media_type, "data": media.data}}]


def _tool_result(
    result: ToolResultBlock,
    message: Message,
    request: Request,
    names: dict[str, str],
    images: Parts,
) -> dict[str, Any]:
    own: Parts = []
    texts: list[str] = []
    for part in result.content:
        if isinstance(part, TextBlock):
            texts.append(part.text)
        else:
            shown = _media_part(part, message, request)
            own += shown
            texts += [] if shown else [placeholder_for(part)]
    images += own
    output = "\n".join(texts) or (SEE_BELOW if own else NO_OUTPUT)
    response = {
        "name": function_name(names.get(result.tool_use_id, "")),
        "response": {"error" if result.is_error else "output": output},
    }
    return {"functionResponse": {**response, **_call_id(result.tool_use_id, request)}}


def _call_id(tool_use_id: str, request: Request) -> dict[str, str]:
    """Return the id that the model assigned to the call, if any."""
    known = request.tool_ids.issued_id(request.model.provider, tool_use_id)
    return {} if known is None else {"id": known}


def _assistant_content(message: Message, request: Request) -> Parts:
    extras = ProviderExtras(message, request, API)
    parts: Parts = []
    for place, block in enumerate(message.content):
        parts += filter(_is_replayable, extras.before(place))
        parts += _block_parts(block, message, request, extras.notes(place))
    parts += filter(_is_replayable, extras.rest())
    if all(part.get("thought") for part in parts):
        for block in message.content:
            if not isinstance(block, RedactedThinkingBlock):  # which is reported separately
                request.drop_log.drop(
                    block, message, request.model, "reasoning without a following text or tool call"
                )
        return []
    calls = [part for part in parts if "functionCall" in part]
    requires_signature = not _UNSIGNED_MODELS.match(request.model.wire_name)
    if calls and requires_signature and SIGNATURE not in calls[0]:
        calls[0][SIGNATURE] = _NO_SIGNATURE
    return parts


def _is_replayable(part: dict[str, Any]) -> bool:
    """Whether a stored part can be replayed: it has content, and it is not a call or result."""
    return bool(part.keys() - _NON_CONTENT_FIELDS) and not part.keys() & _CANONICAL_FIELDS


def _block_parts(block: ContentBlock, message: Message, request: Request, notes: Parts) -> Parts:
    match block:
        case TextBlock(words):
            return _text_parts(words, notes)
        case ToolUseBlock():
            call = {"name": function_name(block.name), "args": block.input}
            part: dict[str, Any] = {"functionCall": {**call, **_call_id(block.id, request)}}
            for signature in (text(note.get(SIGNATURE)) for note in notes):
                if signature:
                    part[SIGNATURE] = signature
            return [part]
        case ThinkingBlock(words, signature):
            thought: dict[str, Any] = {"text": words, "thought": True}
            return [{**thought, SIGNATURE: signature} if signature else thought]
        case RedactedThinkingBlock():
            request.drop_log.drop(block, message, request.model, "the API has no field for it")
        case _:
            pass
    return []


def _text_parts(words: str, notes: Parts) -> Parts:
    """Split a text into the signed parts that it arrived in."""
    parts: Parts = []
    at = 0
    for note in notes:
        start, end = count(note.get("from")), count(note.get("to"))
        signature = text(note.get(SIGNATURE))
        if start is None or end is None or not (at <= start < end <= len(words) and signature):
            continue
        if words[at:start]:
            parts.append({"text": words[at:start]})
        parts.append({"text": words[start:end], SIGNATURE: signature})
        at = end
    rest = words[at:]
    return [*parts, {"text": rest}] if rest.strip() or (rest and parts) else parts
