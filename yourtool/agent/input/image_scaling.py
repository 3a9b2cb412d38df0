"""Separate program for image scaling.

It imports nothing of this package and nothing imports it. The output is deterministic.
"""

import io
import sys
from collections.abc import Iterator

from PIL import Image, ImageOps

_MAX_PIXELS = 100_000_000
_QUALITIES = (90, 75, 60)
_SHRINK_FACTOR = 0.7

Image.MAX_IMAGE_PIXELS = None  # checked here, without a warning


class TooManyPixelsError(Exception):
    """The image has too many pixels to be decoded."""


def scale_image(content: bytes, limit: int, side: int) -> bytes:
    """Return the image as PNG or JPEG of at most `limit` bytes and `side` pixels a side.

    Raises:
        RefusedError: it has too many pixels to be decoded.
        OSError: Pillow cannot read it.
    """
    with Image.open(io.BytesIO(content)) as opened:
        if opened.width * opened.height > _MAX_PIXELS:
            raise TooManyPixelsError(f"it has more than {_MAX_PIXELS:,} pixels")
        is_photograph = opened.format in ("JPEG", "AVIF", "WEBP", "MPO")
        image = ImageOps.exif_transpose(opened)
    image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    while True:
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        for data in _encodings(image, is_photograph):
            if len(data) <= limit:
                return data
        side = max(1, int(side * _SHRINK_FACTOR))


def _encodings(image: Image.Image, is_photograph: bool) -> Iterator[bytes]:
    if not is_photograph or image.mode == "RGBA":
        yield _encode(image, "PNG", optimize=True)
    flat = Image.new("RGB", image.size, "white")
    flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    for quality in _QUALITIES:
        yield _encode(flat, "JPEG", quality=quality)


def _encode(image: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def main() -> int:
    """Scale the image from stdin to stdout; write the reason for a refusal to stderr."""
    limit, side = map(int, sys.argv[1:3])
    try:
        data = scale_image(sys.stdin.buffer.read(), limit, side)
    except TooManyPixelsError as error:
        sys.stderr.write(f"refused: {error}\n")
        return 1
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
