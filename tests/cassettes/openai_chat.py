"""Chat Completions: OpenAI, OpenRouter and servers with the same format.

https://platform.openai.com/docs/api-reference/chat and https://openrouter.ai/docs/api-reference
"""

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
    Text,
    Thinking,
    Usage,
    build_opaque_text,
    in_pieces,
    split_in_half,
)

CALLS = (
    Call("call_TideNotes01", "read_file", {"path": "notes/tide.txt"}),
    Call("call_ListFiles02", "list_files"),
)
STOPS = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "stop",
    "content_filter": "content_filter",
}

NATIVE_STOPS = {"end_turn": "completed", "tool_use": "tool_use", "max_tokens": "max_output"}
"""The provider's terms that OpenRouter forwards."""


class OpenAIChat:
    provider, api, prefix = "openai", "chat", "openai-chat"
    model = "gpt-4.1-2026-04-14"
    stream_type = "text/event-stream; charset=utf-8"
    path = "/v1/chat/completions"
    harbour = "Bergen"
    thinking: tuple[Item, ...] = ()
    """This API counts reasoning but hides it."""
    comment = ""
    """A comment between the events of a stream."""

    def replies(self) -> Iterator[Reply]:
        yield from scenarios.usual(self.harbour, CALLS, self.thinking, self.thinking)
        yield from scenarios.cut_calls(CALLS[0])
        yield from self.special_replies()
        usage = Usage(fresh=6, output=90, cached=1024, created=256, reasoning=64)
        yield Reply("cache", (Text(scenarios.ANSWER),), usage=usage)
        yield Reply("content-filter", (Text("The ferry"),), "content_filter")
        yield Reply("no-usage", (Text(scenarios.ANSWER),), usage=None)
        yield scenarios.stream_error(self.stream_failure())

    def special_replies(self) -> Iterator[Reply]:
        yield scenarios.refusal()

    def stream_failure(self) -> Failure:
        return Failure("server_error", 200, "server_error", "The server had an error.")

    def failures(self) -> Iterator[tuple[str, Failure]]:
        refused = "invalid_request_error"
        key = "Incorrect API key provided: sk-REDACTED."
        yield "auth", Failure("auth", 401, refused, key, "invalid_api_key")
        denied = "Your project may not use this model."
        yield "permission", Failure("auth", 403, refused, denied, "permission_denied")
        gone = "The model `gpt-atlantis` does not exist."
        yield "not-found", Failure("invalid_request", 404, refused, gone, "model_not_found")
        long = "This model's maximum context length is 128000 tokens; you sent 130500."
        code = "context_length_exceeded"
        yield "context", Failure("context_overflow", 400, refused, long, code)
        bad = "Invalid type for 'messages[0].content'."
        yield "invalid", Failure("invalid_request", 400, refused, bad, "invalid_type")
        unsafe = "Your prompt was flagged by the content policy."
        code = "content_policy_violation"
        yield "content-policy", Failure("invalid_request", 400, refused, unsafe, code)
        slow = "Rate limit reached on tokens per min. Please try again in 1.4s."
        wait = {"retry-after": "2", "retry-after-ms": "1400"}
        code = "rate_limit_exceeded"
        yield "rate-limit", Failure("rate_limit", 429, "tokens", slow, code, wait)
        poor, code = "You exceeded your current quota.", "insufficient_quota"
        yield "quota", Failure("rate_limit", 429, code, poor, code)
        yield "overloaded", Failure("server_error", 503, "server_error", "Overloaded.")
        yield "server", Failure("server_error", 500, "server_error", "The server had an error.")

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        if reply.answers is not None:
            messages.append(self._message(reply.answers))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(reply.answers.calls, RESULTS, strict=False)
            ]
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        return self.path, {
            "model": self.model,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": name, "description": description, "parameters": schema},
                }
                for name, description, schema in TOOLS
            ],
            "messages": messages,
            **(streaming if reply.is_stream else {}),
        }

    def document(self, reply: Reply) -> str:
        choice = {
            "index": 0,
            "message": self._message(reply),
            "finish_reason": STOPS[reply.stop],
            **self.stop_fields(reply),
        }
        usage = {"usage": self.raw_usage(reply.usage)} if reply.usage else {}
        return json.dumps({**self._head(reply, "chat.completion"), "choices": [choice], **usage})

    def stream(self, reply: Reply) -> str:
        lines = [json.dumps(chunk) for chunk in self._chunks(reply)]
        if not reply.is_cut:
            lines.append("[DONE]")
        return self.comment.join(f"data: {line}\n\n" for line in ("", *lines) if line)

    def error_body(self, failure: Failure) -> str:
        error = {
            "message": failure.message,
            "type": failure.type,
            "param": None,
            "code": failure.code,
        }
        return json.dumps({"error": error})

    def reading(self, reply: Reply) -> Reading:
        is_whole = not reply.is_cut and reply.failure is None
        is_counted = is_whole or "usage" in self.failed_chunk(reply)
        usage = reply.usage if is_counted and not reply.is_cut else None
        stop = STOPS[reply.stop] if is_whole else None
        more = self.more_expected(reply)
        return Reading(f"chatcmpl-{reply.id}", stop, self.raw_usage(usage), usage, more)

    def more_expected(self, reply: Reply) -> dict[str, Any]:
        del reply
        return {}

    def raw_usage(self, usage: Usage | None) -> dict[str, Any] | None:
        if usage is None:
            return None
        prompt = usage.fresh + usage.cached + usage.created
        return {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output,
            "total_tokens": prompt + usage.output,
            "prompt_tokens_details": {
                "cached_tokens": usage.cached,
                "cache_write_tokens": usage.created,
            },
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }

    def stop_fields(self, reply: Reply) -> dict[str, Any]:
        """Return the fields of this server in addition to `finish_reason`."""
        del reply
        return {}

    def thinking_fields(self, item: Item, index: int, text: str | None = None) -> dict[str, Any]:
        """Return the fields of a message or delta with reasoning."""
        del item, index, text
        return {}

    def failed_chunk(self, reply: Reply) -> dict[str, Any]:
        """Return the fields next to `error` in a stream."""
        del reply
        return {}

    def _head(self, reply: Reply, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{reply.id}",
            "object": kind,
            "created": 1790000000,
            "model": self.model,
        }

    def _message(self, reply: Reply) -> dict[str, Any]:
        texts = [item.text for item in reply.items if isinstance(item, Text)]
        message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
        for index, item in enumerate(reply.items):
            match item:
                case Thinking() | Redacted():
                    for key, value in self.thinking_fields(item, index).items():
                        message[key] = message[key] + value if key in message else value
                case Refusal(text):
                    message["refusal"] = text
                case Call() as call:
                    message.setdefault("tool_calls", []).append(
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": call.name, "arguments": _arguments(call)},
                        }
                    )
                case _:
                    pass
        return message

    def _chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        head = self._head(reply, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            if finish is not None:
                choice |= self.stop_fields(reply)
            return {**head, "choices": [choice]}

        yield chunk({"role": "assistant", "content": ""})
        for index, item in enumerate(reply.items):
            yield from map(chunk, self._deltas(item, index, reply))
        if reply.is_cut:
            return
        if reply.failure is not None:
            yield {**json.loads(self.error_body(reply.failure)), **self.failed_chunk(reply)}
            return
        yield chunk({}, STOPS[reply.stop])
        if reply.usage is not None:
            yield {**head, "choices": [], "usage": self.raw_usage(reply.usage)}

    def _deltas(self, item: Item, index: int, reply: Reply) -> Iterator[dict[str, Any]]:
        match item:
            case Text(text):
                yield from ({"content": piece} for piece in in_pieces(text))
            case Refusal(text):
                yield from ({"refusal": piece} for piece in in_pieces(text))
            case Thinking(text):
                for piece in in_pieces(text, 5):
                    yield self.thinking_fields(item, index, piece)
                yield from self.last_thinking(item, index)
            case Redacted():
                yield self.thinking_fields(item, index)
            case Call() as call:
                place = reply.calls.index(call)
                function = {"name": call.name, "arguments": ""}
                opened = {"index": place, "id": call.id, "type": "function", "function": function}
                yield {"tool_calls": [opened]}
                first, second = split_in_half(_arguments(call))
                for piece in (first,) if call.is_open else (first, second):
                    yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
            case _:
                raise TypeError(item)

    def last_thinking(self, item: Thinking, index: int) -> Iterator[dict[str, Any]]:
        """Yield the end of a reasoning block in a stream."""
        del item, index
        return iter(())


class CompatibleChat(OpenAIChat):
    """A compatible server, such as vLLM or DeepSeek, which shows reasoning as plain text."""

    provider, prefix = "openai-compat", "openai-compat-chat"
    model = "tide-coder-30b"
    harbour = "Dover"
    thinking = (scenarios.thought(),)
    comment = ": ping\n\n"

    def special_replies(self) -> Iterator[Reply]:
        yield from ()

    def stream_failure(self) -> Failure:
        return Failure("context_overflow", 200, None, "context size exceeded")

    def error_body(self, failure: Failure) -> str:
        """The short form, in which `error` is a string."""
        return json.dumps({"error": failure.message})

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield "auth", Failure("auth", 401, None, "Unauthorized")
        yield "not-found", Failure("invalid_request", 404, None, "model 'tide' not found")
        words = "the request exceeds the available context size"
        yield "context", Failure("context_overflow", 400, None, words)
        detail = {"detail": "temperature: must be at most 2"}
        text = detail["detail"]
        yield "invalid", Failure("invalid_request", 422, None, text, body=json.dumps(detail))
        wait = {"retry-after": "3"}
        yield "rate-limit", Failure("rate_limit", 429, None, "Too many requests", headers=wait)
        poor = "Insufficient balance"
        yield "balance", Failure("invalid_request", 402, None, poor)
        yield "server", Failure("server_error", 500, None, "Internal server error")
        page = "<html><body><h1>503 Service Unavailable</h1></body></html>"
        yield "gateway", Failure("server_error", 503, None, "503 Service Unavailable", body=page)

    def thinking_fields(self, item: Item, index: int, text: str | None = None) -> dict[str, Any]:
        del index
        assert isinstance(item, Thinking)
        return {"reasoning_content": item.text if text is None else text}


class OpenRouter(OpenAIChat):
    """OpenRouter's form, with `reasoning_details`, costs and keep-alive comments."""

    provider, prefix = "openrouter", "openrouter-chat"
    model = "tide/harbour-2"
    path = "/api/v1/chat/completions"
    harbour = "Calais"
    thinking = (
        scenarios.thought(build_opaque_text("openrouter thinking")),
        Redacted(build_opaque_text("openrouter redacted")),
    )
    comment = ": OPENROUTER PROCESSING\n\n"

    def special_replies(self) -> Iterator[Reply]:
        yield from ()

    def stream_failure(self) -> Failure:
        return Failure("server_error", 200, None, "Provider disconnected", 502)

    def error_body(self, failure: Failure) -> str:
        return json.dumps({"error": {"code": failure.code, "message": failure.message}})

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield "auth", Failure("auth", 401, None, "No auth credentials found", 401)
        yield "permission", Failure("auth", 403, None, "The key may not use this model", 403)
        yield "not-found", Failure("invalid_request", 404, None, "No endpoints found", 404)
        long = "This endpoint's maximum context length is 64000 tokens."
        yield "context", Failure("context_overflow", 400, None, long, 400)
        yield "invalid", Failure("invalid_request", 400, None, "messages is required", 400)
        slow, wait = "Rate limit exceeded", {"retry-after": "5"}
        yield "rate-limit", Failure("rate_limit", 429, None, slow, 429, wait)
        poor = "Insufficient credits. Add more and retry."
        yield "credit", Failure("invalid_request", 402, None, poor, 402)
        down = "Provider returned error"
        yield "provider", Failure("server_error", 502, None, down, 502)
        yield "error-in-200", Failure("server_error", 200, None, down, 502)

    def raw_usage(self, usage: Usage | None) -> dict[str, Any] | None:
        raw = super().raw_usage(usage)
        return raw and {**raw, "cost": 0.00125, "is_byok": False}

    def failed_chunk(self, reply: Reply) -> dict[str, Any]:
        empty = {"index": 0, "delta": {"content": ""}, "finish_reason": None}
        head = self._head(reply, "chat.completion.chunk")
        return {**head, "choices": [empty], "usage": self.raw_usage(reply.usage)}

    def stop_fields(self, reply: Reply) -> dict[str, Any]:
        return {"native_finish_reason": NATIVE_STOPS.get(reply.stop, reply.stop)}

    def thinking_fields(self, item: Item, index: int, text: str | None = None) -> dict[str, Any]:
        if isinstance(item, Redacted):
            return {"reasoning_details": [_detail(item, index)]}
        assert isinstance(item, Thinking)
        if text is None:
            return {"reasoning": item.text, "reasoning_details": [_detail(item, index)]}
        piece = {**_detail(item, index), "text": text}
        del piece["signature"]
        return {"reasoning": text, "reasoning_details": [piece]}

    def last_thinking(self, item: Thinking, index: int) -> Iterator[dict[str, Any]]:
        detail = _detail(item, index)
        del detail["text"]
        yield {"reasoning_details": [detail]}

    def more_expected(self, reply: Reply) -> dict[str, Any]:
        thoughts = [
            _detail(item, index)
            for index, item in enumerate(reply.items)
            if isinstance(item, Thinking | Redacted)
        ]
        return {"reasoning_details": thoughts}


def _detail(item: Item, index: int) -> dict[str, Any]:
    if isinstance(item, Redacted):
        return {"type": "reasoning.encrypted", "data": item.data, "format": "tide", "index": index}
    assert isinstance(item, Thinking)
    return {
        "type": "reasoning.text",
        "text": item.text,
        "signature": item.signature,
        "format": "tide",
        "index": index,
    }


def _arguments(call: Call) -> str:
    return json.dumps(call.input) if call.raw is None else call.raw
