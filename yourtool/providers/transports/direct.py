"""HTTP/1.1 over asyncio: the client for nearly every provider.

It imports about 100 modules fewer than httpx, and hands on all chunks of one read together. It
supports HTTP/1.1 only, and no proxies. It writes requests itself, because h11, which reads the
responses, takes a twentieth of the time until the first request of `-p`.
"""

import asyncio
import os
import re
import socket
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from urllib.parse import quote

from yourtool.providers.transports import certificates, responses
from yourtool.providers.transports.http_client import (
    BEYOND_ASCII,
    CONTROL_CHARACTERS,
    LOST,
    NOT_AN_ADDRESS,
    BrokenBodyError,
    MalformedError,
    RefusedError,
    Timeouts,
    UnreachableError,
)
from yourtool.providers.urls import split_url

_PORTS = {"http": 80, "https": 443}
_PIECE_BYTES = 64 * 1024
"""Sending and encrypting a large body in one piece would block the event loop."""
_READ_BYTES = 32 * 1024
"""The smallest chunks in as many bytes take 0.1 s."""
_IDLE_SECONDS = 5.0
"""Time after which an idle connection is not used again; many servers close it soon after."""
_ATTEMPT_SECONDS = None if sys.version_info[:3] == (3, 13, 0) else 0.25
"""Time after which the next address of a host is tried in parallel (RFC 8305).

Never in Python 3.13.0, which can fail then: https://github.com/python/cpython/issues/124309
"""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~]*")
"""The name and the value of a header, in ASCII: https://www.rfc-editor.org/rfc/rfc9110#section-5"""
_SAFE = "!#$%&'()*+,/:;=?@[]~"
"""Characters of a target that are not encoded; `%` starts one that is encoded already."""


class DirectClient:
    """Client for one base URL; connections that a complete response leaves idle are reused."""

    def __init__(self, base_url: str, timeouts: Timeouts) -> None:
        self._base_url = base_url
        self._timeouts = timeouts
        self._idle: list[_Connection] = []

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> "_Response":
        """Send a request; see `HttpClient.send`."""
        parts = split_url(self._base_url + path)
        if parts is None or not parts.hostname or parts.scheme not in _PORTS:
            raise UnreachableError(NOT_AN_ADDRESS)
        target = quote(parts.path or "/", _SAFE) + (f"?{parts.query}" if parts.query else "")
        length = {} if body is None else {"content-length": str(len(body))}
        fields = {"host": parts.netloc, "accept": "*/*", **headers, **length}
        request = _build_head(method, target, fields)
        connection = await self._take_idle()
        if connection is None:
            port = parts.port or _PORTS[parts.scheme]
            connection = await self._connect(parts.hostname, port, parts.scheme == "https")
        try:
            found = await connection.exchange(request, body or b"", self._timeouts)
            return _Response(found, connection, self)
        except BaseException:
            connection.close()
            raise

    async def close(self) -> None:
        """Close the idle connections; idempotent."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        if idle:
            await asyncio.sleep(0)  # the loop closes their sockets

    def release(self, connection: "_Connection") -> None:
        """Use a connection for the next request."""
        self._idle.append(connection)

    @property
    def timeouts(self) -> Timeouts:
        """The timeouts of every request."""
        return self._timeouts

    async def _take_idle(self) -> "_Connection | None":
        while self._idle:
            connection, is_usable = self._idle.pop(), False
            try:
                is_usable = connection.is_usable and await connection.is_silent()
            finally:  # also if the request is cancelled
                if not is_usable:
                    connection.close()
            if is_usable:
                return connection
        return None

    async def _connect(self, host: str, port: int, is_encrypted: bool) -> "_Connection":
        timeouts = self._timeouts
        try:
            async with asyncio.timeout(timeouts.connect):
                context = None
                if is_encrypted:
                    context = await asyncio.to_thread(certificates.ssl_context, self._base_url)
                reader, writer = await asyncio.open_connection(
                    host,
                    port,
                    ssl=context,
                    limit=_READ_BYTES,
                    happy_eyeballs_delay=_ATTEMPT_SECONDS,
                )
        except TimeoutError as error:
            raise UnreachableError(timeouts.no_connection) from error
        except OSError as error:
            raise RefusedError(_describe(error)) from error
        return _Connection(reader, writer)


def _describe(error: OSError) -> str:
    """Return what went wrong with a connection, without addresses."""
    if isinstance(error, socket.gaierror) or certificates.is_about_encryption(error):
        return str(error)
    return os.strerror(error.errno) if error.errno else "all connection attempts failed"


def _build_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        value = value.strip(" \t")
        if not (name + value).isascii():
            raise UnreachableError(BEYOND_ASCII)
        if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise UnreachableError(CONTROL_CHARACTERS)
        lines.append(f"{name}: {value}")
    return "\r\n".join((*lines, "", "")).encode("ascii")


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._responses: responses.ResponseReader | None = None
        self._used_at = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent."""
        is_open = not self._writer.is_closing() and not self._reader.at_eof()
        return is_open and time.monotonic() - self._used_at < _IDLE_SECONDS

    async def is_silent(self) -> bool:
        """Whether nothing has arrived since the last response, which would answer the next request.

        A server can send 408 before it closes an idle connection.
        """
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return True
        except OSError:
            return False
        return False

    async def exchange(
        self, head: bytes, body: bytes, timeouts: Timeouts
    ) -> "responses.ResponseHead":
        """Send a request and return the head of its response."""
        try:
            async with asyncio.timeout(timeouts.read):
                await self._write(head, body)
                if self._responses is None:
                    self._responses = await asyncio.to_thread(responses.ResponseReader)
                self._responses.expect()
                while (found := self._responses.read_head()) is None:
                    await self._read(self._responses)
                return found
        except TimeoutError as error:
            raise UnreachableError(timeouts.silence) from error
        except (OSError, MalformedError) as error:
            raise UnreachableError(LOST) from error

    async def receive_content(self, seconds: float) -> bytes:
        """Return the content that has arrived, or the next to arrive; empty at the end of the body.

        Raises:
            TimeoutError: nothing arrived within `seconds`.
            OSError: the connection is lost.
            MalformedError: the bytes are malformed, or the body is not complete.
        """
        assert self._responses is not None, "its response has a head"
        while (content := self._responses.read_content()) is None:
            async with asyncio.timeout(seconds):
                await self._read(self._responses)
        return content

    async def _write(self, head: bytes, body: bytes) -> None:
        """Write a request; a server can answer and close before it has read all of it."""
        starts = range(_PIECE_BYTES, len(body), _PIECE_BYTES)
        pieces = (body[at : at + _PIECE_BYTES] for at in starts)
        with suppress(ConnectionError):
            for data in (head + body[:_PIECE_BYTES], *pieces):
                self._writer.write(data)
                await self._writer.drain()

    async def _read(self, found: "responses.ResponseReader") -> None:
        found.feed(await self._reader.read(_READ_BYTES))
        await asyncio.sleep(0)  # a read of bytes that have arrived lets nothing else run

    def try_next_cycle(self) -> bool:
        """Prepare for the next request; False if the server expects none."""
        if self._responses is None or not self._responses.try_next_cycle():
            return False
        self._used_at = time.monotonic()
        return self.is_usable

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()


class _Response:
    def __init__(
        self, head: "responses.ResponseHead", connection: _Connection, client: DirectClient
    ) -> None:
        self.status: int = head.status
        self.headers: Mapping[str, str] = head.headers
        self._connection: _Connection | None = connection
        self._client = client

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the body; see `Response.chunks`."""
        timeouts = self._client.timeouts
        try:
            while self._connection is not None:
                content = await self._connection.receive_content(timeouts.read)
                if not content:
                    return
                yield content
        except TimeoutError as error:
            raise UnreachableError(timeouts.silence) from error
        except (OSError, MalformedError) as error:
            raise BrokenBodyError from error
        raise BrokenBodyError

    async def close(self) -> None:
        """Free the connection; see `Response.close`."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.try_next_cycle():
            self._client.release(connection)
        else:
            connection.close()
            await asyncio.sleep(0)  # the loop closes its socket
