"""Paths of media in text.

Terminals paste the path of a dropped file with the quoting of a shell, or unchanged.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from yourtool.foundation.files import is_file, path_exists
from yourtool.providers.media_types import AUDIO_TYPES, IMAGE_TYPES, PDF, sniff

_MAX_SEARCHED_CHARACTERS = 10_000
_MAX_PATHS = 20
_MAX_PATH_CHARACTERS = 4_096
_MEDIA_TYPES = (*IMAGE_TYPES, *AUDIO_TYPES, PDF)
_WORD = re.compile(r"""(?:[^ \t\n'"\\]|'[^'\n]*'|"(?:[^"\\\n]|\\.)*"|\\.)+""")
"""A word of a shell. Other white space, as in the names of screenshots on macOS, is not quoted."""
_STARTS = ("/", "~/", "'/", "'~/", '"/', '"~/', "file:///")
_PUNCTUATION = ".,;:!?)]}>"


class FoundPath(Struct, frozen=True):
    """A path in a text."""

    source: str
    """The path as written in the text."""
    path: Path


def find_media_paths(text: str) -> tuple[FoundPath, ...]:
    """Return the absolute paths in a text that are readable images, or other media if alone.

    Reads a few bytes of each file: call it in a thread.
    """
    alone = text.strip()
    if _is_path_start(alone) and (path := _find_media(unquote_path(alone), _MEDIA_TYPES)):
        return (FoundPath(alone, path),)
    found = dict[str, FoundPath]()
    for word in _iter_path_words(text[:_MAX_SEARCHED_CHARACTERS]):
        for source in dict.fromkeys((word, word.rstrip(_PUNCTUATION))):
            if path := _find_media(unquote_path(source), IMAGE_TYPES):
                found[source] = FoundPath(source, path)
                break
        if len(found) == _MAX_PATHS:
            break
    return tuple(found.values())


def unquote_path(text: str) -> str:
    """Return the path without quotes, escapes or the `file:` scheme."""
    if text.startswith("file:///"):
        return unquote(text.removeprefix("file://"))
    try:
        words = [text] if path_exists(Path(text).expanduser()) else shlex.split(text)
    except (OSError, ValueError, RuntimeError):
        return text
    return words[0] if len(words) == 1 else text


def _iter_path_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].lstrip("([{<")
        if _is_path_start(word):
            yield word


def _is_path_start(text: str) -> bool:
    return text.startswith(_STARTS)


def _find_media(text: str, types: tuple[str, ...]) -> Path | None:
    """Return the path if it is a regular file with content of one of the types."""
    if len(text) > _MAX_PATH_CHARACTERS:
        return None
    try:
        path = Path(text).expanduser()
        if not (path.is_absolute() and is_file(path)):
            return None
        with path.open("rb") as file:
            return path if sniff(file.read(32)) in types else None
    except (OSError, ValueError, RuntimeError):
        return None
