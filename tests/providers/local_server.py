"""A provider on the loopback interface that sends the given bytes.

    with LocalServer(lambda head, body: [b"HTTP/1.1 200 OK\\r\\n...", b"data"]) as server: ...

Between two pieces a number is a pause in seconds, and RESET ends the connection with a reset.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

RESET: Literal["reset"] = "reset"
Piece: TypeAlias = bytes | float | Literal["reset"]
Answer: TypeAlias = Callable[[dict[str, str], bytes], Sequence[Piece]]


def head(status: int = 200, length: int | None = None, **headers: str) -> bytes:
    """Return the head of a response; without a length the body comes in chunks."""
    framing = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\nconnection: close\r\n{more}{framing}\r\n\r\n".encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


END = chunk(b"")


class LocalServer:
    def __init__(self, answer: Answer) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        """Request line, headers with lower-case names, body."""
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._listen, daemon=True)]

    def __enter__(self) -> "LocalServer":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request_line = lines.readline().decode().strip()
            headers: dict[str, str] = {}
            while (line := lines.readline().decode().strip()) != "":
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = lines.read(int(headers.get("content-length", 0)))
            self.requests.append((request_line, headers, body))
            try:
                for piece in self._answer(headers, body):
                    if isinstance(piece, bytes):
                        connection.sendall(piece)
                    elif piece == RESET:
                        linger = struct.pack("ii", 1, 0)
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                        return
                    else:
                        time.sleep(float(piece))
            except OSError:
                pass  # the client went away, as it may


def serve(pages: Mapping[str, Any]) -> LocalServer:
    """Answer paths with JSON; a page may be a function of the body, which is JSON too.

    Concurrent requests must have the same path, which is read from the newest one.
    """

    def answer(_: dict[str, str], body: bytes) -> list[bytes]:
        path = server.requests[-1][0].split()[1].partition("?")[0]
        page = pages.get(path)
        page = page(json.loads(body)) if callable(page) else page
        if page is None:
            return [head(404, 2), b"{}"]
        text = json.dumps(page).encode()
        return [head(200, len(text), content_type="application/json"), text]

    server = LocalServer(answer)
    return server
