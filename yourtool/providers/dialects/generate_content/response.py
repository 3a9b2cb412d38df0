"""Parse replies of generateContent.

A reply is a list of parts in one or several chunks, and only the finish reason marks its end; a
blocked prompt has no reply. Any part can have a signature, even an empty text. Without `alt=sse`
the chunks are one JSON array. Counters that are zero are omitted.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.errors import NetworkError
from yourtool.events.deltas import StreamEvent, TokenUsage
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.generate_content.request import SIGNATURE
from yourtool.providers.json_access import count, decode, decode_frame, mapping, objects, text
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.arguments import arguments_to_json
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.reply import Reply

_STOP_REASONS = {
    "STOP": StopReason.END_TURN,
    "MAX_TOKENS": StopReason.MAX_TOKENS,
    "OTHER": StopReason.OTHER,
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
        ),
        StopReason.CONTENT_FILTER,
    ),
    **dict.fromkeys(
        (
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_RESPONSE",
            "MISSING_THOUGHT_SIGNATURE",
            "TOO_MANY_TOOL_CALLS",
            "UNEXPECTED_TOOL_CALL",
        ),
        StopReason.ERROR,
    ),
}
_METADATA_FIELDS = ("citationMetadata", "finishMessage", "groundingMetadata", "urlContextMetadata")
"""Fields with data about the reply; the last value of each is complete."""


class GenerateContentParser:
    """Parser of one reply of generateContent."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._key_count = 0

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one event of a stream; unknown fields are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        if chunk.get("error"):
            self.reply.error = error_mapping.error_from_response(
                self.reply.provider, 200, frame.data
            )
        return self._parse_chunk(chunk)

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a reply that arrived as one JSON document: an object, or an array of chunks.

        Raises:
            NetworkError: it is not JSON.
        """
        try:
            value = decode(document)
        except ValueError as error:
            raise NetworkError("the reply is not JSON") from error
        for chunk in objects(value) or [mapping(value)]:
            if chunk.get("error"):
                self.reply.error = error_mapping.error_from_payload(self.reply.provider, chunk)
            yield from self._parse_chunk(chunk)
        if (
            self.reply.stop_detail is None
            and self.reply.error is None
            and not isinstance(value, list)
        ):
            self.reply.error = error_mapping.error_from_response(self.reply.provider, 200, document)

    @property
    def is_complete(self) -> bool:
        """Whether the finish reason has arrived."""
        return self.reply.stop_detail is not None

    def _parse_chunk(self, chunk: dict[str, Any]) -> Iterable[StreamEvent]:
        self.reply.response_id = text(chunk.get("responseId")) or self.reply.response_id
        for candidate in objects(chunk.get("candidates")):
            if candidate.get("index"):  # other candidates are alternatives
                continue
            for part in objects(mapping(candidate.get("content")).get("parts")):
                yield from self._parse_part(part)
            self.reply.response_metadata |= {
                name: candidate[name] for name in _METADATA_FIELDS if candidate.get(name)
            }
            if word := text(candidate.get("finishReason")):
                self.reply.stop_detail = word
                reason = parse_stop_reason(word, _STOP_REASONS, self.reply.provider)
                is_call = reason is StopReason.END_TURN and self.reply.has_calls
                self.reply.stop_reason = StopReason.TOOL_USE if is_call else reason
        if word := text(mapping(chunk.get("promptFeedback")).get("blockReason")):
            self.reply.stop_detail = f"blocked:{word}"
            self.reply.stop_reason = StopReason.CONTENT_FILTER
        yield from self._update_usage(mapping(chunk.get("usageMetadata")))

    def _parse_part(self, part: dict[str, Any]) -> Iterable[StreamEvent]:
        signature, words = text(part.get(SIGNATURE)), text(part.get("text"))
        if isinstance(part.get("functionCall"), dict):
            yield from self._parse_call(part["functionCall"], signature)
        elif part.get("thought") is True and "text" in part:
            yield from self._parse_reasoning(words, signature)
        elif words:
            yield from self.reply.add_text(words)
            if signature:
                start, end = self.reply.last_piece_span()
                self.reply.add_note(None, {"from": start, "to": end, SIGNATURE: signature})
        elif signature or "text" not in part:
            self.reply.add_server_block(None, part)

    def _parse_reasoning(self, words: str, signature: str) -> Iterable[StreamEvent]:
        """Parse reasoning; a signature belongs to its part only."""
        key = self._next_key() if words and signature else None
        yield from self.reply.add_thinking(words, key)
        if signature:
            yield from self.reply.add_signature(signature, key)

    def _parse_call(self, call: dict[str, Any], signature: str) -> Iterable[StreamEvent]:
        key = self._next_key()
        yield from self.reply.start_call(key, text(call.get("id")), text(call.get("name")))
        if signature:
            self.reply.add_note(key, {SIGNATURE: signature})
        yield from self.reply.add_arguments(key, arguments_to_json(call.get("args")))
        yield from self.reply.close_call(key)

    def _next_key(self) -> int:
        """Return a new block key."""
        self._key_count += 1
        return self._key_count

    def _update_usage(self, usage: dict[str, Any]) -> Iterable[StreamEvent]:
        """Update the counters; reasoning and prompts of server tools are counted separately."""
        names = (
            "promptTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "totalTokenCount",
        )
        prompt, output, thoughts, total = (count(usage.get(name)) for name in names)
        if prompt is None and output is None and thoughts is None and total is None:
            return ()
        cached = count(usage.get("cachedContentTokenCount")) or 0
        input_tokens = (prompt or 0) + (count(usage.get("toolUsePromptTokenCount")) or 0)
        return self.reply.update_usage(
            TokenUsage(
                input_tokens=max(0, input_tokens - cached),
                output_tokens=(output or 0) + (thoughts or 0),
                cached_input_tokens=cached,
                reasoning_tokens=thoughts,
                image_tokens=_count_modality("IMAGE", usage),
                audio_tokens=_count_modality("AUDIO", usage),
            )
        )


def _count_modality(modality: str, usage: dict[str, Any]) -> int | None:
    """Return the tokens of one modality in prompt and output; None for 0."""
    details = ("promptTokensDetails", "candidatesTokensDetails", "toolUsePromptTokensDetails")
    counted = (
        count(each.get("tokenCount")) or 0
        for name in details
        for each in objects(usage.get(name))
        if each.get("modality") == modality
    )
    return sum(counted) or None
