"""Parse replies of Chat Completions, https://platform.openai.com/docs/api-reference/chat.

The parser covers the differences between servers: finish reasons arrive twice, late, or never;
calls arrive with any finish reason; usage arrives before or after the end; ids and names are
repeated; `content` is text or a list; reasoning has three field names, and the same text can arrive
in two of them.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from yourtool.events.deltas import StreamEvent
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.chat.request import (
    REASONING_ENTRIES,
    REASONING_FIELDS,
)
from yourtool.providers.json_access import DONE, count, decode_frame, mapping, objects, text
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.arguments import arguments_as_text, arguments_to_json
from yourtool.providers.replies.block_builders import ToolCallBuilder
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.openai_usage import OpenAIUsageParser
from yourtool.providers.replies.reply import ABRUPT_STOPS, Reply

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

_EntryKey: TypeAlias = tuple[str, str, int | None]
"""The key of a reasoning entry: a name for all of them, the type, and the index."""


class ChatParser:
    """Parser of one reply of Chat Completions."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._usage = OpenAIUsageParser(reply.provider)
        self._has_field_note = False
        """Whether the name of the field with the reasoning is stored."""
        self._entry_notes: dict[_EntryKey, dict[str, Any]] = {}
        self._call_keys: dict[int | None, tuple[str, int]] = {}
        """The key of the newest call at each index."""
        self._call_count = 0

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one event of a stream; unknown fields are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        if frame.data.strip() == DONE:
            # Servers that fail before the first token may end the stream normally.
            self.reply.is_done = self.reply.stop_detail is not None or self.reply.activity > 0
            self.reply.is_cut_off = self.reply.stop_detail is None
            return self._close_calls()
        chunk = decode_frame(frame.data)
        if chunk.get("error") or frame.event == "error" or chunk.get("object") == "error":
            self.reply.error = error_mapping.error_from_response(
                self.reply.provider, 200, frame.data
            )
        return self._parse_chunk(chunk)

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        chunk = decode_frame(document)
        if chunk.get("error") or not objects(chunk.get("choices")):
            self.reply.error = error_mapping.error_from_response(self.reply.provider, 200, document)
        yield from self._parse_chunk(chunk, is_whole=True)
        yield from self._close_calls()
        self.reply.is_done = True

    @property
    def is_complete(self) -> bool:
        """Whether the reply may end here; some servers never send `[DONE]`."""
        return self.reply.is_done or self.reply.stop_detail is not None

    def _parse_chunk(
        self, chunk: dict[str, Any], *, is_whole: bool = False
    ) -> Iterable[StreamEvent]:
        self.reply.response_id = text(chunk.get("id")) or self.reply.response_id
        for name in _METADATA_FIELDS:
            if value := chunk.get(name):
                self.reply.response_metadata[name] = value
        for choice in objects(chunk.get("choices")):
            if choice.get("index"):  # other choices are alternatives
                continue
            yield from self._parse_delta(_find_delta(choice, is_whole=is_whole))
            if error := choice.get("error"):
                self.reply.error = self.reply.error or error_mapping.error_from_payload(
                    self.reply.provider, {"error": error}
                )
            if choice.get("finish_reason"):
                yield from self._set_stop_reason(choice)
            yield from self._update_usage(choice)
        yield from self._update_usage(mapping(chunk.get("x_groq")))
        yield from self._update_usage(chunk)

    def _set_stop_reason(self, choice: dict[str, Any]) -> Iterable[StreamEvent]:
        """Set the stop reason; a reply that failed before its first token becomes an error."""
        word, native = text(choice.get("finish_reason")), text(choice.get("native_finish_reason"))
        if not word:
            return ()
        self.reply.stop_detail = word = native if native in _HOST_FAILURES else word
        if self.reply.stop_reason is not StopReason.REFUSAL:
            is_rejected = word.startswith(_MALFORMED_CALL)
            usual = (
                StopReason.ERROR
                if is_rejected
                else parse_stop_reason(word, _STOP_REASONS, self.reply.provider)
            )
            self.reply.stop_reason = usual
        if (
            self.reply.stop_reason is StopReason.ERROR
            and not self.reply.activity
            and self.reply.error is None
        ):
            failure = {"type": "server_error", "message": f"the reply ended with `{word}` at once"}
            self.reply.error = error_mapping.error_from_payload(
                self.reply.provider, {"error": failure}
            )
        return self._close_calls()

    def _update_usage(self, holder: dict[str, Any]) -> Iterable[StreamEvent]:
        """Update the counters, which Moonshot sends in the choice and Groq in `x_groq`."""
        if not (counters := holder.get("usage")):
            return ()
        usage = self._usage.parse(mapping(counters))
        return () if usage is None else self.reply.update_usage(usage)

    def _close_calls(self) -> list[StreamEvent]:
        """Close the calls; a reply with calls has the stop reason `TOOL_USE`.

        Calls stay open if the reply was interrupted, because they may be incomplete.
        """
        if (
            self.reply.stop_reason in (None, StopReason.END_TURN, StopReason.OTHER)
            and self.reply.has_calls
        ):
            self.reply.stop_reason = StopReason.TOOL_USE
        if self.reply.stop_reason in ABRUPT_STOPS:
            return []
        return self.reply.close_calls(blank=not self.reply.is_cut_off)

    def _parse_delta(self, delta: dict[str, Any]) -> Iterable[StreamEvent]:
        content = delta.get("content")
        if len(delta) > 1 or content is None:
            yield from self._parse_reasoning(delta)
        if isinstance(content, str):
            yield from self.reply.add_text(content)
        elif isinstance(content, list):
            for part in objects(content):
                yield from self._parse_part(part)
        elif isinstance(content, dict):
            yield from self._parse_object(mapping(content))
        if refusal := text(delta.get("refusal")):
            self.reply.stop_reason = StopReason.REFUSAL
            yield from self.reply.add_text(refusal)
        if cited := objects(delta.get("annotations")):
            self.reply.response_metadata.setdefault("annotations", []).extend(cited)
        for call in objects(delta.get("tool_calls")):
            yield from self._parse_call(call)

    def _parse_reasoning(self, delta: dict[str, Any]) -> Iterable[StreamEvent]:
        details = objects(delta.get("reasoning_details"))
        if not any(text(entry.get("type")) in REASONING_ENTRIES for entry in details):
            name = next((name for name in REASONING_FIELDS if text(delta.get(name))), "")
            yield from self.reply.add_thinking(text(delta.get(name)))
            if name and not self._has_field_note:
                self._has_field_note = self.reply.add_note(None, {"field": name})
        for entry in details:
            kind = text(entry.get("type"))
            if kind in REASONING_ENTRIES:
                key = ("reasoning", kind, count(entry.get("index")))
                yield from self.reply.add_thinking(text(entry.get(REASONING_ENTRIES[kind])), key)
                if signature := text(entry.get("signature")):
                    yield from self.reply.add_signature(signature, key)
                self._add_entry_note(entry, key)
            elif kind == "reasoning.encrypted" and (data := text(entry.get("data"))):
                yield from self.reply.add_redacted_thinking(data)
                self._add_entry_note(entry, None)

    def _add_entry_note(self, entry: dict[str, Any], key: _EntryKey | None) -> None:
        """Store the other fields of a reasoning entry once, to replay the entry unchanged."""
        known = self._entry_notes
        rest = {
            name: value
            for name, value in entry.items()
            if name not in ("text", "summary", "signature", "data")
        }
        if key is None:
            self.reply.add_note(None, {"entry": rest})
        elif key in known:
            known[key] |= {name: value for name, value in rest.items() if value is not None}
        elif self.reply.add_note(key, {"entry": rest}):
            known[key] = rest

    def _parse_part(self, part: dict[str, Any]) -> Iterable[StreamEvent]:
        """Parse a part of a content list, as Mistral sends it."""
        match part.get("type"):
            case "text":
                yield from self.reply.add_text(text(part.get("text")))
            case "thinking":
                thoughts = part.get("thinking")
                yield from self.reply.add_thinking(text(thoughts))
                for thought in objects(thoughts):
                    yield from self.reply.add_thinking(text(thought.get("text")))
            case _:
                pass

    def _parse_object(self, content: dict[str, Any]) -> Iterable[StreamEvent]:
        """Parse a single part; Cloudflare decodes JSON replies to an object."""
        is_part = isinstance(content.get("text"), str) or "thinking" in content
        return (
            self._parse_part(content)
            if is_part
            else self.reply.add_text(arguments_to_json(content))
        )

    def _parse_call(self, call: dict[str, Any]) -> Iterable[StreamEvent]:
        function, custom = mapping(call.get("function")), mapping(call.get("custom"))
        head = function if text(function.get("name")) or not text(custom.get("name")) else custom
        wire_id, name = text(call.get("id")), text(head.get("name"))
        arguments = arguments_as_text(head.get("arguments", head.get("input")))
        if not (wire_id or name or arguments):
            return
        index = count(call.get("index"))
        known = self.reply.find_call(self._call_keys.get(index))
        if known is None or _starts_new_call(index, wire_id, name, arguments, known):
            self._call_keys[index] = ("call", self._call_count)
            self._call_count += 1
            known = None
        key = self._call_keys[index]
        yield from self.reply.start_call(key, wire_id, name)
        if extra := mapping(call.get("extra_content")):
            self.reply.add_note(key, {"extra_content": extra})
        if arguments.strip() == "null" and (known is None or not known.parts):
            return
        yield from self.reply.add_arguments(key, arguments)


def _find_delta(choice: dict[str, Any], *, is_whole: bool) -> dict[str, Any]:
    """Return the delta or the message of a choice.

    Perplexity sends both: in a stream, the message so far and the delta, and in a complete reply
    the message and an empty delta.
    """
    names = ("message", "delta") if is_whole else ("delta", "message")
    return mapping(next((part for name in names if (part := choice.get(name)) is not None), None))


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
