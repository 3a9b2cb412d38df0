"""OpenAI's Responses API and servers with the same format.

https://platform.openai.com/docs/api-reference/responses
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.cassettes import openai_chat, scenarios
from tests.cassettes.script import (
    PROMPT,
    RESULTS,
    TOOLS,
    Call,
    Failure,
    Item,
    Reading,
    Refusal,
    Reply,
    Text,
    Thinking,
    Usage,
    build_opaque_text,
    in_pieces,
    split_in_half,
)

STATUSES = {
    "max_tokens": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
}


class OpenAIResponses:
    provider, api, prefix = "openai", "responses", "openai-responses"
    model = "gpt-5.6-2026-06-01"
    stream_type = "text/event-stream; charset=utf-8"
    harbour = "Esbjerg"
    thinking = (scenarios.thought(build_opaque_text("responses reasoning")),)
    closing = (Thinking("", build_opaque_text("responses closing")),)

    def replies(self) -> Iterator[Reply]:
        yield from scenarios.usual(self.harbour, openai_chat.CALLS, self.thinking, self.closing)
        yield from scenarios.cut_calls(openai_chat.CALLS[0])
        yield scenarios.refusal()
        usage = Usage(fresh=6, output=90, cached=1024, created=256, reasoning=64)
        yield Reply("cache", (Text(scenarios.ANSWER),), usage=usage)
        yield Reply("content-filter", (Text("The ferry"),), "content_filter")
        longer = Text(scenarios.ANSWER, streamed="The ferry leaves at 15:30.")
        yield Reply("contradiction", (longer,))
        failure = Failure("server_error", 200, None, "The model failed.", "server_error")
        yield scenarios.stream_error(failure)

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield from openai_chat.OpenAIChat().failures()

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        items: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        if reply.answers is not None:
            items += [self._item(reply.answers, n) for n in range(len(reply.answers.items))]
            items += [
                {"type": "function_call_output", "call_id": call.id, "output": result}
                for call, result in zip(reply.answers.calls, RESULTS, strict=False)
            ]
        return "/v1/responses", {
            "model": self.model,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "tools": [
                {
                    "type": "function",
                    "name": name,
                    "description": description,
                    "parameters": schema,
                    "strict": False,
                }
                for name, description, schema in TOOLS
            ],
            "input": items,
            **({"stream": True} if reply.is_stream else {}),
        }

    def document(self, reply: Reply) -> str:
        return json.dumps(self._response(reply, *self._ending(reply)))

    def stream(self, reply: Reply) -> str:
        numbered = zip(self._events(reply), itertools.count(), strict=False)
        return "".join(
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
            for event, number in numbered
        )

    def error_body(self, failure: Failure) -> str:
        return openai_chat.OpenAIChat().error_body(failure)

    def reading(self, reply: Reply) -> Reading:
        is_whole = not reply.is_cut and reply.failure is None
        usage = reply.usage if is_whole else None
        status, detail = STATUSES.get(reply.stop, ("completed", None))
        if reply.failure is not None:
            status = "failed"
        elif reply.is_cut:
            status = "in_progress"
        places = {id(item): place for place, item in enumerate(reply.items)}
        calls = (call for call in reply.calls if not call.is_open)
        return Reading(
            f"resp_{reply.id}",
            f"{status}:{detail}" if detail else status,
            _usage(usage),
            usage,
            call_fields=tuple({"item_id": f"fc_{call.id}"} for call in calls)
            or ({},) * len(reply.calls),
            thinking_fields=tuple(
                {"id": self._item(reply, places[id(item)])["id"]}
                for item in reply.items
                if isinstance(item, Thinking)
            ),
        )

    def _ending(self, reply: Reply) -> tuple[str, str | None]:
        return STATUSES.get(reply.stop, ("completed", None))

    def _response(self, reply: Reply, status: str, detail: str | None = None) -> dict[str, Any]:
        is_over = status in ("completed", "incomplete")
        output = [self._item(reply, n) for n in range(len(reply.items))] if is_over else []
        error = None
        if status == "failed" and reply.failure is not None:
            error = {"code": reply.failure.code, "message": reply.failure.message}
        return {
            "id": f"resp_{reply.id}",
            "object": "response",
            "created_at": 1790000000,
            "status": status,
            "error": error,
            "incomplete_details": {"reason": detail} if detail else None,
            "model": self.model,
            "output": output,
            "usage": _usage(reply.usage) if is_over else None,
        }

    def _item(self, reply: Reply, place: int) -> dict[str, Any]:
        item = reply.items[place]
        match item:
            case Text(text):
                part = {"type": "output_text", "text": text, "annotations": []}
                return self._message(reply, place, [part])
            case Refusal(text):
                return self._message(reply, place, [{"type": "refusal", "refusal": text}])
            case Thinking():
                return self.reasoning(item, f"rs_{reply.id}{place}")
            case Call() as call:
                arguments = json.dumps(call.input) if call.raw is None else call.raw
                status = "incomplete" if call.raw is not None else "completed"
                return _call(call, arguments, status)
            case _:
                raise TypeError(item)

    def reasoning(self, item: Thinking, identifier: str) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": item.text}] if item.text else []
        sealing = {"encrypted_content": item.signature}
        return {"id": identifier, "type": "reasoning", "summary": summary, **sealing}

    def thinking_deltas(self, item: Thinking, at: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not item.text:
            return
        place = {**at, "summary_index": 0}
        kind = "response.reasoning_summary"
        part = {"type": "summary_text", "text": ""}
        yield {"type": f"{kind}_part.added", **place, "part": part}
        for piece in in_pieces(item.text, 5):
            yield {"type": f"{kind}_text.delta", **place, "delta": piece}
        yield {"type": f"{kind}_text.done", **place, "text": item.text}
        yield {"type": f"{kind}_part.done", **place, "part": {**part, "text": item.text}}

    def _message(self, reply: Reply, place: int, content: list[Any]) -> dict[str, Any]:
        return {
            "id": f"msg_{reply.id}{place}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }

    def _events(self, reply: Reply) -> Iterator[dict[str, Any]]:
        begun = self._response(reply, "in_progress")
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for place, item in enumerate(reply.items):
            yield from self._item_events(reply, place, item)
            if isinstance(item, Call) and item.is_open:
                return
        if reply.failure is not None:
            yield {"type": "response.failed", "response": self._response(reply, "failed")}
            return
        status, detail = self._ending(reply)
        ended = self._response(reply, status, detail)
        yield {"type": f"response.{status}", "response": ended}

    def _item_events(self, reply: Reply, place: int, item: Item) -> Iterator[dict[str, Any]]:
        whole = self._item(reply, place)
        at = {"item_id": whole["id"], "output_index": place}
        yield {
            "type": "response.output_item.added",
            "output_index": place,
            "item": _begun(whole),
        }
        match item:
            case Text(text):
                shown = text if item.streamed is None else item.streamed
                yield from _part_events(at, whole["content"][0], "output_text", "text", shown)
            case Refusal(text):
                yield from _part_events(at, whole["content"][0], "refusal", "refusal", text)
            case Thinking():
                yield from self.thinking_deltas(item, at)
            case Call() as call:
                kind = "response.function_call_arguments"
                first, second = split_in_half(whole["arguments"])
                yield {"type": f"{kind}.delta", **at, "delta": first}
                if call.is_open:
                    return
                yield {"type": f"{kind}.delta", **at, "delta": second}
                yield {"type": f"{kind}.done", **at, "arguments": whole["arguments"]}
            case _:
                raise TypeError(item)
        if reply.failure is None:
            yield {"type": "response.output_item.done", "output_index": place, "item": whole}


class CompatibleResponses(OpenAIResponses):
    """A compatible server, such as vLLM, which shows reasoning and encrypts nothing."""

    provider, prefix = "openai-compat", "openai-compat-responses"
    model = "tide-coder-30b"
    harbour = "Frederikshavn"
    thinking = (scenarios.thought(),)
    closing = ()

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield "auth", Failure("auth", 401, None, "Unauthorized", body='{"detail": "Unauthorized"}')
        long = "the request exceeds the available context size"
        kind = "exceed_context_size_error"
        yield "context", Failure("context_overflow", 400, kind, long, 400)
        slow, wait = "Too many requests", {"retry-after": "3"}
        yield "rate-limit", Failure("rate_limit", 429, None, slow, 429, wait)
        yield "server", Failure("server_error", 500, None, "Internal server error", 500)

    def reasoning(self, item: Thinking, identifier: str) -> dict[str, Any]:
        content = [{"type": "reasoning_text", "text": item.text}]
        return {"id": identifier, "type": "reasoning", "summary": [], "content": content}

    def thinking_deltas(self, item: Thinking, at: dict[str, Any]) -> Iterator[dict[str, Any]]:
        place = {**at, "content_index": 0}
        for piece in in_pieces(item.text, 5):
            yield {"type": "response.reasoning_text.delta", **place, "delta": piece}
        yield {"type": "response.reasoning_text.done", **place, "text": item.text}


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    prompt = usage.fresh + usage.cached + usage.created
    return {
        "input_tokens": prompt,
        "input_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.created,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": prompt + usage.output,
    }


def _call(call: Call, arguments: str, status: str) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
        "status": status,
    }


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    """Return the item as it starts in a stream."""
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "reasoning":
            opened = {"id": item["id"], "type": "reasoning", "summary": []}
            return opened | ({"encrypted_content": None} if "encrypted_content" in item else {})
        case _:
            return {**item, "status": "in_progress", "arguments": ""}


def _part_events(
    at: dict[str, Any], part: dict[str, Any], kind: str, key: str, text: str
) -> Iterator[dict[str, Any]]:
    place = {**at, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, key: ""}}
    for piece in in_pieces(text):
        yield {"type": f"response.{kind}.delta", **place, "delta": piece}
    yield {"type": f"response.{kind}.done", **place, key: text}
    yield {"type": "response.content_part.done", **place, "part": part}
