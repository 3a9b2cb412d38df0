"""Paths that terminals paste when a file is dropped on the window."""

import shlex
from pathlib import Path
from urllib.parse import unquote

from yourtool.providers.media_types import AUDIO_TYPES, IMAGE_TYPES, PDF, sniff

_MAX_PATH_CHARACTERS = 4_096
_ATTACHABLE_TYPES = (*IMAGE_TYPES, *AUDIO_TYPES, PDF)


def find_dropped_file(text: str) -> str | None:
    """Return the path if a paste consists of the path of an attachable file, else None.

    Terminals paste the path of a dropped file with shell quoting. Reads a few bytes of the file.
    """
    text = text.strip()
    if not text or len(text) > _MAX_PATH_CHARACTERS or "\n" in text or text[0] not in "/~'\"f":
        return None
    try:
        path = Path(unquote_path(text)).expanduser()
        if not (path.is_absolute() and path.is_file() and str(path).isprintable()):
            return None
        with path.open("rb") as file:
            return str(path) if sniff(file.read(32)) in _ATTACHABLE_TYPES else None
    except (OSError, ValueError, RuntimeError):
        return None


def unquote_path(text: str) -> str:
    """Return the path without quotes, escapes or the `file:` scheme."""
    if text.startswith("file:///"):
        return unquote(text.removeprefix("file://"))
    try:
        words = [text] if Path(text).expanduser().exists() else shlex.split(text)
    except (OSError, ValueError, RuntimeError):
        return text
    return words[0] if len(words) == 1 else text
