"""Paths as terminals paste them when a file is dropped on the window."""

import shlex
from pathlib import Path
from urllib.parse import unquote

from yourtool.providers.media_types import AUDIO_TYPES, IMAGE_TYPES, PDF, sniff

_LONGEST_PATH = 4_096
_OFFERED = (*IMAGE_TYPES, *AUDIO_TYPES, PDF)


def pasted_file(text: str) -> str | None:
    """Return the path that a paste is, if it is nothing else and names what can be attached.

    Terminals paste the path of a file that is dropped on them, quoted as a shell would have it.
    Blocks on the file system for a few bytes.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_PATH or "\n" in text or text[0] not in "/~'\"f":
        return None
    try:
        path = Path(unquoted(text)).expanduser()
        if not (path.is_absolute() and path.is_file() and str(path).isprintable()):
            return None
        with path.open("rb") as file:
            return str(path) if sniff(file.read(32)) in _OFFERED else None
    except (OSError, ValueError, RuntimeError):
        return None


def unquoted(text: str) -> str:
    """Return the path that a path in quotes, with escapes or as a `file:` URL means."""
    if text.startswith("file:///"):
        return unquote(text.removeprefix("file://"))
    try:
        words = [text] if Path(text).expanduser().exists() else shlex.split(text)
    except (OSError, ValueError, RuntimeError):
        return text
    return words[0] if len(words) == 1 else text
