"""JSON-RPC messages on two file descriptors.

https://agentclientprotocol.com/protocol/transports and https://www.jsonrpc.org/specification

The descriptors can be pipes, files or terminals, so reading and writing block and have a thread
each. Both threads end with the process: a client may stop reading and keep its end open.
"""

import asyncio
import json
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from yourtool.foundation.json_sizes import MAX_PARTS, has_too_many_parts
from yourtool.tools.processes.json_rpc import PARSE_ERROR, MessageError, parse_message

_log = logging.getLogger(__name__)

MAX_LINE = 96 * 2**20
"""Bytes of a message; a prompt can have an attachment of 64 MiB, in base64."""
_READ_BYTES = 2**16
_PATIENCE = 2.0
"""Seconds in which a client has to read something after the end of the input."""


class LineTransport:
    """The transport of a connection; implements the library's `Transport`.

    Lines that are not messages are answered here. The end of the input is received only when all
    requests have been answered.
    """

    def __init__(self, source: int, target: int, on_end: Callable[[], None]) -> None:
        """`on_end` is called at the end of the input."""
        self._source = source
        self._target = target
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[dict[str, Any] | MessageError | None] = asyncio.Queue()
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._waiting = set[asyncio.Future[None]]()
        self._written = 0
        self._unanswered = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._has_ended = self._is_broken = False
        self._writer = threading.Thread(target=self._write_lines, daemon=True)
        self._writer.start()
        threading.Thread(target=self._read_lines, daemon=True).start()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None after the end, when all requests have been answered."""
        while (message := await self._incoming.get()) is not None:
            if isinstance(message, MessageError):
                with suppress(ConnectionError):
                    await self._write(_build_error(message))
                continue
            if "method" in message and "id" in message:
                self._unanswered += 1
                self._all_answered.clear()
            return message
        self._has_ended = True
        self._on_end()
        self._loop.call_later(_PATIENCE, self._give_up_unless_read, self._written)
        await self._all_answered.wait()
        return None

    def end(self) -> None:
        """End the input, as if the client had closed it."""
        self._incoming.put_nowait(None)

    @property
    def can_answer(self) -> bool:
        """Whether the client can still answer a request."""
        return not (self._has_ended or self._is_broken)

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; messages are written in the order of the calls.

        Raises:
            ConnectionError: the client has closed the output, or does not read it.
        """
        try:
            await self._write(message)
        finally:
            if "id" in message and "method" not in message:
                self._unanswered -= 1
                if not self._unanswered:
                    self._all_answered.set()

    async def close(self) -> None:
        """Wait until everything is written, but not for a client that does not read."""
        self._outgoing.put(None)
        await asyncio.to_thread(self._writer.join, _PATIENCE)

    async def _write(self, message: dict[str, Any]) -> None:
        if self._is_broken:
            raise ConnectionError("the client has closed the connection")
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.add(done)
        self._outgoing.put((json.dumps(message, separators=(",", ":")).encode() + b"\n", done))
        try:
            await done
        finally:
            self._waiting.discard(done)

    def _give_up_unless_read(self, written: int) -> None:
        """Fail what waits if the client has read nothing since `written` messages."""
        if self._written > written:
            self._loop.call_later(_PATIENCE, self._give_up_unless_read, self._written)
        elif self._waiting:
            self._break("the client does not read")

    def _break(self, reason: str) -> None:
        self._is_broken = True
        self.end()
        for done in tuple(self._waiting):
            if not done.done():
                done.set_exception(ConnectionError(reason))

    def _settle(self, done: "asyncio.Future[None]") -> None:
        self._written += 1
        if not done.done():
            done.set_result(None)

    def _read_lines(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            for line in _iter_lines(self._source):
                try:
                    message = _parse(line)
                except MessageError as error:
                    message = error
                if message is not None:
                    self._loop.call_soon_threadsafe(self._incoming.put_nowait, message)
            self._loop.call_soon_threadsafe(self._incoming.put_nowait, None)

    def _write_lines(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while (item := self._outgoing.get()) is not None:
                data, done = item
                try:
                    while data:
                        data = data[os.write(self._target, data) :]
                except OSError as error:
                    reason = error.strerror or str(error)
                    self._loop.call_soon_threadsafe(self._break, reason)
                    return
                self._loop.call_soon_threadsafe(self._settle, done)


def _iter_lines(source: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not blank, cut after `MAX_LINE` + 1 bytes."""
    line = bytearray()
    while True:
        try:
            data = os.read(source, _READ_BYTES)
        except OSError:
            data = b""  # a terminal was closed
        *ends, rest = data.split(b"\n") if data else (b"", b"")
        for end in ends:
            line += end
            if line.strip():
                yield bytes(line)
            line.clear()
        if not data:
            return
        line += rest
        del line[MAX_LINE + 1 :]


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the message of a line; None if nothing can be done with it.

    Raises:
        MessageError: it is no message.
    """
    if len(line) > MAX_LINE:
        raise MessageError(PARSE_ERROR, f"A message is longer than {MAX_LINE:,} bytes.")
    if has_too_many_parts(line):
        raise MessageError(PARSE_ERROR, f"A message has more than {MAX_PARTS:,} values.")
    message = parse_message(line)
    if "method" not in message and message.get("id") is None:
        _log.warning("the client reports: %s", message["error"]["message"])
        return None
    return message


def _build_error(error: MessageError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": error.code, "message": str(error)}}
