"""Ollama's native chat API: https://github.com/ollama/ollama/blob/main/docs/api.md."""

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
    Reply,
    Text,
    Thinking,
    Usage,
    in_pieces,
)

CALLS = (Call(None, "read_file", {"path": "notes/tide.txt"}), Call(None, "list_files"))
STOPS = {"end_turn": "stop", "tool_use": "stop", "max_tokens": "length"}


class Ollama:
    provider, api, prefix = "ollama", "chat", "ollama-chat"
    model = "qwen3:8b"
    stream_type = "application/x-ndjson"

    def replies(self) -> Iterator[Reply]:
        for reply in scenarios.usual("Oslo", CALLS, (scenarios.thought(),)):
            yield _without_cache(reply)
        failure = Failure("other", 200, None, "an error was encountered while running the model")
        yield scenarios.stream_error(failure)

    def failures(self) -> Iterator[tuple[str, Failure]]:
        yield "auth", Failure("auth", 401, None, "unauthorized")
        gone = "model 'atlantis:1b' not found"
        yield "not-found", Failure("invalid_request", 404, None, gone)
        unable = "qwen3:8b does not support tools"
        yield "invalid", Failure("invalid_request", 400, None, unable)
        busy = "server busy, please try again. maximum pending requests exceeded"
        yield "overloaded", Failure("server_error", 503, None, busy)
        yield "server", Failure("server_error", 500, None, "model runner has stopped")

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        if reply.answers is not None:
            messages.append(_message(reply.answers.items))
            messages += [
                {"role": "tool", "tool_name": call.name, "content": result}
                for call, result in zip(reply.answers.calls, RESULTS, strict=False)
            ]
        return "/api/chat", {
            "model": self.model,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": name, "description": description, "parameters": schema},
                }
                for name, description, schema in TOOLS
            ],
            "messages": messages,
            "stream": reply.is_stream,
        }

    def document(self, reply: Reply) -> str:
        return json.dumps(self._line(_message(reply.items), **_ending(reply)))

    def stream(self, reply: Reply) -> str:
        return "".join(f"{json.dumps(line)}\n" for line in self._lines(reply))

    def error_body(self, failure: Failure) -> str:
        return json.dumps({"error": failure.message})

    def reading(self, reply: Reply) -> Reading:
        if reply.failure is not None:
            return Reading(None, None, None, None)
        ending = _ending(reply)
        counted = ("prompt_eval_count", "eval_count")
        raw = {key: value for key, value in ending.items() if key in counted}
        return Reading(None, STOPS[reply.stop], raw, reply.usage)

    def _line(self, message: dict[str, Any], **rest: Any) -> dict[str, Any]:
        head = {"model": self.model, "created_at": "2026-11-01T12:00:00.000000Z"}
        return {**head, "message": message, "done": False, **rest}

    def _lines(self, reply: Reply) -> Iterator[dict[str, Any]]:
        for item in reply.items:
            match item:
                case Text(text):
                    for piece in in_pieces(text):
                        yield self._line(_message((Text(piece),)))
                case Thinking(text):
                    for piece in in_pieces(text, 5):
                        yield self._line(_message((Thinking(piece),)))
                case _:
                    yield self._line(_message((item,)))
        if reply.failure is not None:
            yield json.loads(self.error_body(reply.failure))
            return
        yield self._line(_message(()), **_ending(reply))


def _without_cache(reply: Reply) -> Reply:
    """Return the reply with the counters of this server."""
    usage = reply.usage or Usage()
    changed = Usage(usage.fresh + usage.cached + usage.created, usage.output)
    before = reply.answers and _without_cache(reply.answers)
    return Reply(
        reply.name, reply.items, reply.stop, changed, answers=before, is_stream=reply.is_stream
    )


def _message(items: tuple[Item, ...]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for item in items:
        match item:
            case Text(text):
                message["content"] += text
            case Thinking(text):
                message["thinking"] = text
            case Call() as call:
                function = {"name": call.name, "arguments": call.input}
                message.setdefault("tool_calls", []).append({"function": function})
            case _:
                raise TypeError(item)
    return message


def _ending(reply: Reply) -> dict[str, Any]:
    usage = reply.usage or Usage()
    return {
        "done": True,
        "done_reason": STOPS[reply.stop],
        "prompt_eval_count": usage.fresh,
        "eval_count": usage.output,
    }
