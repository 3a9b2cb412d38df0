"""The request body of Gemini's generateContent, https://ai.google.dev/api/generate-content.

Turns of the user and the model alternate, the user's first. The calls of one reply are parts of one
content, and as many answers follow it at once, found by their order and the function's name: most
calls have no id. Signatures go back on the very part they came with
(https://ai.google.dev/gemini-api/docs/thought-signatures); a call that another model made has none,
and says so where the newer models insist on one.
"""

import re
from typing import Any

from yourtool.messages import (
    ContentBlock,
    MediaBlock,
    Message,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.providers.base import OneTool, Request, ToolChoice
from yourtool.providers.dialects.google_schema import google_schema
from yourtool.providers.json_access import count, text
from yourtool.providers.provider_extras import ProviderExtras
from yourtool.providers.requests.media import sendable
from yourtool.providers.requests.output_schema import GOOGLE, narrowed
from yourtool.providers.requests.placeholders import EMPTY, NO_OUTPUT, RETURNED, SEE_BELOW, unsent
from yourtool.providers.requests.thinking import asked
from yourtool.providers.tool_ids import tool_name

API = "generateContent"
"""The name of this wire format beside what is kept for it."""
SIGNATURE = "thoughtSignature"
_NO_SIGNATURE = "skip_thought_signature_validator"
_UNSIGNED_MODELS = re.compile(r"(?:.*/)?(?:gemini-[12]\b|gemma)")
_CALLED = {"audio/mpeg": "audio/mp3"}
"""Media types that have another name here."""
_NO_DATA = {"partMetadata", "thought"}
"""Fields of a part beside what it holds."""
_OURS = {"functionCall", "functionResponse"}
_GO_ON = {"text": "(go on)"}
_STOPS_LIMIT = 5
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


def body(request: Request) -> dict[str, Any]:
    """Return the request as the server takes it."""
    wire: dict[str, Any] = {"contents": _contents(request), "generationConfig": _config(request)}
    if system := [{"text": words} for words in request.system]:
        wire["systemInstruction"] = {"parts": system}
    if request.tools:
        declarations: Parts = []
        for tool in request.tools:
            declared: dict[str, Any] = {
                "name": function_name(tool.name),
                "description": tool.description,
            }
            if (schema := google_schema(tool.input_schema)) is not None:
                declared["parameters"] = schema
            declarations.append(declared)
        wire["tools"] = [{"functionDeclarations": declarations}]
        if request.tool_choice != "auto":
            wire["toolConfig"] = {"functionCallingConfig": _calling(request.tool_choice)}
    return wire


def function_name(name: str) -> str:
    """Return a tool's name as Google takes it: a letter or `_` first."""
    name = tool_name(name)
    return name if name[0].isalpha() or name[0] == "_" else f"_{name}"[:64]


def _calling(choice: ToolChoice) -> dict[str, Any]:
    if isinstance(choice, OneTool):
        return {"mode": "ANY", "allowedFunctionNames": [function_name(choice.name)]}
    return {"mode": choice.upper()}


def _config(request: Request) -> dict[str, Any]:
    model = request.model
    config: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens}
    if stops := [stop for stop in request.stop_sequences if stop]:
        config["stopSequences"] = stops[:_STOPS_LIMIT]
    if request.temperature is not None and model.accepts_temperature:
        config["temperature"] = request.temperature
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = narrowed(request.output_schema, GOOGLE)
    if (level := asked(model, request.effort)) is not None:
        is_budget = model.thinking == "budget"
        wanted = {"thinkingBudget": _BUDGETS[level]} if is_budget else {"thinkingLevel": level}
        config["thinkingConfig"] = {"includeThoughts": level != "off", **wanted}
    return config


def _contents(request: Request) -> Parts:
    names = {call.id: call.name for message in request.messages for call in message.tool_uses}
    turns: Parts = []
    pictures: Parts = []  # from tool results; they follow once all have answered
    for message in request.messages:
        if message.role is Role.SYSTEM:
            continue
        if message.role is Role.TOOL:
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    _add(turns, "user", [_answer(block, message, request, names, pictures)])
            continue
        pictures = _show(turns, pictures)
        if message.role is Role.ASSISTANT:
            _add(turns, "model", _said(message, request))
        else:
            _add(turns, "user", _heard(message, request))
    _show(turns, pictures)
    if not turns or turns[0]["role"] == "model":
        turns.insert(0, {"role": "user", "parts": [_GO_ON]})
    if turns[-1]["role"] == "model":
        turns.append({"role": "user", "parts": [_GO_ON]})
    return turns


def _add(turns: Parts, role: str, parts: Parts) -> None:
    """Add parts to the last content if it is of the same role, else begin another one.

    Answers to calls stay alone: what the user says next is a content of its own.
    """
    if not parts:
        return
    last: dict[str, Any] = turns[-1] if turns else {"role": None, "parts": []}
    is_same = last["role"] == role and all(
        ("functionResponse" in last["parts"][-1]) == ("functionResponse" in part) for part in parts
    )
    if is_same:
        last["parts"] += parts
    else:
        turns.append({"role": role, "parts": parts})


def _show(turns: Parts, pictures: Parts) -> Parts:
    if pictures:
        _add(turns, "user", [{"text": RETURNED}, *pictures])
    return []


def _heard(message: Message, request: Request) -> Parts:
    parts: Parts = []
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            parts.append({"text": block.text})
        elif isinstance(block, MediaBlock):
            parts += _media(block, message, request) or [{"text": unsent(block)}]
    return parts or [{"text": EMPTY}]


def _media(block: MediaBlock, message: Message, request: Request) -> Parts:
    """Return a picture, a recording or a document, which all look alike
    (https://ai.google.dev/gemini-api/docs/audio)."""
    media = sendable(block, message, request)
    if media is None:
        return []
    media_type = _CALLED.get(media.media_type, media.media_type)
    if media.url is not None:
        return [{"fileData": {"mimeType": media_type, "fileUri": media.url}}]
    return [{"inlineData": {"mimeType": media_type, "data": media.data}}]


def _answer(
    result: ToolResultBlock,
    message: Message,
    request: Request,
    names: dict[str, str],
    pictures: Parts,
) -> dict[str, Any]:
    own: Parts = []
    words: list[str] = []
    for part in result.content:
        if isinstance(part, TextBlock):
            words.append(part.text)
        else:
            shown = _media(part, message, request)
            own += shown
            words += [] if shown else [unsent(part)]
    pictures += own
    said = "\n".join(words) or (SEE_BELOW if own else NO_OUTPUT)
    answer = {
        "name": function_name(names.get(result.tool_use_id, "")),
        "response": {"error" if result.is_error else "output": said},
    }
    return {"functionResponse": {**answer, **_id(result.tool_use_id, request)}}


def _id(tool_use_id: str, request: Request) -> dict[str, str]:
    """Return the id that the model gave the call, if it gave one."""
    known = request.tool_ids.known_wire(request.model.provider, tool_use_id)
    return {} if known is None else {"id": known}


def _said(message: Message, request: Request) -> Parts:
    kept = ProviderExtras(message, request, API)
    parts: Parts = []
    for place, block in enumerate(message.content):
        parts += filter(_is_whole, kept.before(place))
        parts += _parts(block, message, request, kept.notes(place))
    parts += filter(_is_whole, kept.rest())
    if all(part.get("thought") for part in parts):
        for block in message.content:
            if not isinstance(block, RedactedThinkingBlock):  # of which each is told by itself
                request.losses.drop(
                    block, message, request.model, "reasoning without a following text or tool call"
                )
        return []
    calls = [part for part in parts if "functionCall" in part]
    needs_one = not _UNSIGNED_MODELS.match(request.model.wire_name)
    if calls and needs_one and SIGNATURE not in calls[0]:
        calls[0][SIGNATURE] = _NO_SIGNATURE
    return parts


def _is_whole(part: dict[str, Any]) -> bool:
    """Whether a part of Google's own may be sent back: it holds something, and no call of ours."""
    return bool(part.keys() - _NO_DATA) and not part.keys() & _OURS


def _parts(block: ContentBlock, message: Message, request: Request, notes: Parts) -> Parts:
    match block:
        case TextBlock(words):
            return _signed(words, notes)
        case ToolUseBlock():
            call = {"name": function_name(block.name), "args": block.input}
            part: dict[str, Any] = {"functionCall": {**call, **_id(block.id, request)}}
            for signature in (text(note.get(SIGNATURE)) for note in notes):
                if signature:
                    part[SIGNATURE] = signature
            return [part]
        case ThinkingBlock(words, signature):
            thought: dict[str, Any] = {"text": words, "thought": True}
            return [{**thought, SIGNATURE: signature} if signature else thought]
        case RedactedThinkingBlock():
            request.losses.drop(block, message, request.model, "the API has no field for it")
        case _:
            pass
    return []


def _signed(words: str, notes: Parts) -> Parts:
    """Return a text as the parts it came in, as far as one of them was signed."""
    parts: Parts = []
    at = 0
    for note in notes:
        begin, end = count(note.get("from")), count(note.get("to"))
        signature = text(note.get(SIGNATURE))
        if begin is None or end is None or not (at <= begin < end <= len(words) and signature):
            continue
        if words[at:begin]:
            parts.append({"text": words[at:begin]})
        parts.append({"text": words[begin:end], SIGNATURE: signature})
        at = end
    rest = words[at:]
    return [*parts, {"text": rest}] if rest.strip() or (rest and parts) else parts
