"""Size limits of HTTP responses.

A message has the maximum size of one from a child process. A compressed response is decompressed
in small steps, because a few kilobytes can expand to gigabytes.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable

import httpx2

from yourtool.foundation.decompression import CompressionError, decompress
from yourtool.foundation.json_sizes import MAX_PARTS, has_too_many_parts

MAX_MESSAGE_BYTES = 8 * 2**20
"""Maximum size of a message; the event loop validates it, so it takes a fraction of a second."""
_EVENTS = "text/event-stream"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""What ends an event: https://html.spec.whatwg.org/multipage/server-sent-events.html"""
_ENCODING = "content-encoding"


async def limit_response(response: httpx2.Response) -> None:
    """Let the body of a response fail where it is too large; an event hook of the HTTP client."""
    assert isinstance(response.stream, httpx2.AsyncByteStream), "the client is asynchronous"
    encoding = response.headers.get(_ENCODING, "")
    if encoding:
        del response.headers[_ENCODING]  # the library decompresses each chunk at once
    has_events = response.headers.get("content-type", "").lower().startswith(_EVENTS)
    response.stream = _LimitedBody(response.stream, encoding, has_events=has_events)


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of a response."""

    def __init__(self, body: httpx2.AsyncByteStream, encoding: str, *, has_events: bool) -> None:
        self._body = body
        self._encoding = encoding
        self._has_events = has_events
        self._error = httpx2.SSEError if has_events else httpx2.StreamError
        """What the library passes on as the reason why there is no result."""

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._read(decompress(self._body, self._encoding)):
                yield chunk
        except CompressionError as error:
            raise self._error(f"the response cannot be decompressed: {error}") from error

    async def aclose(self) -> None:
        await self._body.aclose()

    async def _read(self, chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield chunks; the last one of a message only if the message is not too large."""
        message = bytearray()
        async for chunk in chunks:
            start = max(len(message) - 3, 0)
            message += chunk
            end = max(message.rfind(each, start) for each in _ENDS) if self._has_events else -1
            if len(message) > MAX_MESSAGE_BYTES:
                raise self._error(
                    f"the server sent a message of over {MAX_MESSAGE_BYTES >> 20} MiB"
                )
            if end >= 0:
                await self._check(bytes(message[:end]))
                del message[:end]
            yield chunk
        await self._check(bytes(message))

    async def _check(self, message: bytes) -> None:
        if len(message) > MAX_PARTS and await asyncio.to_thread(has_too_many_parts, message):
            raise self._error(f"the server sent a message with over {MAX_PARTS:,} values")
