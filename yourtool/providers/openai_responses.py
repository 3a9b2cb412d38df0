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
from yourtool.providers.chat_usage import usage_of
from yourtool.providers.refusal import refusal
from yourtool.providers.reply import Reply
from yourtool.providers.responses_request import body
from yourtool.providers.shapes import count, decode_frame, mapping, objects, text
from yourtool.providers.sse import SseEvent
from yourtool.providers.stops import stop_reason
from yourtool.providers.wire import WireRequest

_PATH = "/responses"
_DONE = b"[DONE]"
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


class OpenAIResponses:
    """Speaks the Responses API."""

    def to_wire(self, request: Request) -> WireRequest:
        """Write the request; equal requests have equal bytes."""
        return WireRequest(path=_PATH, headers={}, body=canonical_json(body(request)))

    def translate(self, frame: SseEvent, reply: Reply) -> Iterable[StreamEvent]:
        """Read one event of a stream; unknown ones are skipped, new ones come without notice.

        Raises:
            NetworkError: the event is not JSON.
        """
        if reply.done or frame.data.strip() == _DONE:
            return ()
        chunk = decode_frame(frame.data)
        kind = text(chunk.get("type")) or frame.event
        if kind == "error" or (not kind and chunk.get("error")):
            reply.error = reply.error or refusal(reply.provider, 200, frame.data)
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
            reply.error = refusal(reply.provider, 200, document)
            return ()
        return _response(response, reply, ends=True)

    def may_end(self, reply: Reply) -> bool:
        """A stream is whole with the event that ends the response only."""
        return reply.done


def _response(response: dict[str, Any], reply: Reply, *, ends: bool) -> Iterable[StreamEvent]:
    """Read the response as a whole: its status, its counters, and items not told before."""
    status = text(response.get("status")) or "completed"
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    reply.stop_detail = f"{status}:{reason}" if reason else status
    if not ends:
        return
    if status == "failed" or response.get("error"):
        report = canonical_json({"error": response.get("error") or response})
        reply.error = reply.error or refusal(reply.provider, 200, report)
    if "items" not in reply.scratch:
        for place, item in enumerate(objects(response.get("output"))):
            yield from _item(place, item, reply)
    yield from reply.close_calls()
    yield from _count(mapping(response.get("usage")), reply)
    if reply.error is None and reply.stop_reason is not StopReason.REFUSAL:
        reply.stop_reason = stop_reason(reply.stop_detail, _STOPS, reply.provider)
        if reply.stop_reason is StopReason.END_TURN and reply.has_calls:
            reply.stop_reason = StopReason.TOOL_USE
    reply.done = reply.error is None


def _place(chunk: dict[str, Any], reply: Reply, *, begins: bool = False) -> int:
    """Return the item's place in the output; where the server does not say, they come in order."""
    items: int = reply.scratch.get("items", 0)
    place = count(chunk.get("output_index"))
    if begins:
        reply.scratch["items"] = items + 1
        return items if place is None else place
    return max(0, items - 1) if place is None else place


def _begun(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    if item.get("type") in _CALLS:
        return reply.call(place, text(item.get("call_id")), text(item.get("name")))
    return ()


def _piece(kind: str, place: int, chunk: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Read a piece of an item, or a part of it that is whole."""
    name, _, step = kind.removeprefix("response.").rpartition(".")
    part = count(chunk.get("content_index")) or 0
    is_piece = step == "delta"
    match name:
        case "output_text" | "refusal":
            said = chunk.get("delta" if is_piece else "text" if name == "output_text" else name)
            return _say(
                place, part, text(said), reply, is_piece=is_piece, refuses=name != "output_text"
            )
        case "reasoning_summary_text" | "reasoning_text":
            part = count(chunk.get("summary_index")) or part
            words = text(chunk.get("delta" if is_piece else "text"))
            return _think(place, (name, part), words, reply, is_piece=is_piece)
        case "function_call_arguments" | "custom_tool_call_input":
            field = "arguments" if name == "function_call_arguments" else "input"
            fragment = text(chunk.get("delta" if is_piece else field))
            return reply.arguments(place, _news((place, ""), fragment, reply, is_piece=is_piece))
        case _:
            reply.activity += is_piece  # of a tool that runs at the provider
            return ()


def _item(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    """Read an item that is whole."""
    match item.get("type"):
        case "message":
            for number, part in enumerate(objects(item.get("content"))):
                refuses = part.get("type") == "refusal"
                said = text(part.get("refusal" if refuses else "text"))
                yield from _say(place, number, said, reply, refuses=refuses)
                if phase := text(item.get("phase")):
                    reply.remark((place, number), {"phase": phase})
        case "reasoning":
            yield from _reasoning(place, item, reply)
        case "function_call" | "custom_tool_call" as kind:
            yield from _begun(place, item, reply)
            written = text(item.get(_CALLS[kind]))
            yield from reply.arguments(place, _news((place, ""), written, reply))
            yield from reply.close(place)
        case str():
            reply.server(None, item)
        case _:
            pass


def _reasoning(place: int, item: dict[str, Any], reply: Reply) -> Iterable[StreamEvent]:
    for name, field in (("reasoning_summary_text", "summary"), ("reasoning_text", "content")):
        for number, part in enumerate(objects(item.get(field))):
            yield from _think(place, (name, number), text(part.get("text")), reply)
    if sealed := text(item.get("encrypted_content")):
        yield from reply.signature(sealed, place)
    if sealed or item.get("content"):
        kept = {name: value for name, value in item.items() if name not in _UNSENT}
        reply.remark(place, {"item": kept})


def _say(
    place: int, part: int, words: str, reply: Reply, *, is_piece: bool = False, refuses: bool
) -> Iterable[StreamEvent]:
    if refuses:
        reply.stop_reason = StopReason.REFUSAL
    key = (place, part)
    return reply.text(_news(key, words, reply, is_piece=is_piece), key)


def _think(
    place: int, part: tuple[str, int], words: str, reply: Reply, *, is_piece: bool = False
) -> Iterable[StreamEvent]:
    """Take reasoning; the parts of one item are set apart by a blank line."""
    if not (new := _news((place, part), words, reply, is_piece=is_piece)):
        return ()
    before = reply.scratch.setdefault(("part", place), part)
    reply.scratch["part", place] = part
    return reply.thinking(new if before == part else f"\n\n{new}", place)


def _news(key: Any, words: str, reply: Reply, *, is_piece: bool = False) -> str:
    """Return what was not told yet: a piece is new, of a whole it is what follows the pieces."""
    told: int = reply.scratch.get(key, 0)
    new = words if is_piece else words[told:]
    reply.scratch[key] = told + len(new)
    return new


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
