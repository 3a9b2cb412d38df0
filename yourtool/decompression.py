"""Decompresses the body of an HTTP response in small steps, whatever its server sends.

A few kilobytes can hold gigabytes. Every step therefore yields a small piece and lets the event
loop run, so that a reader can stop at its own limit. One layer of gzip is asked for and taken;
anything else is refused, since layers multiply.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator

ACCEPTED = {"accept-encoding": "gzip"}
"""The header of a request whose reply `decompressed` reads."""
PIECE = 128 * 1024
"""Most bytes that one step yields."""

_GZIP = zlib.MAX_WBITS | 16


class CompressionError(Exception):
    """A body is compressed in a way that is not read, or it is damaged; the text says which."""


async def decompressed(
    body: AsyncIterable[bytes], encoding: str, limit: int | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield `body`, which has this `Content-Encoding`, and nothing after `limit` bytes.

    Raises:
        CompressionError: see there.
    """
    steps = _steps_of(encoding)
    size = 0
    async for chunk in body:
        for piece in steps.feed(chunk):
            yield piece
            size += len(piece)
            if limit is not None and size >= limit:
                return
            await asyncio.sleep(0)


def _steps_of(encoding: str) -> "_Plain | _Gzip":
    layers = [layer.strip().lower() for layer in encoding.split(",")]
    match [layer for layer in layers if layer not in ("", "identity")]:
        case []:
            return _Plain()
        case ["gzip" | "x-gzip"]:
            return _Gzip()
        case [_]:
            raise CompressionError(f"the reply is compressed with `{encoding[:40]}`, not with gzip")
        case _:
            raise CompressionError(
                f"the reply is compressed more than once (`{encoding[:40]}`), which is not read"
            )


class _Plain:
    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if chunk:
            yield chunk


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk; what follows the end of the compressed data is ignored."""
        piece = b"\0" * PIECE
        # A full piece may have left something in the decompressor, even if all input was taken.
        while not self._stream.eof and (chunk or len(piece) == PIECE):
            try:
                piece = self._stream.decompress(chunk, PIECE)
            except zlib.error as error:
                raise CompressionError(f"the compressed reply is damaged: {error}") from error
            chunk = self._stream.unconsumed_tail
            if piece:
                yield piece
            elif not chunk:
                return
