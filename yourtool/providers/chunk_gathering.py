"""Combination of response chunks.

Servers send one chunk for each token. Reading one, and everything that follows for it, costs more
than its content. So after a read that had to wait for the network, the next one is delayed: the
system buffers meanwhile, and one read returns all of it.

Nothing is delayed at the beginning of a response, from its first tool call on, or when so much
arrives that reads return enough anyway.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable

_DELAY_SECONDS = 0.022
_WAIT_SECONDS = 0.0005
"""A read that takes longer had to wait; reading buffered bytes takes much less."""
_PROMPT_CHUNKS = 16
"""Number of chunks at the beginning that are not combined."""
_MANY_BYTES = 2**13
"""Bytes without a wait for the network from which reads return enough without a delay."""
_MAX_BUFFERED_BYTES = 256 * 1024
"""Bytes that are read ahead of the consumer."""


async def gather_chunks(
    chunks: AsyncIterator[bytes], may_delay: Callable[[], bool]
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of `chunks` in fewer chunks; an exception follows the bytes before it.

    `may_delay`: whether the content that arrives now can wait for a moment.
    """
    buffer = _Buffer()
    reading = asyncio.create_task(_read(chunks, buffer, may_delay))
    try:
        while (data := await buffer.take()) is not None:
            yield data
        await reading
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


class _Buffer:
    """The bytes between the task that reads and the consumer."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._has_ended = False
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()

    async def put(self, chunk: bytes) -> None:
        """Add a chunk, and wait if the consumer is far behind."""
        self._data += chunk
        self._changed.set()
        if len(self._data) > _MAX_BUFFERED_BYTES:
            self._taken.clear()
            await self._taken.wait()

    def end(self) -> None:
        """No chunk follows."""
        self._has_ended = True
        self._changed.set()

    async def take(self) -> bytes | None:
        """Wait for bytes and return all of them; None at the end."""
        await self._changed.wait()
        if not self._data:
            return None
        data = bytes(self._data)
        self._data.clear()
        self._taken.set()
        if not self._has_ended:
            self._changed.clear()
        return data


async def _read(
    chunks: AsyncIterator[bytes], buffer: _Buffer, may_delay: Callable[[], bool]
) -> None:
    count, size = 0, 0
    try:
        while True:
            started = time.perf_counter()
            if (chunk := await anext(chunks, None)) is None:
                return
            has_waited = time.perf_counter() - started > _WAIT_SECONDS
            await buffer.put(chunk)
            if has_waited:
                if size < _MANY_BYTES and count > _PROMPT_CHUNKS and may_delay():
                    await asyncio.sleep(_DELAY_SECONDS)
                size = 0
            count, size = count + 1, size + len(chunk)
    finally:
        buffer.end()
