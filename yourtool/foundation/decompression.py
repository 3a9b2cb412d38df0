"""Decompression of HTTP response bodies in small steps.

A few kilobytes can expand to gigabytes. Every step therefore yields a small piece, so that the
reader can stop at its limit, and the event loop runs after every `MAX_PIECE_BYTES`, or sooner
if the pieces are tiny. One layer of
gzip is accepted; anything else is refused, because the expansion of layers multiplies.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator

ACCEPTED = {"accept-encoding": "gzip"}
"""The request header for a response that `decompressed` reads."""
MAX_PIECE_BYTES = 128 * 1024
"""Maximum number of bytes per step."""
_LEAST_BYTES = 512
"""What a piece counts at least: each costs time, and a flood of tiny ones waits for nothing."""

_GZIP = zlib.MAX_WBITS | 16


class CompressionError(Exception):
    """The body is damaged, or its encoding is not supported."""


async def decompress(
    body: AsyncIterable[bytes], encoding: str, limit: int | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield the decompressed `body`, and stop after `limit` bytes.

    Raises:
        CompressionError: the body is damaged, or `encoding` is not supported.
    """
    steps = _get_decoder(encoding)
    size = unpaused = 0
    async for chunk in body:
        for piece in steps.feed(chunk):
            yield piece
            size += len(piece)
            unpaused += max(len(piece), _LEAST_BYTES)
            if limit is not None and size >= limit:
                return
            if unpaused >= MAX_PIECE_BYTES:
                unpaused = 0
                await asyncio.sleep(0)


def _get_decoder(encoding: str) -> "_Plain | _Gzip":
    layers = [layer.strip().lower() for layer in encoding.split(",")]
    match [layer for layer in layers if layer not in ("", "identity")]:
        case []:
            return _Plain()
        case ["gzip" | "x-gzip"]:
            return _Gzip()
        case [_]:
            raise CompressionError(f"the reply is compressed with `{encoding[:40]}`, not gzip")
        case _:
            raise CompressionError(
                f"the reply is compressed more than once (`{encoding[:40]}`), which is unsupported"
            )


class _Plain:
    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if chunk:
            yield chunk


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk; data after the end of the gzip stream is ignored."""
        piece = b"\0" * MAX_PIECE_BYTES
        # After a full piece the decompressor may have more output, even if all input is consumed.
        while not self._stream.eof and (chunk or len(piece) == MAX_PIECE_BYTES):
            try:
                piece = self._stream.decompress(chunk, MAX_PIECE_BYTES)
            except zlib.error as error:
                raise CompressionError(f"the compressed reply is damaged: {error}") from error
            chunk = self._stream.unconsumed_tail
            if piece:
                yield piece
            elif not chunk:
                return
