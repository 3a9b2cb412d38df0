"""Gemini's `generateContent`: https://ai.google.dev/api/generate-content."""

import json
from collections.abc import Iterator
from dataclasses import replace
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
    build_opaque_text,
    in_pieces,
)

CALLS = (
    Call(
        "fc7tide1",
        "read_file",
        {"path": "notes/tide.txt"},
        signature=build_opaque_text("gemini call"),
    ),
    Call("fc7list2", "list_files"),
)
STOPS = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "content_filter": "SAFETY",
}


class Gemini:
    provider, api, prefix = "gemini", "generateContent", "gemini-generate"
    model = "gemini-3.5-flash"
    stream_type = "text/event-stream"

    def replies(self) -> Iterator[Reply]:
        yield from scenarios.usual("Göteborg", CALLS, (scenarios.thought(),))
        usage = Usage(fresh=6, output=90, cached=1024, reasoning=64)
        yield Reply("cache", (Text(scenarios.ANSWER),), usage=usage)
        signed = (Text(scenarios.ANSWER),)
        yield Reply("signed-text", signed)
        yield Reply("content-filter", (Text("The ferry"),), "content_filter")
        yield Reply("blocked", (), "content_filter", Usage(fresh=9, output=0))
        nameless = replace(CALLS[0], id=None)
        yield Reply("call-without-id", (nameless,), "tool_use")
        busy = "The model is overloaded. Please try again later."
        yield scenarios.stream_error(Failure("server_error", 200, "UNAVAILABLE", busy, 503))

    def failures(self) -> Iterator[tuple[str, Failure]]:
        key = "API key not valid. Please pass a valid API key."
        yield "auth", Failure("auth", 400, "INVALID_ARGUMENT", key, 400)
        denied = "The caller does not have permission."
        yield "permission", Failure("auth", 403, "PERMISSION_DENIED", denied, 403)
        gone = "models/gemini-atlantis is not found."
        yield "not-found", Failure("invalid_request", 404, "NOT_FOUND", gone, 404)
        long = "The input token count (1100000) exceeds the maximum number of tokens allowed."
        yield "context", Failure("context_overflow", 400, "INVALID_ARGUMENT", long, 400)
        bad = 'Unknown name "colour": Cannot find field.'
        yield "invalid", Failure("invalid_request", 400, "INVALID_ARGUMENT", bad, 400)
        slow = "You exceeded your current quota. Please retry in 48.2s."
        retry = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}]
        error = {"code": 429, "message": slow, "status": "RESOURCE_EXHAUSTED", "details": retry}
        body = json.dumps({"error": error})
        yield "rate-limit", Failure("rate_limit", 429, "RESOURCE_EXHAUSTED", slow, 429, body=body)
        broken = "An internal error has occurred."
        yield "server", Failure("server_error", 500, "INTERNAL", broken, 500)
        busy = "The model is overloaded. Please try again later."
        yield "overloaded", Failure("server_error", 503, "UNAVAILABLE", busy, 503)

    def request(self, reply: Reply) -> tuple[str, dict[str, Any]]:
        contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": PROMPT}]}]
        if reply.answers is not None:
            parts = [_part(item) for item in reply.answers.items]
            results = [
                {
                    "functionResponse": {
                        "id": call.id,
                        "name": call.name,
                        "response": {"output": result},
                    }
                }
                for call, result in zip(reply.answers.calls, RESULTS, strict=False)
            ]
            contents += [{"role": "model", "parts": parts}, {"role": "user", "parts": results}]
        verb = "streamGenerateContent?alt=sse" if reply.is_stream else "generateContent"
        return f"/v1beta/models/{self.model}:{verb}", {
            "contents": contents,
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": name,
                            "description": description,
                            "parametersJsonSchema": schema,
                        }
                        for name, description, schema in TOOLS
                    ]
                }
            ],
            "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
        }

    def document(self, reply: Reply) -> str:
        if reply.name == "blocked":
            return json.dumps(self._blocked(reply), indent=2)
        parts = [_part(item, reply) for item in reply.items]
        return json.dumps(self._chunk(reply, parts, STOPS[reply.stop]), indent=2)

    def stream(self, reply: Reply) -> str:
        return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in self._chunks(reply))

    def error_body(self, failure: Failure) -> str:
        error = {"code": failure.code, "message": failure.message, "status": failure.type}
        return json.dumps({"error": error}, indent=2)

    def reading(self, reply: Reply) -> Reading:
        is_whole = reply.failure is None
        stop = STOPS[reply.stop] if is_whole else None
        if reply.name == "blocked":
            stop = "blocked:PROHIBITED_CONTENT"
        signatures = [
            {"on": "text" if "text" in part else "tool_use", "signature": part["thoughtSignature"]}
            for part in (_part(item, reply) for item in reply.items)
            if "thoughtSignature" in part
        ]
        return Reading(
            reply.id, stop, _usage(reply.usage), reply.usage, {"part_signatures": signatures}
        )

    def _chunk(
        self, reply: Reply, parts: list[dict[str, Any]], finish: str | None = None
    ) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        return {
            "candidates": [candidate],
            "usageMetadata": _usage(reply.usage),
            "modelVersion": self.model,
            "responseId": reply.id,
        }

    def _blocked(self, reply: Reply) -> dict[str, Any]:
        return {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": _usage(reply.usage),
            "modelVersion": self.model,
            "responseId": reply.id,
        }

    def _chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        if reply.name == "blocked":
            yield self._blocked(reply)
            return
        for item in reply.items:
            part = _part(item, reply)
            if not isinstance(item, Text | Thinking):
                yield self._chunk(reply, [part])
                continue
            *pieces, last = in_pieces(item.text, 4)
            bare = {key: value for key, value in part.items() if key != "thoughtSignature"}
            yield from (self._chunk(reply, [{**bare, "text": piece}]) for piece in pieces)
            yield self._chunk(reply, [{**part, "text": last}])
        if reply.failure is not None:
            yield json.loads(self.error_body(reply.failure))
            return
        yield self._chunk(reply, [{"text": ""}], STOPS[reply.stop])


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    prompt = usage.fresh + usage.cached
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": prompt + usage.output,
        **({"cachedContentTokenCount": usage.cached} if usage.cached else {}),
        **({"thoughtsTokenCount": usage.reasoning} if usage.reasoning else {}),
    }


def _part(item: Item, reply: Reply | None = None) -> dict[str, Any]:
    match item:
        case Text(text):
            is_signed = reply is not None and reply.name == "signed-text"
            signed = {"thoughtSignature": build_opaque_text("gemini text")} if is_signed else {}
            return {"text": text, **signed}
        case Thinking(text):
            return {"text": text, "thought": True}
        case Call() as call:
            named = {"id": call.id} if call.id else {}
            signed = {"thoughtSignature": call.signature} if call.signature else {}
            return {"functionCall": {**named, "name": call.name, "args": call.input}, **signed}
        case _:
            raise TypeError(item)
