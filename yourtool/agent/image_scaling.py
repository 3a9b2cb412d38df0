"""A program of its own, `scaling.py BYTES SIDE`: a picture comes in, one that fits goes out.

It imports nothing of ours and is imported by nothing. The same picture always gives the same bytes.
"""

import io
import sys
from collections.abc import Iterator

from PIL import Image, ImageOps

_MOST_PIXELS = 100_000_000
_QUALITIES = (90, 75, 60)
_SMALLER = 0.7

Image.MAX_IMAGE_PIXELS = None  # checked here, without a warning


class RefusedError(Exception):
    """Why the picture cannot be made to fit."""


def scale_image(content: bytes, limit: int, side: int) -> bytes:
    """Return the picture as PNG or JPEG of at most `limit` bytes and `side` pixels a side.

    Raises:
        RefusedError: it has too many pixels to be decoded.
        OSError: Pillow cannot read it.
    """
    with Image.open(io.BytesIO(content)) as opened:
        if opened.width * opened.height > _MOST_PIXELS:
            raise RefusedError(f"it has more than {_MOST_PIXELS:,} pixels")
        is_photograph = opened.format in ("JPEG", "AVIF", "WEBP", "MPO")
        picture = ImageOps.exif_transpose(opened)
    picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    while True:
        picture.thumbnail((side, side), Image.Resampling.LANCZOS)
        for encoded in _encodings(picture, is_photograph):
            if len(encoded) <= limit:
                return encoded
        side = max(1, int(side * _SMALLER))


def _encodings(picture: Image.Image, is_photograph: bool) -> Iterator[bytes]:
    if not is_photograph or picture.mode == "RGBA":
        yield _encoded(picture, "PNG", optimize=True)
    flat = Image.new("RGB", picture.size, "white")
    flat.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    for quality in _QUALITIES:
        yield _encoded(flat, "JPEG", quality=quality)


def _encoded(picture: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def main() -> int:
    """Read standard input, write standard output; a refusal goes to standard error."""
    limit, side = map(int, sys.argv[1:3])
    try:
        encoded = scale_image(sys.stdin.buffer.read(), limit, side)
    except RefusedError as error:
        sys.stderr.write(f"refused: {error}\n")
        return 1
    sys.stdout.buffer.write(encoded)
    return 0


if __name__ == "__main__":
    sys.exit(main())
