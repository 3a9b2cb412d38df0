"""A model provider on the loopback interface: Chat Completions at any rate."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Turn:
    """One reply and its timestamps, in seconds of `time.monotonic`."""

    pieces: Sequence[str]
    rate: float = 0
    """Pieces per second; 0: as fast as they are read."""
    delay: float = 0
    """Seconds before the first piece."""
    call: tuple[str, dict[str, Any]] | None = None
    prompt: str = ""
    """The last message of the request."""
    asked: float = 0.0
    first_sent: float = 0.0
    last_sent: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)


class Provider:
    """Serves turns, one per request; use it in a `with` statement."""

    def __init__(self) -> None:
        self._waiting: list[Turn] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                provider._answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """The root of the server."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def will_say(self, *turns: Turn) -> None:
        """Replace the remaining turns by these."""
        self._waiting = list(turns)

    def __enter__(self) -> "Provider":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        asked = time.monotonic()
        turn = self._waiting.pop(0) if self._waiting else Turn(["Nothing is left to say."])
        turn.asked, turn.prompt = asked, str(json.loads(body)["messages"][-1].get("content"))
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        try:
            _play(turn, handler)
        except OSError:
            handler.close_connection = True  # the program went away
        turn.over.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: programs are killed while they are connected."""


def _play(turn: Turn, handler: BaseHTTPRequestHandler) -> None:
    events = [_text(piece) for piece in turn.pieces]
    ending = b"".join(_ending(turn))
    time.sleep(turn.delay)
    turn.first_sent = time.monotonic()
    for number, event in enumerate(events, 1):
        _chunk(handler, event)  # one chunk for each event, as servers send them
        if turn.rate:
            time.sleep(max(0.0, turn.first_sent + number / turn.rate - time.monotonic()))
    turn.last_sent = time.monotonic()
    _chunk(handler, ending)
    handler.wfile.write(b"0\r\n\r\n")


def _chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def _text(piece: str) -> bytes:
    return _event({"content": piece})


def _ending(turn: Turn) -> list[bytes]:
    if turn.call is None:
        ended = [_event({}, "stop")]
    else:
        name, arguments = turn.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{time.time_ns()}", "type": "function"}
        ended = [_event({"tool_calls": [{**call, "function": function}]}), _event({}, "tool_calls")]
    usage = {"prompt_tokens": 1000, "completion_tokens": len(turn.pieces), "total_tokens": 2000}
    last: dict[str, Any] = {**_HEAD, "choices": [], "usage": usage}
    return [*ended, b"data: " + json.dumps(last).encode() + b"\n\n", b"data: [DONE]\n\n"]


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**_HEAD, "choices": [choice]}).encode() + b"\n\n"


_HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "any"}
