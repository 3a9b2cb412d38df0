"""Pictures made to fit what every provider takes, by Pillow if it is there.

Pillow decodes in a process of its own (`scaling.py`): what a broken picture does to a decoder, it
does to that process alone.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from yourtool.errors import UsageError
from yourtool.models import AdapterCapabilities
from yourtool.providers.media_types import dimensions, orientation

_EVERYWHERE = AdapterCapabilities()
"""What every large provider takes; so a session can go on with another model."""
_SECONDS = 60
_INHERITED = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT")
_CONTAINERS = {
    b"avif": "AVIF",
    b"avis": "AVIF",
    b"heic": "HEIC",
    b"heix": "HEIC",
    b"hevc": "HEIC",
    b"mif1": "HEIC",
    b"msf1": "HEIC",
}


def foreign(content: bytes) -> str | None:
    """Return what a picture is called that models do not take; None: it is something else."""
    if content[:2] == b"BM" and content[6:10] == b"\0\0\0\0":
        return "BMP"
    if content[:4] in (b"II*\0", b"MM\0*"):
        return "TIFF"
    return _CONTAINERS.get(content[8:12]) if content[4:8] == b"ftyp" else None


def is_large(content: bytes) -> bool:
    """Whether some model that takes pictures would refuse this one for its size."""
    sides = dimensions(content) or (0, 0)
    return len(content) > _EVERYWHERE.max_image_bytes or max(sides) > _EVERYWHERE.max_image_side


def fit_image(content: bytes, name: str) -> bytes:
    """Return a picture that is not too large and upright; `content` itself if nothing is to do.

    Whether a model heeds the orientation that a camera writes beside a picture is not documented
    by most makers, and Google asks for upright ones
    (https://ai.google.dev/gemini-api/docs/image-understanding), so it is turned here. With nothing
    to do it with, the picture stays as it is. The same bytes give the same bytes again.

    Raises:
        UsageError: it cannot be made smaller here.
    """
    if find_spec("PIL") is None or not (is_large(content) or orientation(content) != 1):
        return content
    return _scaled(content, name)


def convert_to_png(content: bytes, name: str, kind: str) -> bytes:
    """Return a picture of a foreign kind as one that models take.

    Raises:
        UsageError: it cannot be converted here.
    """
    refusal = f"`{name}` is a {kind} picture, which models do not take; make it a PNG or a JPEG"
    if kind == "HEIC":
        raise UsageError(refusal)
    if find_spec("PIL") is None:
        raise UsageError(f"{refusal}, or `pip install 'yourtool[images]'` to have that done")
    return _scaled(content, name)


def _scaled(content: bytes, name: str) -> bytes:
    limits = (str(_EVERYWHERE.max_image_bytes), str(_EVERYWHERE.many_images_side))
    script = Path(__file__).with_name("scaling.py")
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(script), *limits],
            input=content,
            capture_output=True,
            timeout=_SECONDS,
            env={key: os.environ[key] for key in _INHERITED if key in os.environ},
            check=True,
        )
    except subprocess.CalledProcessError as error:
        if error.stderr.startswith(b"refused: "):
            why = error.stderr.decode("utf-8", "replace").removeprefix("refused: ").strip()
            raise UsageError(f"`{name}` cannot be made to fit: {why}") from error
        raise UsageError(f"`{name}` cannot be decoded; it may be broken") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"`{name}` could not be made to fit; make it smaller") from error
    return done.stdout
