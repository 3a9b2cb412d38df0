"""Parse replies of the Responses API.

A reply is a list of items, sent in pieces and then complete. The text that a complete item adds to
its pieces is read as one more piece, which also covers servers that send only one of the two.
Items are identified by their place in the output: at some servers the ids of one item differ
between events, and others send neither `event:` lines nor sequence numbers.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.events.deltas import StreamEvent
from yourtool.messages.metadata import StopReason
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.arguments import arguments_as_text
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.openai_usage import OpenAIUsageParser
from yourtool.providers.replies.reply import Reply

_STOP_REASONS = {
    "completed": StopReason.END_TURN,
    "incomplete": StopReason.MAX_TOKENS,
    "incomplete:max_output_tokens": StopReason.MAX_TOKENS,
    "incomplete:content_filter": StopReason.CONTENT_FILTER,
}
_FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")
_ARGUMENT_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}
_STORAGE_FIELDS = ("id", "status")
"""Fields of a reasoning item that refer to its stored copy."""
_PART_SEPARATOR = "\n\n"


class ResponsesParser:
    """Parser of one reply of the Responses API."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._usage = OpenAIUsageParser(reply.provider)
        self._started_count = 0
        """Number of items that started."""
        self._places: dict[int | None, int] = {}
        """The place of each item by the index that the server sends."""
        self._text_parts: dict[int, list[int]] = {}
        """The numbers of the parts of each message."""
        self._reasoning_parts: dict[int, tuple[str, int]] = {}
        """The current part of each reasoning item."""
        self._reasoning_items: dict[int, dict[str, Any]] = {}
        """The reasoning items to replay."""

    def parse(self, frame: SseEvent) -> Iterable[StreamEvent]:
        """Parse one event of a stream; unknown events are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        kind = text(chunk.get("type")) or frame.event
        if kind == "error" or (not kind and chunk.get("error")):
            self.reply.error = self.reply.error or error_mapping.error_from_response(
                self.reply.provider, 200, frame.data
            )
            return ()
        if "response" in chunk:
            return self._parse_response(mapping(chunk["response"]), ends=kind in _FINAL_EVENTS)
        item = mapping(chunk.get("item"))
        if kind == "response.output_item.added":
            return self._start_item(self._find_place(chunk, is_new=True), item)
        if kind == "response.output_item.done":
            return self._parse_item(self._find_place(chunk), item)
        return self._parse_piece(kind, self._find_place(chunk), chunk)

    def parse_document(self, document: bytes) -> Iterable[StreamEvent]:
        """Parse a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        response = decode_frame(document)
        if not isinstance(response.get("output"), list):
            self.reply.error = error_mapping.error_from_response(self.reply.provider, 200, document)
            return ()
        return self._parse_response(response, ends=True)

    @property
    def is_complete(self) -> bool:
        """Whether the final event of the response has arrived."""
        return self.reply.is_done

    def _parse_response(self, response: dict[str, Any], *, ends: bool) -> Iterable[StreamEvent]:
        """Parse a response object: its status, its counters, and its items."""
        self.reply.response_id = text(response.get("id")) or self.reply.response_id
        status = text(response.get("status")) or "completed"
        reason = text(mapping(response.get("incomplete_details")).get("reason"))
        self.reply.stop_detail = f"{status}:{reason}" if reason else status
        if not ends:
            return
        if status == "failed" or response.get("error"):
            report = {"error": response.get("error") or response}
            self.reply.error = self.reply.error or error_mapping.error_from_payload(
                self.reply.provider, report
            )
        output, started = objects(response.get("output")), self._started_count
        if started in (0, len(output)):
            for place, item in enumerate(output):
                yield from self._parse_item(place, item, is_again=started > 0)
        yield from self.reply.close_calls()
        for place, item in self._reasoning_items.items():
            self.reply.add_note(place, {"item": item})
        yield from self._update_usage(mapping(response.get("usage")))
        if self.reply.error is None and self.reply.stop_reason is not StopReason.REFUSAL:
            self.reply.stop_reason = parse_stop_reason(
                self.reply.stop_detail, _STOP_REASONS, self.reply.provider
            )
            if self.reply.stop_reason is StopReason.END_TURN and self.reply.has_calls:
                self.reply.stop_reason = StopReason.TOOL_USE
        self.reply.is_done = self.reply.error is None

    def _find_place(self, chunk: dict[str, Any], *, is_new: bool = False) -> int:
        """Return the item's place in the output.

        Items are numbered in order if the server sends no index, or the same index for several.
        """
        started = self._started_count
        named = count(chunk.get("output_index"))
        if is_new:
            self._started_count += 1
            self._places[named] = place = max(started, named or 0)
            return place
        return max(0, started - 1) if named is None else self._places.get(named, named)

    def _start_item(self, place: int, item: dict[str, Any]) -> Iterable[StreamEvent]:
        if text(item.get("type")) in _ARGUMENT_FIELDS:
            return self.reply.start_call(place, text(item.get("call_id")), text(item.get("name")))
        return ()

    def _parse_piece(self, kind: str, place: int, chunk: dict[str, Any]) -> Iterable[StreamEvent]:
        """Read a piece of an item; parts that are whole come again with the item."""
        name, _, step = kind.removeprefix("response.").rpartition(".")
        if step != "delta":
            return ()
        piece, part = text(chunk.get("delta")), count(chunk.get("content_index")) or 0
        match name:
            case "output_text" | "refusal":
                if name == "refusal":
                    self.reply.stop_reason = StopReason.REFUSAL
                if not self.reply.has_block((place, part)):
                    self._text_parts.setdefault(place, []).append(part)
                return self.reply.add_text(piece, (place, part))
            case "reasoning_summary_text" | "reasoning_text":
                part = count(chunk.get("summary_index")) or part
                return self._add_reasoning(place, (name, part), piece)
            case "function_call_arguments" | "custom_tool_call_input":
                return self.reply.add_arguments(place, arguments_as_text(chunk.get("delta")))
            case _:
                self.reply.activity += 1  # output of a server tool
                return ()

    def _add_reasoning(
        self, place: int, part: tuple[str, int], piece: str
    ) -> Iterable[StreamEvent]:
        """Add reasoning; a blank line separates the parts of one item."""
        if not piece:
            return ()
        is_next = self._reasoning_parts.get(place, part) != part
        self._reasoning_parts[place] = part
        return self.reply.add_thinking(f"{_PART_SEPARATOR}{piece}" if is_next else piece, place)

    def _parse_item(
        self, place: int, item: dict[str, Any], *, is_again: bool = False
    ) -> Iterable[StreamEvent]:
        """Parse a complete item."""
        match item.get("type"):
            case "message":
                parts = objects(item.get("content"))
                for number, part in zip(self._part_numbers(place, len(parts)), parts, strict=True):
                    yield from self._parse_text((place, number), part)
                    if not is_again:
                        self._add_notes((place, number), item, part)
            case "reasoning":
                yield from self._parse_reasoning(place, item)
            case "function_call" | "custom_tool_call" as kind:
                yield from self._start_item(place, item)
                yield from self.reply.complete_block(
                    place, arguments_as_text(item.get(_ARGUMENT_FIELDS[kind]))
                )
                yield from self.reply.close_call(place)
            case str() if not is_again:
                self.reply.add_server_block(None, item)
            case _:
                pass

    def _part_numbers(self, place: int, size: int) -> list[int]:
        """Return the numbers of an item's parts in the stream.

        Bedrock uses the number 1 for the only part of a message.
        """
        known = self._text_parts.get(place, [])
        highest = max(known, default=-1)
        if highest < size:
            return list(range(size))
        return [*known[:size], *range(highest + 1, highest + 1 + size - len(known))]

    def _add_notes(self, key: tuple[int, int], item: dict[str, Any], part: dict[str, Any]) -> None:
        """Store the phase of a text, which is replayed, and its citations."""
        if phase := text(item.get("phase")):
            self.reply.add_note(key, {"phase": phase})
        if cited := objects(part.get("annotations")):
            self.reply.add_note(key, {"annotations": cited})

    def _parse_text(self, key: tuple[int, int], part: dict[str, Any]) -> Iterable[StreamEvent]:
        is_refusal = part.get("type") == "refusal"
        words = text(part.get("refusal" if is_refusal else "text"))
        if is_refusal:
            self.reply.stop_reason = StopReason.REFUSAL
        return (
            self.reply.complete_block(key, words)
            if self.reply.has_block(key)
            else self.reply.add_text(words, key)
        )

    def _parse_reasoning(self, place: int, item: dict[str, Any]) -> Iterable[StreamEvent]:
        parts = [*objects(item.get("summary")), *objects(item.get("content"))]
        words = _PART_SEPARATOR.join(filter(None, (text(part.get("text")) for part in parts)))
        yield from (
            self.reply.complete_block(place, words)
            if self.reply.has_block(place)
            else self.reply.add_thinking(words, place)
        )
        if encrypted := text(item.get("encrypted_content")):
            yield from self.reply.add_signature(encrypted, place)
        elif not self.reply.has_block(place):
            yield from self.reply.add_hidden_thinking(place)
        if encrypted or item.get("content"):
            self._reasoning_items[place] = {
                name: value for name, value in item.items() if name not in _STORAGE_FIELDS
            }

    def _update_usage(self, counters: dict[str, Any]) -> Iterable[StreamEvent]:
        """Update the counters; they mean the same as in Chat Completions."""
        renamed = {
            "prompt_tokens": counters.get("input_tokens"),
            "prompt_tokens_details": counters.get("input_tokens_details"),
            "completion_tokens": counters.get("output_tokens"),
            "completion_tokens_details": counters.get("output_tokens_details"),
            "total_tokens": counters.get("total_tokens"),
        }
        usage = self._usage.parse(renamed)
        return () if usage is None else self.reply.update_usage(usage)
