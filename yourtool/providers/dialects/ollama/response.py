"""Parse replies of Ollama's chat API."""

from collections.abc import Iterable
from typing import Any

from yourtool.events.deltas import StreamEvent, TokenUsage
from yourtool.messages.metadata import StopReason
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.arguments import arguments_as_text
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.reply import Reply

_STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "load": StopReason.OTHER,
    "unload": StopReason.OTHER,
}


class OllamaParser:
    """Parser of one reply of Ollama."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._call_count = 0

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one line.

        Raises:
            NetworkError: the line is not JSON.
        """
        chunk = decode_frame(frame.data)
        if chunk.get("error"):
            self.reply.error = error_mapping.error_from_response(
                self.reply.provider, 200, frame.data
            )
            return
        message = mapping(chunk.get("message"))
        yield from self.reply.add_thinking(text(message.get("thinking")))
        yield from self.reply.add_text(text(message.get("content")))
        for call in objects(message.get("tool_calls")):
            yield from self._parse_call(call)
        if chunk.get("done") is True:
            yield from self._update_usage(chunk)
            word = text(chunk.get("done_reason")) or "stop"
            self.reply.stop_detail = word
            self.reply.stop_reason = parse_stop_reason(word, _STOP_REASONS, self.reply.provider)
            if self.reply.stop_reason is StopReason.END_TURN and self.reply.has_calls:
                self.reply.stop_reason = StopReason.TOOL_USE
            self.reply.is_done = True

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a reply that arrived as one document, which is a stream of one line.

        Raises:
            NetworkError: it is not JSON.
        """
        return self.parse(SseEvent("", document))

    @property
    def is_complete(self) -> bool:
        """Whether the line with `done` has arrived."""
        return self.reply.is_done

    def _parse_call(self, call: dict[str, Any]) -> Iterable[StreamEvent]:
        function = mapping(call.get("function"))
        place, self._call_count = self._call_count, self._call_count + 1
        yield from self.reply.start_call(place, text(call.get("id")), text(function.get("name")))
        yield from self.reply.add_arguments(place, arguments_as_text(function.get("arguments")))
        yield from self.reply.close_call(place)

    def _update_usage(self, chunk: dict[str, Any]) -> Iterable[StreamEvent]:
        """Update the counters; the server does not count a prompt that it has cached."""
        prompt, output = count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count"))
        if prompt is None or output is None:
            return ()
        return self.reply.update_usage(TokenUsage(input_tokens=prompt, output_tokens=output))
