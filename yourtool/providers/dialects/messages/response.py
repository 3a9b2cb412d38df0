"""Parse replies of the Messages API, https://docs.claude.com/en/api/messages-streaming.

Server tools run at the provider, so their blocks are not tool calls of ours. Like all blocks of
unknown types they are stored with the message and replayed in position to the model that wrote
them. A tool call without arguments streams as empty text. Counters arrive in two events, and the
last number that is not null is the final one.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.events.deltas import StreamEvent, TokenUsage
from yourtool.messages.metadata import StopReason
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.arguments import arguments_as_text, arguments_to_json
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.reply import Reply

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


class MessagesParser:
    """Parser of one reply of the Messages API."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._counters: dict[str, int] = {}

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one event of a stream; unknown events are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        match chunk.get("type"):
            case "content_block_delta":
                return self._parse_delta(count(chunk.get("index")), mapping(chunk.get("delta")))
            case "content_block_start":
                return self._parse_block(
                    count(chunk.get("index")), mapping(chunk.get("content_block"))
                )
            case "content_block_stop":
                return self.reply.close_call(count(chunk.get("index")))
            case "message_start":
                message = mapping(chunk.get("message"))
                self.reply.response_id = text(message.get("id"))
                return self._update_usage(message.get("usage"))
            case "message_delta":
                self._set_stop_reason(mapping(chunk.get("delta")).get("stop_reason"))
                return self._update_usage(chunk.get("usage"))
            case "message_stop":
                self.reply.is_done = True
            case "error":
                self.reply.error = error_mapping.error_from_response(
                    self.reply.provider, 200, frame.data
                )
            case None if chunk.get("error"):
                self.reply.error = error_mapping.error_from_response(
                    self.reply.provider, 200, frame.data
                )
            case _:
                pass
        return ()

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        message = decode_frame(document)
        if not isinstance(message.get("content"), list):
            self.reply.error = error_mapping.error_from_response(self.reply.provider, 200, document)
            return
        self.reply.response_id = text(message.get("id"))
        for index, block in enumerate(objects(message["content"])):
            yield from self._parse_block(index, block)
            yield from self.reply.close_call(index)
        yield from self._update_usage(message.get("usage"))
        self._set_stop_reason(message.get("stop_reason"))
        self.reply.is_done = True

    @property
    def is_complete(self) -> bool:
        """Whether the reply may end here; some proxies omit `message_stop`."""
        return self.reply.is_done or self.reply.stop_reason is not None

    def _parse_delta(self, key: Any, delta: dict[str, Any]) -> Iterable[StreamEvent]:
        match delta.get("type"):
            case "text_delta":
                return self.reply.add_text(text(delta.get("text")), key)
            case "thinking_delta":
                return self.reply.add_thinking(text(delta.get("thinking")), key)
            case "signature_delta":
                return self.reply.add_signature(text(delta.get("signature")), key)
            case "input_json_delta" if not self.reply.is_server_block(key):
                return self.reply.add_arguments(key, arguments_as_text(delta.get("partial_json")))
            case "citations_delta":
                self.reply.add_note(key, mapping(delta.get("citation")), of_text=True)
            case _:
                for field, value in delta.items():
                    if field != "type" and isinstance(value, str):
                        self.reply.extend_server_block(key, field, value)
        return ()

    def _parse_block(self, key: Any, block: dict[str, Any]) -> Iterable[StreamEvent]:
        """Parse the start of a block, or a complete block."""
        match block.get("type"):
            case "text":
                yield from self.reply.add_text(text(block.get("text")), key)
                for citation in objects(block.get("citations")):
                    self.reply.add_note(key, citation, of_text=True)
            case "thinking":
                yield from self.reply.add_thinking(text(block.get("thinking")), key)
                if signature := text(block.get("signature")):
                    yield from self.reply.add_signature(signature, key)
            case "redacted_thinking":
                yield from self.reply.add_redacted_thinking(text(block.get("data")))
            case "tool_use":
                yield from self.reply.start_call(
                    key, text(block.get("id")), text(block.get("name"))
                )
                if (arguments := block.get("input")) != {}:  # a stream starts with an empty object
                    yield from self.reply.add_arguments(key, arguments_to_json(arguments))
            case _:
                self.reply.add_server_block(key, block)

    def _set_stop_reason(self, word: Any) -> None:
        if isinstance(word, str):
            self.reply.stop_reason = parse_stop_reason(word, _STOP_REASONS, self.reply.provider)
            self.reply.stop_detail = word

    def _update_usage(self, usage: Any) -> Iterable[StreamEvent]:
        """Update the counters; the last number that is not null is final."""
        counters = self._counters
        for name in _COUNTERS:
            if (figure := count(mapping(usage).get(name))) is not None:
                counters[name] = figure
        if "input_tokens" not in counters or "output_tokens" not in counters:
            return ()
        return self.reply.update_usage(
            TokenUsage(
                input_tokens=counters["input_tokens"],
                output_tokens=counters["output_tokens"],
                cached_input_tokens=counters.get("cache_read_input_tokens", 0),
                cache_creation_input_tokens=counters.get("cache_creation_input_tokens", 0),
            )
        )
