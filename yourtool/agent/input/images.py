"""Scaled and converted images.

Every provider accepts the result. The module needs Pillow. Pillow decodes in a separate process
(`image_scaling.py`), so that a malicious image cannot harm this one.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from yourtool.errors import UsageError
from yourtool.foundation.extras import build_install_command
from yourtool.models import AdapterCapabilities
from yourtool.providers.media_types import dimensions, orientation

_COMMON_LIMITS = AdapterCapabilities()
"""Limits that every large provider accepts, so that a session can switch models."""
_TIMEOUT_SECONDS = 60
_INHERITED_VARIABLES = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT")
_CONTAINER_BRANDS = {
    b"avif": "AVIF",
    b"avis": "AVIF",
    b"heic": "HEIC",
    b"heix": "HEIC",
    b"hevc": "HEIC",
    b"mif1": "HEIC",
    b"msf1": "HEIC",
}


def unsupported_format(content: bytes) -> str | None:
    """Return the name of an image format that models do not accept, or None for other content."""
    if content[:2] == b"BM" and content[6:10] == b"\0\0\0\0":
        return "BMP"
    if content[:4] in (b"II*\0", b"MM\0*"):
        return "TIFF"
    return _CONTAINER_BRANDS.get(content[8:12]) if content[4:8] == b"ftyp" else None


def is_large(content: bytes) -> bool:
    """Return whether some models would reject this image for its size."""
    sides = dimensions(content) or (0, 0)
    return (
        len(content) > _COMMON_LIMITS.max_image_bytes or max(sides) > _COMMON_LIMITS.max_image_side
    )


def fit_image(content: bytes, name: str) -> bytes:
    """Return the image scaled down and upright, or `content` if nothing needs to change.

    Most providers do not document whether their models apply the EXIF orientation, and Google
    recommends upright images (https://ai.google.dev/gemini-api/docs/image-understanding), so the
    image is rotated here. Without Pillow it is returned unchanged. The output is deterministic.

    Raises:
        UsageError: the image cannot be scaled.
    """
    if find_spec("PIL") is None or not (is_large(content) or orientation(content) != 1):
        return content
    return _scale_in_subprocess(content, name)


def convert_to_png(content: bytes, name: str, kind: str) -> bytes:
    """Return an image of an unsupported format as PNG or JPEG.

    Raises:
        UsageError: the image cannot be converted.
    """
    refusal = f"`{name}` is a {kind} image, which models do not accept; convert it to PNG or JPEG"
    if kind == "HEIC":
        raise UsageError(refusal)
    if find_spec("PIL") is None:
        raise UsageError(
            f"{refusal}, or run `{build_install_command('images')}` to have it converted"
        )
    return _scale_in_subprocess(content, name)


def _scale_in_subprocess(content: bytes, name: str) -> bytes:
    limits = (str(_COMMON_LIMITS.max_image_bytes), str(_COMMON_LIMITS.many_images_side))
    script = Path(__file__).with_name("image_scaling.py")
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(script), *limits],
            input=content,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            env={key: os.environ[key] for key in _INHERITED_VARIABLES if key in os.environ},
            check=True,
        )
    except subprocess.CalledProcessError as error:
        if error.stderr.startswith(b"refused: "):
            why = error.stderr.decode("utf-8", "replace").removeprefix("refused: ").strip()
            raise UsageError(f"`{name}` cannot be scaled: {why}") from error
        raise UsageError(f"`{name}` cannot be decoded; it may be broken") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"`{name}` could not be scaled; make it smaller") from error
    return done.stdout
