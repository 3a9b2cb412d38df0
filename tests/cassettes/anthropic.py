"""Anthropic's Messages API: https://docs.claude.com/en/api/messages."""

import json
from collections.abc import Iterator
from typing import Any

from tests.cassettes import scenarios
from tests.cassettes.script import (
    PROMPT,
    RESULTS,
    TOOLS,
    Call,
    Failure,
    Item,
    Reading,
    Redacted,
    Refusal,
    Reply,
    ServerBlock,
    Text,
    Thinking,
    Usage,
    build_opaque_text,
    in_pieces,
    split_in_half,
)

CALLS = (
    Call("toolu_01TideNotes", "read_file", {"path": "notes/tide.txt"}),
    Call("toolu_02ListFiles", "list_files"),
)
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_01Ferry",
    "name": "web_search",
    "input": {"query": "ferry timetable"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_01Ferry",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://ferry.example/times",
            "title": "Times",
            "encrypted_content": build_opaque_text("anthropic page"),
            "page_age": None,
        }
    ],
}


class Anthropic:
    provider, api, prefix = "anthropic", "messages", "anthropic-messages"
    model = "claude-sonnet-4-6"
    stream_type = "text/event-stream; charset=utf-8"

    def replies(self) -> Iterator[Reply]:
        thinking = (
            scenarios.thought(build_opaque_text("anthropic thinking")),
            Redacted(build_opaque_text("anthropic redacted")),
        )
        closing = (Thinking(scenarios.LONG_THOUGHT, build_opaque_text("anthropic closing")),)
        yield from scenarios.usual("Aarhus", CALLS, thinking, closing)
        yield from scenarios.cut_calls(CALLS[0])
        usage = Usage(fresh=7, output=25, cached=2048, created=512)
        yield Reply("cache", (Text(scenarios.ANSWER),), usage=usage)
        yield Reply("refusal", (Text(scenarios.REFUSED),), "refusal")
        yield Reply("stop-sequence", (Text("Leaves at "),), "stop_sequence")
        searched = (Text("I search."), ServerBlock(SEARCH))
        paused = Reply("paused", searched, "pause_turn")
        yield paused
        yield Reply("continued", (ServerBlock(FOUND), Text(scenarios.ANSWER)))
        yield Reply("server-tool", (*searched, ServerBlock(FOUND), Text(scenarios.ANSWER)))
        overloaded = Failure("rate_limit", 200, "overloaded_error", "Overloaded")
        yield scenarios.stream_error(overloaded)

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield "auth", Failure("auth", 401, "authentication_error", "invalid x-api-key")
        denied = "Your API key may not use this model."
        yield "permission", Failure("auth", 403, "permission_error", denied)
        gone = "model: claude-atlantis-9"
        yield "not-found", Failure("invalid_request", 404, "not_found_error", gone)
        too_long = "prompt is too long: 210411 tokens > 200000 maximum"
        yield "context", Failure("context_overflow", 400, "invalid_request_error", too_long)
        large = "Request exceeds the maximum size"
        yield "too-large", Failure("context_overflow", 413, "request_too_large", large)
        bad = "messages.1.content.0.type: Field required"
        yield "invalid", Failure("invalid_request", 400, "invalid_request_error", bad)
        slow = "This request would exceed the rate limit of your organization."
        wait = {"retry-after": "17", "x-should-retry": "true"}
        yield "rate-limit", Failure("rate_limit", 429, "rate_limit_error", slow, headers=wait)
        poor = "Your credit balance is too low to access the API."
        yield "credit", Failure("invalid_request", 400, "invalid_request_error", poor)
        yield "overloaded", Failure("rate_limit", 529, "overloaded_error", "Overloaded")
        yield "server", Failure("server_error", 500, "api_error", "Internal server error")
        page = "<html><head><title>502 Bad Gateway</title></head><body></body></html>"
        yield "gateway", Failure("server_error", 502, None, "502 Bad Gateway", body=page)

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        if reply.answers is not None:
            content = [_block(item) for item in reply.answers.items]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": result}
                for call, result in zip(reply.answers.calls, RESULTS, strict=False)
            ]
            messages += [
                {"role": "assistant", "content": content},
                {"role": "user", "content": results},
            ]
        return "/v1/messages", {
            "model": self.model,
            "max_tokens": 4096,
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "tools": [
                {"name": name, "description": description, "input_schema": schema}
                for name, description, schema in TOOLS
            ],
            "messages": messages,
            **({"stream": True} if reply.is_stream else {}),
        }

    def document(self, reply: Reply) -> str:
        content = [_block(item) for item in reply.items]
        return json.dumps(self._message(reply, content, reply.stop, _usage(reply.usage)))

    def stream(self, reply: Reply) -> str:
        return "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            for event in self._events(reply)
        )

    def error_body(self, failure: Failure) -> str:
        error = {"type": failure.type, "message": failure.message}
        return json.dumps({"type": "error", "error": error, "request_id": "req_011Tide"})

    def reading(self, reply: Reply) -> Reading:
        is_whole = not reply.is_cut and reply.failure is None
        usage = reply.usage if is_whole else _begun(reply.usage)
        stop = reply.stop if is_whole else None
        return Reading(f"msg_{reply.id}", stop, _usage(usage), usage)

    def _message(
        self, reply: Reply, content: list[Any], stop: str | None, usage: Any
    ) -> dict[str, Any]:
        return {
            "id": f"msg_{reply.id}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": "STOP" if stop == "stop_sequence" else None,
            "usage": usage,
        }

    def _events(self, reply: Reply) -> Iterator[dict[str, Any]]:
        begun = self._message(reply, [], None, _usage(_begun(reply.usage)))
        yield {"type": "message_start", "message": begun}
        for index, item in enumerate(reply.items):
            start, deltas = _begin(item), list(_deltas(item))
            yield {"type": "content_block_start", "index": index, "content_block": start}
            if index == 0:
                yield {"type": "ping"}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            if isinstance(item, Call) and item.is_open:
                return
            if reply.failure is None:
                yield {"type": "content_block_stop", "index": index}
        if reply.failure is not None:
            yield json.loads(self.error_body(reply.failure))
            return
        stop = {
            "stop_reason": reply.stop,
            "stop_sequence": "STOP" if reply.stop == "stop_sequence" else None,
        }
        yield {"type": "message_delta", "delta": stop, "usage": _usage(reply.usage)}
        yield {"type": "message_stop"}


def _begun(usage: Usage | None) -> Usage | None:
    """Return the usage in the first event of a stream."""
    return usage and Usage(usage.fresh, 1, usage.cached, usage.created)


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    thinking = {"output_tokens_details": {"thinking_tokens": usage.reasoning}}
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.created,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
        **(thinking if usage.reasoning else {}),
    }


def _block(item: Item) -> dict[str, Any]:
    match item:
        case Text(text) | Refusal(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Redacted(data):
            return {"type": "redacted_thinking", "data": data}
        case Call(identifier, name, arguments):
            return {"type": "tool_use", "id": identifier, "name": name, "input": arguments}
        case ServerBlock(block):
            return block


def _begin(item: Item) -> dict[str, Any]:
    """Return the block as it starts in a stream, without the content of its deltas."""
    match item:
        case Text() | Refusal():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Call():
            return {**_block(item), "input": {}}
        case ServerBlock({"type": "server_tool_use"} as block):
            return {**block, "input": {}}
        case _:
            return _block(item)


def _deltas(item: Item) -> Iterator[dict[str, Any]]:
    match item:
        case Text(text) | Refusal(text):
            yield from ({"type": "text_delta", "text": piece} for piece in in_pieces(text))
        case Thinking(text, signature):
            for piece in in_pieces(text, 5):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": signature}
        case Call() as call:
            yield {"type": "input_json_delta", "partial_json": ""}
            arguments = json.dumps(call.input) if call.raw is None else call.raw
            first, second = split_in_half(arguments if call.input or call.raw else "")
            pieces = (first,) if call.is_open else (first, second)
            yield from (
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces if piece
            )
        case ServerBlock({"type": "server_tool_use", "input": arguments}):
            yield {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        case _:
            pass
