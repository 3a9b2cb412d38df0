"""Dialect: the Messages API, https://docs.claude.com/en/api/messages and .../messages-streaming.

Server tools run at the provider, so their blocks are not tool calls of ours. Like all blocks of
unknown types they are stored with the message and replayed in position to the model that wrote
them. A tool call without arguments streams as empty text. Counters arrive in two events, and the
last number that is not null is the final one.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.events.deltas import StreamEvent, TokenUsage
from yourtool.messages.blocks import canonical_json
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.dialects.messages.request import API, build_body
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies.arguments import arguments_as_text, arguments_to_json
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.replies.reply import Reply
from yourtool.providers.wire import WireRequest

_PATH = "/v1/messages"
_STOP_REASONS = {
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
    """The dialect of the Messages API."""

    api = API

    def __init__(
        self, *, supports_long_cache: bool = False, requires_signatures: bool = True
    ) -> None:
        """`supports_long_cache`: the host supports the longer cache retention.

        `requires_signatures`: the host rejects reasoning without a signature, as Anthropic does.
        """
        self._supports_long_cache = supports_long_cache
        self._requires_signatures = requires_signatures

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request body; equal requests have equal bytes."""
        return WireRequest(
            path=_PATH,
            body=canonical_json(
                build_body(
                    request,
                    supports_long_cache=self._supports_long_cache,
                    requires_signatures=self._requires_signatures,
                )
            ),
        )

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Translate one event of a stream; unknown events are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        match chunk.get("type"):
            case "content_block_delta":
                return _translate_delta(
                    count(chunk.get("index")), mapping(chunk.get("delta")), reply
                )
            case "content_block_start":
                return _translate_block(
                    count(chunk.get("index")), mapping(chunk.get("content_block")), reply
                )
            case "content_block_stop":
                return reply.close_call(count(chunk.get("index")))
            case "message_start":
                message = mapping(chunk.get("message"))
                reply.response_id = text(message.get("id"))
                return _update_usage(message.get("usage"), reply)
            case "message_delta":
                _set_stop_reason(mapping(chunk.get("delta")).get("stop_reason"), reply)
                return _update_usage(chunk.get("usage"), reply)
            case "message_stop":
                reply.is_done = True
            case "error":
                reply.error = error_from_response(reply.provider, 200, frame.data)
            case None if chunk.get("error"):
                reply.error = error_from_response(reply.provider, 200, frame.data)
            case _:
                pass
        return ()

    def translate_document(self, document: bytes, reply: Reply) -> Iterable[StreamEvent]:
        """Translate a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        message = decode_frame(document)
        if not isinstance(message.get("content"), list):
            reply.error = error_from_response(reply.provider, 200, document)
            return
        reply.response_id = text(message.get("id"))
        for index, block in enumerate(objects(message["content"])):
            yield from _translate_block(index, block, reply)
            yield from reply.close_call(index)
        yield from _update_usage(message.get("usage"), reply)
        _set_stop_reason(message.get("stop_reason"), reply)
        reply.is_done = True

    def is_complete(self, reply: Reply) -> bool:
        """Whether the reply may end here; some proxies omit `message_stop`."""
        return reply.is_done or reply.stop_reason is not None


def _translate_delta(key: Any, delta: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    match delta.get("type"):
        case "text_delta":
            return reply.add_text(text(delta.get("text")), key)
        case "thinking_delta":
            return reply.add_thinking(text(delta.get("thinking")), key)
        case "signature_delta":
            return reply.add_signature(text(delta.get("signature")), key)
        case "input_json_delta" if not reply.is_server_block(key):
            return reply.add_arguments(key, arguments_as_text(delta.get("partial_json")))
        case "citations_delta":
            reply.add_note(key, mapping(delta.get("citation")), of_text=True)
        case _:
            for field, value in delta.items():
                if field != "type" and isinstance(value, str):
                    reply.extend_server_block(key, field, value)
    return ()


def _translate_block(key: Any, block: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Translate the start of a block, or a complete block."""
    match block.get("type"):
        case "text":
            yield from reply.add_text(text(block.get("text")), key)
            for citation in objects(block.get("citations")):
                reply.add_note(key, citation, of_text=True)
        case "thinking":
            yield from reply.add_thinking(text(block.get("thinking")), key)
            if signature := text(block.get("signature")):
                yield from reply.add_signature(signature, key)
        case "redacted_thinking":
            yield from reply.add_redacted_thinking(text(block.get("data")))
        case "tool_use":
            yield from reply.start_call(key, text(block.get("id")), text(block.get("name")))
            if (arguments := block.get("input")) != {}:  # a stream starts with an empty object
                yield from reply.add_arguments(key, arguments_to_json(arguments))
        case _:
            reply.add_server_block(key, block)


def _set_stop_reason(word: Any, reply: Reply) -> None:
    if isinstance(word, str):
        reply.stop_reason = parse_stop_reason(word, _STOP_REASONS, reply.provider)
        reply.stop_detail = word


def _update_usage(usage: Any, reply: Reply) -> Iterable[StreamEvent]:
    """Update the counters; the last number that is not null is final."""
    counters: dict[str, int] = reply.scratch
    for name in _COUNTERS:
        if (figure := count(mapping(usage).get(name))) is not None:
            counters[name] = figure
    if "input_tokens" not in counters or "output_tokens" not in counters:
        return ()
    return reply.update_usage(
        TokenUsage(
            input_tokens=counters["input_tokens"],
            output_tokens=counters["output_tokens"],
            cached_input_tokens=counters.get("cache_read_input_tokens", 0),
            cache_creation_input_tokens=counters.get("cache_creation_input_tokens", 0),
        )
    )
