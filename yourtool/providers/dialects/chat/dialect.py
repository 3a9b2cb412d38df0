"""Dialect: Chat Completions, https://platform.openai.com/docs/api-reference/chat.

OpenAI, OpenRouter and compatible servers differ: `Quirks` covers the requests. Replies are parsed
for all servers alike: finish reasons arrive twice, late, or never; calls arrive with any finish
reason; usage arrives before or after the end; ids and names are repeated; `content` is text or a
list; reasoning has three field names, and the same text can arrive in two of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from yourtool.errors import ConfigError
from yourtool.events.deltas import StreamEvent
from yourtool.messages.blocks import canonical_json
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.dialects.chat.request import (
    API,
    REASONING_ENTRIES,
    REASONING_FIELDS,
    build_body,
)
from yourtool.providers.dialects.chat.usage import parse_usage
from yourtool.providers.json_access import DONE, count, decode_frame, mapping, objects, text
from yourtool.providers.quirks import Quirks
from yourtool.providers.replies.arguments import arguments_as_text, arguments_to_json
from yourtool.providers.replies.block_builders import ToolCallBuilder
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.error_mapping import error_from_payload, error_from_response
from yourtool.providers.replies.reply import ABRUPT_STOPS, Reply
from yourtool.providers.wire import WireRequest

_PATH = "/chat/completions"
_STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,
    "eos_token": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_length": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
    "sensitive": StopReason.CONTENT_FILTER,
    "error": StopReason.ERROR,
    "abort": StopReason.ERROR,
    "network_error": StopReason.ERROR,
    "insufficient_system_resource": StopReason.ERROR,
}
_MALFORMED_CALL = "function_call_filter"
"""Prefix of the finish reason if Google discarded a malformed call."""
_HOST_FAILURES = ("error", "network_error")
"""Failures of the upstream host that OpenRouter reports with an ordinary finish reason."""
_METADATA_FIELDS = ("citations", "search_results")
"""Sources of the text at xAI and Perplexity; the last value of each is complete."""


class OpenAIChat:
    """The dialect of Chat Completions, with the quirks of one server."""

    api = API

    def __init__(self, quirks: Mapping[str, bool | str] | None = None) -> None:
        """`quirks`: fields of `Quirks` that differ from their defaults.

        Raises:
            ConfigError: a quirk is unknown, or its value is invalid.
        """
        try:
            self._quirks = msgspec.convert(dict(quirks or {}), Quirks)
        except msgspec.ValidationError as error:
            known = ", ".join(f"`{name}`" for name in Quirks.__struct_fields__)
            message = f"a quirk of a provider is invalid: {error}; known quirks: {known}"
            raise ConfigError(message) from error

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request body; equal requests have equal bytes."""
        return WireRequest(path=_PATH, body=canonical_json(build_body(request, self._quirks)))

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Translate one event of a stream; unknown fields are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        if frame.data.strip() == DONE:
            # Servers that fail before the first token may end the stream normally.
            reply.is_done = reply.stop_detail is not None or reply.activity > 0
            reply.is_cut_off = reply.stop_detail is None
            return _close_calls(reply)
        chunk = decode_frame(frame.data)
        if chunk.get("error") or frame.event == "error" or chunk.get("object") == "error":
            reply.error = error_from_response(reply.provider, 200, frame.data)
        return _translate_chunk(chunk, reply)

    def translate_document(self, document: bytes, reply: Reply) -> Iterable[StreamEvent]:
        """Translate a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        chunk = decode_frame(document)
        if chunk.get("error") or not objects(chunk.get("choices")):
            reply.error = error_from_response(reply.provider, 200, document)
        yield from _translate_chunk(chunk, reply, is_whole=True)
        yield from _close_calls(reply)
        reply.is_done = True

    def is_complete(self, reply: Reply) -> bool:
        """Whether the reply may end here; some servers never send `[DONE]`."""
        return reply.is_done or reply.stop_detail is not None


def _translate_chunk(
    chunk: dict[str, Any], reply: Reply, *, is_whole: bool = False
) -> Iterable[StreamEvent]:
    reply.response_id = text(chunk.get("id")) or reply.response_id
    for name in _METADATA_FIELDS:
        if value := chunk.get(name):
            reply.response_metadata[name] = value
    for choice in objects(chunk.get("choices")):
        if choice.get("index"):  # other choices are alternatives
            continue
        yield from _translate_delta(_find_delta(choice, is_whole=is_whole), reply)
        if error := choice.get("error"):
            reply.error = reply.error or error_from_payload(reply.provider, {"error": error})
        if choice.get("finish_reason"):
            yield from _set_stop_reason(choice, reply)
        yield from _update_usage(choice, reply)
    yield from _update_usage(mapping(chunk.get("x_groq")), reply)
    yield from _update_usage(chunk, reply)


def _find_delta(choice: dict[str, Any], *, is_whole: bool) -> dict[str, Any]:
    """Return the delta or the message of a choice.

    Perplexity sends both: in a stream, the message so far and the delta, and in a complete reply
    the message and an empty delta.
    """
    names = ("message", "delta") if is_whole else ("delta", "message")
    return mapping(next((part for name in names if (part := choice.get(name)) is not None), None))


def _set_stop_reason(choice: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Set the stop reason; a reply that failed before its first token becomes an error."""
    word, native = text(choice.get("finish_reason")), text(choice.get("native_finish_reason"))
    if not word:
        return ()
    reply.stop_detail = word = native if native in _HOST_FAILURES else word
    if reply.stop_reason is not StopReason.REFUSAL:
        is_rejected = word.startswith(_MALFORMED_CALL)
        usual = (
            StopReason.ERROR
            if is_rejected
            else parse_stop_reason(word, _STOP_REASONS, reply.provider)
        )
        reply.stop_reason = usual
    if reply.stop_reason is StopReason.ERROR and not reply.activity and reply.error is None:
        failure = {"type": "server_error", "message": f"the reply ended with `{word}` at once"}
        reply.error = error_from_payload(reply.provider, {"error": failure})
    return _close_calls(reply)


def _update_usage(holder: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Update the counters, which Moonshot sends in the choice and Groq in `x_groq`."""
    if not (counters := holder.get("usage")):
        return ()
    usage = parse_usage(mapping(counters), reply)
    return () if usage is None else reply.update_usage(usage)


def _close_calls(reply: Reply) -> list[StreamEvent]:
    """Close the calls; a reply with calls has the stop reason `TOOL_USE`.

    Calls stay open if the reply was interrupted, because they may be incomplete.
    """
    if reply.stop_reason in (None, StopReason.END_TURN, StopReason.OTHER) and reply.has_calls:
        reply.stop_reason = StopReason.TOOL_USE
    if reply.stop_reason in ABRUPT_STOPS:
        return []
    return reply.close_calls(blank=not reply.is_cut_off)


def _translate_delta(delta: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    content = delta.get("content")
    if len(delta) > 1 or content is None:
        yield from _translate_reasoning(delta, reply)
    if isinstance(content, str):
        yield from reply.add_text(content)
    elif isinstance(content, list):
        for part in objects(content):
            yield from _translate_part(part, reply)
    elif isinstance(content, dict):
        yield from _translate_object(mapping(content), reply)
    if refusal := text(delta.get("refusal")):
        reply.stop_reason = StopReason.REFUSAL
        yield from reply.add_text(refusal)
    if cited := objects(delta.get("annotations")):
        reply.response_metadata.setdefault("annotations", []).extend(cited)
    for call in objects(delta.get("tool_calls")):
        yield from _translate_call(call, reply)


def _translate_reasoning(delta: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    details = objects(delta.get("reasoning_details"))
    if not any(text(entry.get("type")) in REASONING_ENTRIES for entry in details):
        name = next((name for name in REASONING_FIELDS if text(delta.get(name))), "")
        yield from reply.add_thinking(text(delta.get(name)))
        if name and not reply.scratch.get("field"):
            reply.scratch["field"] = reply.add_note(None, {"field": name})
    for entry in details:
        kind = text(entry.get("type"))
        if kind in REASONING_ENTRIES:
            key = ("reasoning", kind, count(entry.get("index")))
            yield from reply.add_thinking(text(entry.get(REASONING_ENTRIES[kind])), key)
            if signature := text(entry.get("signature")):
                yield from reply.add_signature(signature, key)
            _add_entry_note(entry, key, reply)
        elif kind == "reasoning.encrypted" and (data := text(entry.get("data"))):
            yield from reply.add_redacted_thinking(data)
            _add_entry_note(entry, None, reply)


def _add_entry_note(entry: dict[str, Any], key: Any, reply: Reply) -> None:
    """Store the other fields of a reasoning entry once, to replay the entry unchanged."""
    known: dict[Any, dict[str, Any]] = reply.scratch.setdefault("entries", {})
    rest = {
        name: value
        for name, value in entry.items()
        if name not in ("text", "summary", "signature", "data")
    }
    if key is None:
        reply.add_note(None, {"entry": rest})
    elif key in known:
        known[key] |= {name: value for name, value in rest.items() if value is not None}
    elif reply.add_note(key, {"entry": rest}):
        known[key] = rest


def _translate_part(part: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Translate a part of a content list, as Mistral sends it."""
    match part.get("type"):
        case "text":
            yield from reply.add_text(text(part.get("text")))
        case "thinking":
            thoughts = part.get("thinking")
            yield from reply.add_thinking(text(thoughts))
            for thought in objects(thoughts):
                yield from reply.add_thinking(text(thought.get("text")))
        case _:
            pass


def _translate_object(content: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Translate a single part; Cloudflare decodes JSON replies to an object."""
    is_part = isinstance(content.get("text"), str) or "thinking" in content
    return (
        _translate_part(content, reply) if is_part else reply.add_text(arguments_to_json(content))
    )


def _translate_call(call: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    function, custom = mapping(call.get("function")), mapping(call.get("custom"))
    head = function if text(function.get("name")) or not text(custom.get("name")) else custom
    wire_id, name = text(call.get("id")), text(head.get("name"))
    arguments = arguments_as_text(head.get("arguments", head.get("input")))
    if not (wire_id or name or arguments):
        return
    index = count(call.get("index"))
    calls: dict[Any, Any] = reply.scratch.setdefault("calls", {})
    known = reply.find_call(calls.get(index))
    if known is None or _starts_new_call(index, wire_id, name, arguments, known):
        calls[index] = ("call", reply.scratch.get("count", 0))
        reply.scratch["count"] = calls[index][1] + 1
        known = None
    key = calls[index]
    yield from reply.start_call(key, wire_id, name)
    if extra := mapping(call.get("extra_content")):
        reply.add_note(key, {"extra_content": extra})
    if arguments.strip() == "null" and (known is None or not known.parts):
        return
    yield from reply.add_arguments(key, arguments)


def _starts_new_call(
    index: int | None, wire_id: str, name: str, arguments: str, known: ToolCallBuilder
) -> bool:
    """Whether a piece starts a new call instead of extending the known call at its index.

    Some servers give every call the index 0 or none; a different id or a name starts a new call.
    Others repeat the name with every piece, or send a new id with each.
    """
    if not name or (wire_id and wire_id == known.wire_id):
        return False
    is_complete = known.has_complete_arguments
    if known.parts and not is_complete and name == known.name:
        return False
    if wire_id and known.wire_id:
        return True
    return bool(known.name) if index is None else is_complete and bool(arguments)
