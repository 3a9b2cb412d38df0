"""Dialect: the Responses API, https://platform.openai.com/docs/api-reference/responses.

A reply is a list of items, told piece by piece and then whole; what a whole item adds to its pieces
is read as one more piece, so servers that send only one of the two are understood alike. Items are
known by their place in the output: ids differ between the events of one item at some servers, and
others send neither `event:` lines nor sequence numbers.

Nothing is stored at the provider. Reasoning comes encrypted with the item and goes back as it came,
without its id: an id names a stored item, and a stored item wants its follower under its own id.
"""

from collections.abc import Iterable
from typing import Any

from yourtool.deltas import StreamEvent
from yourtool.messages import StopReason, canonical_json
from yourtool.providers.base import Request
from yourtool.providers.dialects.chat_usage import usage_of
from yourtool.providers.dialects.responses_request import API, body
from yourtool.providers.json_access import count, decode_frame, mapping, objects, text
from yourtool.providers.replies.arguments import told
from yourtool.providers.replies.error_mapping import error_from_response, reported
from yourtool.providers.replies.reply import Reply
from yourtool.providers.replies.sse import SseEvent
from yourtool.providers.replies.stop_reasons import stop_reason
from yourtool.providers.wire import WireRequest

_PATH = "/responses"
_STOPS = {
    "completed": StopReason.END_TURN,
    "incomplete": StopReason.MAX_TOKENS,
    "incomplete:max_output_tokens": StopReason.MAX_TOKENS,
    "incomplete:content_filter": StopReason.CONTENT_FILTER,
}
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_UNSENT = ("id", "status")
"""Fields of a reasoning item that would name it as stored."""
_BETWEEN = "\n\n"
_TOLD, _PLACES, _PARTS, _PART, _SEALED = "told", "places", "parts", "part", "sealed"
"""Kept between events: how many items began, the places of those that are told about, the numbers
of the parts of each message, the part that is being thought, and the reasoning items as they go
back."""


class OpenAIResponses:
    """Speaks the Responses API."""

    api = API

    def __init__(self, *, keeps_long: bool = False) -> None:
        """`keeps_long`: the host takes the longer retention of caches."""
        self._keeps_long = keeps_long

    def to_wire(self, request: Request) -> WireRequest:
        """Write the request; equal requests have equal bytes."""
        return WireRequest(
            path=_PATH, body=canonical_json(body(request, keeps_long=self._keeps_long))
        )

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Read one event of a stream; unknown ones are skipped, new ones come without notice.

        Raises:
            NetworkError: the event is not JSON.
        """
        chunk = decode_frame(frame.data)
        kind = text(chunk.get("type")) or frame.event
        if kind == "error" or (not kind and chunk.get("error")):
            reply.error = reply.error or error_from_response(reply.provider, 200, frame.data)
            return ()
        if "response" in chunk:
            return _response(mapping(chunk["response"]), reply, ends=kind in _ENDS)
        item = mapping(chunk.get("item"))
        if kind == "response.output_item.added":
            return _begun(_place(chunk, reply, begins=True), item, reply)
        if kind == "response.output_item.done":
            return _item(_place(chunk, reply), item, reply)
        return _piece(kind, _place(chunk, reply), chunk, reply)

    def whole(self, document: bytes, reply: Reply) -> Iterable[StreamEvent]:
        """Read a reply that came as one JSON document.

        Raises:
            NetworkError: it is not JSON.
        """
        response = decode_frame(document)
        if not isinstance(response.get("output"), list):
            reply.error = error_from_response(reply.provider, 200, document)
            return ()
        return _response(response, reply, ends=True)

    def may_end(self, reply: Reply) -> bool:
        """A stream is whole with the event that ends the response only."""
        return reply.done


def _response(response: dict[str, Any], reply: Reply, *, ends: bool) -> Iterable[StreamEvent]:
    """Read the response as a whole: its status, its counters, and its items once more."""
    reply.response_id = text(response.get("id")) or reply.response_id
    status = text(response.get("status")) or "completed"
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    reply.stop_detail = f"{status}:{reason}" if reason else status
    if not ends:
        return
    if status == "failed" or response.get("error"):
        report = {"error": response.get("error") or response}
        reply.error = reply.error or reported(reply.provider, report)
    output, told = objects(response.get("output")), reply.scratch.get(_TOLD, 0)
    if told in (0, len(output)):
        for place, item in enumerate(output):
            yield from _item(place, item, reply, is_again=told > 0)
    yield from reply.close_calls()
    for place, item in reply.scratch.get(_SEALED, {}).items():
        reply.remark(place, {"item": item})
    yield from _count(mapping(response.get("usage")), reply)
    if reply.error is None and reply.stop_reason is not StopReason.REFUSAL:
        reply.stop_reason = stop_reason(reply.stop_detail, _STOPS, reply.provider)
        if reply.stop_reason is StopReason.END_TURN and reply.has_calls:
            reply.stop_reason = StopReason.TOOL_USE
    reply.done = reply.error is None


def _place(chunk: dict[str, Any], reply: Reply, *, begins: bool = False) -> int:
    """Return the item's place in the output.

    Items come in order where the server does not say, or says the same of several.
    """
    told: int = reply.scratch.get(_TOLD, 0)
    places: dict[int | None, int] = reply.scratch.setdefault(_PLACES, {})
    named = count(chunk.get("output_index"))
    if begins:
        reply.scratch[_TOLD] = told + 1
        places[named] = place = max(told, named or 0)
        return place
    return max(0, told - 1) if named is None else places.get(named, named)


def _begun(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    if text(item.get("type")) in _CALLS:
        return reply.call(place, text(item.get("call_id")), text(item.get("name")))
    return ()


def _piece(kind: str, place: int, chunk: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Read a piece of an item; parts that are whole come again with the item."""
    name, _, step = kind.removeprefix("response.").rpartition(".")
    if step != "delta":
        return ()
    piece, part = text(chunk.get("delta")), count(chunk.get("content_index")) or 0
    match name:
        case "output_text" | "refusal":
            if name == "refusal":
                reply.stop_reason = StopReason.REFUSAL
            if not reply.has((place, part)):
                reply.scratch.setdefault(_PARTS, {}).setdefault(place, []).append(part)
            return reply.text(piece, (place, part))
        case "reasoning_summary_text" | "reasoning_text":
            part = count(chunk.get("summary_index")) or part
            return _think(place, (name, part), piece, reply)
        case "function_call_arguments" | "custom_tool_call_input":
            return reply.arguments(place, told(chunk.get("delta")))
        case _:
            reply.activity += 1  # of a tool that runs at the provider
            return ()


def _think(place: int, part: Any, piece: str, reply: Reply) -> Iterable[StreamEvent]:
    """Take reasoning; the parts of one item are set apart by a blank line."""
    parts: dict[int, Any] = reply.scratch.setdefault(_PART, {})
    if not piece:
        return ()
    is_next = parts.setdefault(place, part) != part
    parts[place] = part
    return reply.thinking(f"{_BETWEEN}{piece}" if is_next else piece, place)


def _item(
    place: int, item: dict[str, Any], reply: Reply, *, is_again: bool = False
) -> Iterable[StreamEvent]:
    """Read an item that is whole."""
    match item.get("type"):
        case "message":
            parts = objects(item.get("content"))
            for number, part in zip(_numbers(place, len(parts), reply), parts, strict=True):
                yield from _said((place, number), part, reply)
                if not is_again:
                    _remark((place, number), item, part, reply)
        case "reasoning":
            yield from _thought(place, item, reply)
        case "function_call" | "custom_tool_call" as kind:
            yield from _begun(place, item, reply)
            yield from reply.whole(place, told(item.get(_CALLS[kind])))
            yield from reply.close(place)
        case str() if not is_again:
            reply.server(None, item)
        case _:
            pass


def _numbers(place: int, size: int, reply: Reply) -> list[int]:
    """Return the numbers under which the pieces of an item's parts came.

    Bedrock numbers the only part of a message 1.
    """
    told: list[int] = reply.scratch.get(_PARTS, {}).get(place, [])
    highest = max(told, default=-1)
    if highest < size:
        return list(range(size))
    return [*told[:size], *range(highest + 1, highest + 1 + size - len(told))]


def _remark(key: tuple[int, int], item: dict[str, Any], part: dict[str, Any], reply: Reply) -> None:
    """Keep what stands beside words: their phase, which goes back, and what they cite."""
    if phase := text(item.get("phase")):
        reply.remark(key, {"phase": phase})
    if cited := objects(part.get("annotations")):
        reply.remark(key, {"annotations": cited})


def _said(key: tuple[int, int], part: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    refuses = part.get("type") == "refusal"
    words = text(part.get("refusal" if refuses else "text"))
    if refuses:
        reply.stop_reason = StopReason.REFUSAL
    return reply.whole(key, words) if reply.has(key) else reply.text(words, key)


def _thought(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    parts = [*objects(item.get("summary")), *objects(item.get("content"))]
    words = _BETWEEN.join(filter(None, (text(part.get("text")) for part in parts)))
    yield from reply.whole(place, words) if reply.has(place) else reply.thinking(words, place)
    if sealed := text(item.get("encrypted_content")):
        yield from reply.signature(sealed, place)
    elif not reply.has(place):
        yield from reply.silent(place)
    if sealed or item.get("content"):
        kept = {name: value for name, value in item.items() if name not in _UNSENT}
        reply.scratch.setdefault(_SEALED, {})[place] = kept


def _count(counters: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Take the counters, which mean what those of Chat Completions do under other names."""
    renamed = {
        "prompt_tokens": counters.get("input_tokens"),
        "prompt_tokens_details": counters.get("input_tokens_details"),
        "completion_tokens": counters.get("output_tokens"),
        "completion_tokens_details": counters.get("output_tokens_details"),
        "total_tokens": counters.get("total_tokens"),
    }
    usage = usage_of(renamed, reply)
    return () if usage is None else reply.usage(usage)
