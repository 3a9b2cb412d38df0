"""A model provider on the loopback interface for every dialect: plays a script, records requests.

A script is a list of replies; each request gets the next one, in any dialect. `replay` returns the
response of a cassette or a real provider, byte for byte.
"""

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.providers.recorded_exchanges import exchange
from tests.validator.validate import errors, validate

ANTHROPIC_PATH, CHAT_PATH = "/v1/messages", "/v1/chat/completions"
RESPONSES_PATH, OLLAMA_PATH = "/v1/responses", "/api/chat"
OPENROUTER_PATH = "/api/v1/chat/completions"
COMPATIBLE_CHAT_PATH = "/compatible/v1/chat/completions"
COMPATIBLE_RESPONSES_PATH = "/compatible/v1/responses"
GOOGLE_PATH = "/v1beta/models/*:streamGenerateContent"
"""The star matches the name of a model."""
_NAME = re.compile(r"(?<=^/v1beta/models/)[^:]+")
_DIALECTS = {
    ANTHROPIC_PATH: ("anthropic", "messages"),
    CHAT_PATH: ("openai", "chat"),
    RESPONSES_PATH: ("openai", "responses"),
    OPENROUTER_PATH: ("openrouter", "chat"),
    COMPATIBLE_CHAT_PATH: ("openai-compat", "chat"),
    COMPATIBLE_RESPONSES_PATH: ("openai-compat", "responses"),
    OLLAMA_PATH: ("ollama", "chat"),
    GOOGLE_PATH: ("gemini", "generateContent"),
}


@dataclass
class Reply:
    """The reply to one request."""

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    status: int = 200
    body: bytes | None = None
    """Sent unchanged, instead of a body built from `text` and `calls`."""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Close the connection before the end of the stream."""
    pause: float = 0.0
    """Seconds between two pieces of text."""
    words_at_once: int = 3
    prompt_tokens: int = 1200
    """What Chat Completions and Ollama count; 0: no usage."""
    before_piece: Callable[[], None] | None = None
    """Called before each piece of the response is sent; it may block."""


def replay(exchange_id: str) -> Reply:
    """Return the response of a cassette or, if it exists, of a recorded exchange."""
    response = exchange(exchange_id)["response"]
    body = response["body"].encode()
    return Reply(status=response["status"], body=body, headers=response["headers"] or {})


class ProviderServer:
    """Serves until closed; use it in a `with` statement."""

    def __init__(
        self,
        replies: Sequence[Reply] = (),
        answer: Callable[[str, dict[str, Any]], Reply] | None = None,
    ) -> None:
        """`answer`: returns the reply to a path and a body, in place of `replies`."""
        self.script = list(replies)
        self._reply_to = answer or self._next_reply
        self.requests: list[tuple[str, dict[str, Any]]] = []
        """Path and body of every request so far."""
        self.keys: list[str] = []
        """Of every request to a model."""
        self.model_names: list[str] = []
        """The models that the server lists."""
        self.get_headers: list[str] = []
        """The headers of every GET request."""
        self.get_paths: list[str] = []
        self.answer_get: Callable[[str], tuple[int, Any]] | None = None
        """Returns status and body for the path of a GET request; None: the list of models."""
        self._asked: list[tuple[str, str]] = []  # model and `anthropic-beta` of each request
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._answer(self)

            def do_GET(self) -> None:
                outer.get_headers.append(str(self.headers))
                outer.get_paths.append(self.path)
                names = outer.model_names
                found = {"data": [{"id": each} for each in names]}
                found |= {"models": [{"name": each, "model": each} for each in names]}
                status, answer = 200, found
                if outer.answer_get is not None:
                    status, answer = outer.answer_get(self.path)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """The root of the server; a base URL for Anthropic."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def compatible_url(self) -> str:
        """A base URL for another provider with OpenAI's API."""
        return f"{self.url}/compatible/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that set every provider to this server."""
        return {
            "ANTHROPIC_API_KEY": "sk-ant-test-0000000000000000",
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": "sk-test-0000000000000000",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENROUTER_API_KEY": "sk-or-test-0000000000000000",
            "OPENROUTER_BASE_URL": f"{self.url}/api/v1",
            "GEMINI_API_KEY": "AIzaTest-00000000000000000000",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "OLLAMA_HOST": self.url,
        }

    def problems(self) -> list[str]:
        """Return the problems that the request validator finds in all requests so far."""
        found = list[str]()
        for number, (path, body) in enumerate(self.requests):
            wrong = errors(validate(*_DIALECTS[path], body, *self._asked[number]))
            found += [f"request {number}: {each}" for each in wrong]
        return found

    def __enter__(self) -> "ProviderServer":
        self._thread.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if error is None:
            assert self.problems() == [], "every request must be one that the provider accepts"

    def _next_reply(self, _path: str, _body: dict[str, Any]) -> Reply:
        return self.script.pop(0) if self.script else Reply("The script is over.")

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        path = handler.path.partition("?")[0]
        if path not in _RENDERERS and not _NAME.search(path):
            handler.send_error(404)
            return
        named = _NAME.search(path)
        path, model = _NAME.sub("*", path), named[0] if named else body["model"]
        with self._lock:
            self.requests.append((path, body))
            self._asked.append((model, handler.headers.get("anthropic-beta", "")))
            names = ("x-api-key", "x-goog-api-key", "authorization")
            keys = [handler.headers.get(name, "") for name in names]
            self.keys.append(next(filter(None, keys), "").removeprefix("Bearer "))
            reply = self._reply_to(path, body)
        frames = _RENDERERS[path]
        pieces = [reply.body] if reply.body is not None else list(frames(reply, model))
        if reply.cut:
            pieces = pieces[: max(1, len(pieces) // 2)]
        handler.close_connection = True
        handler.send_response(reply.status)
        kind = "text/event-stream" if reply.status == 200 else "application/json"
        for name, value in {"content-type": kind, **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("connection", "close")
        handler.end_headers()
        try:
            for piece in pieces:
                if reply.before_piece is not None:
                    reply.before_piece()
                handler.wfile.write(piece)
                handler.wfile.flush()
                if reply.pause:
                    time.sleep(reply.pause)
        except OSError:
            pass  # the client disconnected


def _pieces(text: str, words_at_once: int) -> Iterator[str]:
    words = text.split(" ")
    for start in range(0, len(words), words_at_once):
        end = start + words_at_once
        yield " ".join(words[start:end]) + (" " if end < len(words) else "")


def _anthropic(reply: Reply, model: str) -> Iterator[bytes]:
    def event(kind: str, **payload: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **payload})}\n\n".encode()

    usage = {"input_tokens": 1200, "output_tokens": 1}
    yield event(
        "message_start",
        message={"id": "msg_1", "type": "message", "role": "assistant", "model": model,
                 "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
    )  # fmt: skip
    index = 0
    if reply.text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(reply.text, reply.words_at_once):
            delta = {"type": "text_delta", "text": piece}
            yield event("content_block_delta", index=0, delta=delta)
        yield event("content_block_stop", index=0)
        index = 1
    for offset, (name, arguments) in enumerate(reply.calls):
        block = {"type": "tool_use", "id": f"toolu_{time.time_ns()}", "name": name, "input": {}}
        yield event("content_block_start", index=index + offset, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        yield event("content_block_delta", index=index + offset, delta=delta)
        yield event("content_block_stop", index=index + offset)
    reason = "tool_use" if reply.calls else "end_turn"
    yield event(
        "message_delta",
        delta={"stop_reason": reason, "stop_sequence": None},
        usage={"output_tokens": 40},
    )
    yield event("message_stop")


def _chat(reply: Reply, model: str) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                "model": model, "choices": [choice]}  # fmt: skip
        return f"data: {json.dumps(body)}\n\n".encode()

    yield chunk({"role": "assistant", "content": "" if reply.text else None})
    if reply.text:
        for piece in _pieces(reply.text, reply.words_at_once):
            yield chunk({"content": piece})
    for index, (name, arguments) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": f"call_{time.time_ns()}", "type": "function"}
        yield chunk({"tool_calls": [{**call, "function": function}]})
        part = {"index": index, "function": {"arguments": json.dumps(arguments)}}
        yield chunk({"tool_calls": [part]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    count = reply.prompt_tokens
    usage = {"prompt_tokens": count, "completion_tokens": 40, "total_tokens": count + 40}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [], "usage": usage}  # fmt: skip
    if count:
        yield f"data: {json.dumps(body)}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _responses(reply: Reply, model: str) -> Iterator[bytes]:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": model}
    numbers = itertools.count()

    def event(kind: str, **payload: Any) -> bytes:
        body = {"type": kind, "sequence_number": next(numbers), **payload}
        return f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()

    yield event("response.created", response={**head, "status": "in_progress", "output": []})
    sealed = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"}
    yield event("response.output_item.added", output_index=0, item=sealed)
    yield event("response.output_item.done", output_index=0, item=sealed)
    output: list[dict[str, Any]] = [sealed]
    if reply.text:
        item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant"}
        empty = {**item, "status": "in_progress", "content": []}
        yield event("response.output_item.added", output_index=1, item=empty)
        at = {"output_index": 1, "content_index": 0, "item_id": "msg_1"}
        for piece in _pieces(reply.text, reply.words_at_once):
            yield event("response.output_text.delta", delta=piece, **at)
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        output.append({**item, "status": "completed", "content": [part]})
        yield event("response.output_item.done", output_index=1, item=output[1])
    for name, arguments in reply.calls:
        place, number = len(output), time.time_ns()
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}"}
        item |= {"name": name, "arguments": "", "status": "in_progress"}
        yield event("response.output_item.added", output_index=place, item=item)
        whole = {"output_index": place, "item_id": item["id"]}
        told = json.dumps(arguments)
        yield event("response.function_call_arguments.delta", delta=told, **whole)
        output.append({**item, "arguments": told, "status": "completed"})
        yield event("response.output_item.done", output_index=place, item=output[-1])
    details = {"input_tokens_details": {"cached_tokens": 200}}
    usage = {"input_tokens": 1200, "output_tokens": 40, "total_tokens": 1240, **details}
    done = {**head, "status": "completed", "output": output, "usage": usage}
    yield event("response.completed", response=done)


def _ollama(reply: Reply, model: str) -> Iterator[bytes]:
    def line(message: dict[str, Any], **rest: Any) -> bytes:
        said = {"role": "assistant", "content": "", **message}
        body = {"model": model, "created_at": "2026-01-01T00:00:00Z", "message": said}
        return json.dumps({**body, "done": False, **rest}).encode() + b"\n"

    for piece in _pieces(reply.text, reply.words_at_once) if reply.text else ():
        yield line({"content": piece})
    for name, arguments in reply.calls:
        yield line({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]})
    counts = {"prompt_eval_count": reply.prompt_tokens, "eval_count": 40}
    yield line({}, done=True, done_reason="stop", **(counts if reply.prompt_tokens else {}))


def _google(reply: Reply, model: str) -> Iterator[bytes]:
    def chunk(parts: list[dict[str, Any]], **rest: Any) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **rest}
        usage = {"promptTokenCount": 1200, "candidatesTokenCount": 40, "totalTokenCount": 1240}
        body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}
        return f"data: {json.dumps(body)}\r\n\r\n".encode()

    for piece in _pieces(reply.text, reply.words_at_once) if reply.text else ():
        yield chunk([{"text": piece}])
    for name, arguments in reply.calls:
        call = {"name": name, "args": arguments}
        yield chunk([{"functionCall": call, "thoughtSignature": "c2lnbmVk"}])
    yield chunk([{"text": "", "thoughtSignature": "bGFzdA=="}], finishReason="STOP")


_RENDERERS = {
    ANTHROPIC_PATH: _anthropic,
    CHAT_PATH: _chat,
    RESPONSES_PATH: _responses,
    OPENROUTER_PATH: _chat,
    COMPATIBLE_CHAT_PATH: _chat,
    COMPATIBLE_RESPONSES_PATH: _responses,
    OLLAMA_PATH: _ollama,
    GOOGLE_PATH: _google,
}
