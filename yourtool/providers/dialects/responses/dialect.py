"""Dialect: the Responses API, https://platform.openai.com/docs/api-reference/responses.

A reply is a list of items, sent in pieces and then complete. The text that a complete item adds to
its pieces is read as one more piece, which also covers servers that send only one of the two.
Items are identified by their place in the output: at some servers the ids of one item differ
between events, and others send neither `event:` lines nor sequence numbers.

Nothing is stored at the provider. Reasoning arrives encrypted in its item and is replayed unchanged
but without its id, because an id refers to a stored item, which requires the next item with its id.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.events.deltas import StreamEvent
from yourtool.messages.blocks import canonical_json
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.dialects.chat.usage import parse_usage
from yourtool.providers.dialects.responses.request import API, build_body
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies.arguments import arguments_as_text
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.endings import parse_stop_reason
from yourtool.providers.replies.error_mapping import error_from_payload, error_from_response
from yourtool.providers.replies.reply import Reply
from yourtool.providers.wire import WireRequest

_PATH = "/responses"
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
_STARTED_ITEMS, _PLACES, _PARTS, _REASONING_PART, _REASONING_ITEMS = (
    "started_items",
    "places",
    "parts",
    "reasoning_part",
    "reasoning_items",
)
"""Keys of the state between events: the number of started items, their places by index, the numbers
of the parts of each message, the current part of each reasoning item, and the reasoning items to
replay."""


class OpenAIResponses:
    """The dialect of the Responses API."""

    api = API

    def __init__(self, *, supports_long_cache: bool = False) -> None:
        """`supports_long_cache`: the host supports the longer cache retention."""
        self._supports_long_cache = supports_long_cache

    def to_wire(self, request: Request) -> WireRequest:
        """Build the request body; equal requests have equal bytes."""
        return WireRequest(
            path=_PATH,
            body=canonical_json(build_body(request, supports_long_cache=self._supports_long_cache)),
        )

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Translate one event of a stream; unknown events are skipped.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        kind = text(chunk.get("type")) or frame.event
        if kind == "error" or (not kind and chunk.get("error")):
            reply.error = reply.error or error_from_response(reply.provider, 200, frame.data)
            return ()
        if "response" in chunk:
            return _translate_response(
                mapping(chunk["response"]), reply, ends=kind in _FINAL_EVENTS
            )
        item = mapping(chunk.get("item"))
        if kind == "response.output_item.added":
            return _start_item(_find_place(chunk, reply, is_new=True), item, reply)
        if kind == "response.output_item.done":
            return _translate_item(_find_place(chunk, reply), item, reply)
        return _translate_piece(kind, _find_place(chunk, reply), chunk, reply)

    def translate_document(self, document: bytes, reply: Reply) -> Iterable[StreamEvent]:
        """Translate a reply that arrived as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        response = decode_frame(document)
        if not isinstance(response.get("output"), list):
            reply.error = error_from_response(reply.provider, 200, document)
            return ()
        return _translate_response(response, reply, ends=True)

    def is_complete(self, reply: Reply) -> bool:
        """Whether the final event of the response has arrived."""
        return reply.is_done


def _translate_response(
    response: dict[str, Any], reply: Reply, *, ends: bool
) -> Iterable[StreamEvent]:
    """Translate a response object: its status, its counters, and its items."""
    reply.response_id = text(response.get("id")) or reply.response_id
    status = text(response.get("status")) or "completed"
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    reply.stop_detail = f"{status}:{reason}" if reason else status
    if not ends:
        return
    if status == "failed" or response.get("error"):
        report = {"error": response.get("error") or response}
        reply.error = reply.error or error_from_payload(reply.provider, report)
    output, started = objects(response.get("output")), reply.scratch.get(_STARTED_ITEMS, 0)
    if started in (0, len(output)):
        for place, item in enumerate(output):
            yield from _translate_item(place, item, reply, is_again=started > 0)
    yield from reply.close_calls()
    for place, item in reply.scratch.get(_REASONING_ITEMS, {}).items():
        reply.add_note(place, {"item": item})
    yield from _update_usage(mapping(response.get("usage")), reply)
    if reply.error is None and reply.stop_reason is not StopReason.REFUSAL:
        reply.stop_reason = parse_stop_reason(reply.stop_detail, _STOP_REASONS, reply.provider)
        if reply.stop_reason is StopReason.END_TURN and reply.has_calls:
            reply.stop_reason = StopReason.TOOL_USE
    reply.is_done = reply.error is None


def _find_place(chunk: dict[str, Any], reply: Reply, *, is_new: bool = False) -> int:
    """Return the item's place in the output.

    Items are numbered in order if the server sends no index, or the same index for several.
    """
    started: int = reply.scratch.get(_STARTED_ITEMS, 0)
    places: dict[int | None, int] = reply.scratch.setdefault(_PLACES, {})
    named = count(chunk.get("output_index"))
    if is_new:
        reply.scratch[_STARTED_ITEMS] = started + 1
        places[named] = place = max(started, named or 0)
        return place
    return max(0, started - 1) if named is None else places.get(named, named)


def _start_item(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    if text(item.get("type")) in _ARGUMENT_FIELDS:
        return reply.start_call(place, text(item.get("call_id")), text(item.get("name")))
    return ()


def _translate_piece(
    kind: str, place: int, chunk: dict[str, Any], reply: Reply
) -> Iterable[StreamEvent]:
    """Read a piece of an item; parts that are whole come again with the item."""
    name, _, step = kind.removeprefix("response.").rpartition(".")
    if step != "delta":
        return ()
    piece, part = text(chunk.get("delta")), count(chunk.get("content_index")) or 0
    match name:
        case "output_text" | "refusal":
            if name == "refusal":
                reply.stop_reason = StopReason.REFUSAL
            if not reply.has_block((place, part)):
                reply.scratch.setdefault(_PARTS, {}).setdefault(place, []).append(part)
            return reply.add_text(piece, (place, part))
        case "reasoning_summary_text" | "reasoning_text":
            part = count(chunk.get("summary_index")) or part
            return _add_reasoning(place, (name, part), piece, reply)
        case "function_call_arguments" | "custom_tool_call_input":
            return reply.add_arguments(place, arguments_as_text(chunk.get("delta")))
        case _:
            reply.activity += 1  # output of a server tool
            return ()


def _add_reasoning(place: int, part: Any, piece: str, reply: Reply) -> Iterable[StreamEvent]:
    """Add reasoning; a blank line separates the parts of one item."""
    parts: dict[int, Any] = reply.scratch.setdefault(_REASONING_PART, {})
    if not piece:
        return ()
    is_next = parts.setdefault(place, part) != part
    parts[place] = part
    return reply.add_thinking(f"{_PART_SEPARATOR}{piece}" if is_next else piece, place)


def _translate_item(
    place: int, item: dict[str, Any], reply: Reply, *, is_again: bool = False
) -> Iterable[StreamEvent]:
    """Translate a complete item."""
    match item.get("type"):
        case "message":
            parts = objects(item.get("content"))
            for number, part in zip(_part_numbers(place, len(parts), reply), parts, strict=True):
                yield from _translate_text((place, number), part, reply)
                if not is_again:
                    _add_notes((place, number), item, part, reply)
        case "reasoning":
            yield from _translate_reasoning(place, item, reply)
        case "function_call" | "custom_tool_call" as kind:
            yield from _start_item(place, item, reply)
            yield from reply.complete_block(
                place, arguments_as_text(item.get(_ARGUMENT_FIELDS[kind]))
            )
            yield from reply.close_call(place)
        case str() if not is_again:
            reply.add_server_block(None, item)
        case _:
            pass


def _part_numbers(place: int, size: int, reply: Reply) -> list[int]:
    """Return the numbers of an item's parts in the stream.

    Bedrock uses the number 1 for the only part of a message.
    """
    known: list[int] = reply.scratch.get(_PARTS, {}).get(place, [])
    highest = max(known, default=-1)
    if highest < size:
        return list(range(size))
    return [*known[:size], *range(highest + 1, highest + 1 + size - len(known))]


def _add_notes(
    key: tuple[int, int], item: dict[str, Any], part: dict[str, Any], reply: Reply
) -> None:
    """Store the phase of a text, which is replayed, and its citations."""
    if phase := text(item.get("phase")):
        reply.add_note(key, {"phase": phase})
    if cited := objects(part.get("annotations")):
        reply.add_note(key, {"annotations": cited})


def _translate_text(
    key: tuple[int, int], part: dict[str, Any], reply: Reply
) -> Iterable[StreamEvent]:
    is_refusal = part.get("type") == "refusal"
    words = text(part.get("refusal" if is_refusal else "text"))
    if is_refusal:
        reply.stop_reason = StopReason.REFUSAL
    return reply.complete_block(key, words) if reply.has_block(key) else reply.add_text(words, key)


def _translate_reasoning(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    parts = [*objects(item.get("summary")), *objects(item.get("content"))]
    words = _PART_SEPARATOR.join(filter(None, (text(part.get("text")) for part in parts)))
    yield from (
        reply.complete_block(place, words)
        if reply.has_block(place)
        else reply.add_thinking(words, place)
    )
    if encrypted := text(item.get("encrypted_content")):
        yield from reply.add_signature(encrypted, place)
    elif not reply.has_block(place):
        yield from reply.add_hidden_thinking(place)
    if encrypted or item.get("content"):
        stored = {name: value for name, value in item.items() if name not in _STORAGE_FIELDS}
        reply.scratch.setdefault(_REASONING_ITEMS, {})[place] = stored


def _update_usage(counters: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Update the counters, which have the meaning of those of Chat Completions."""
    renamed = {
        "prompt_tokens": counters.get("input_tokens"),
        "prompt_tokens_details": counters.get("input_tokens_details"),
        "completion_tokens": counters.get("output_tokens"),
        "completion_tokens_details": counters.get("output_tokens_details"),
        "total_tokens": counters.get("total_tokens"),
    }
    usage = parse_usage(renamed, reply)
    return () if usage is None else reply.update_usage(usage)
