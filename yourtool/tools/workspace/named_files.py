"""Files of shell patterns.

A pattern is one of `permissions.shell.expansion`. A link at the end of a path is not followed.
"""

import functools
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct

from yourtool.foundation.wildcards import Wildcards, parse_wildcard
from yourtool.permissions.shell.lines.expansion import has_wildcard, unquote

_PLAIN_NAME = re.compile(r"[\w./@+=:~%^*?$#\[\]-]+")
_MAX_NAME = 100
_MAX_NAMED = 5


class ScanLimit:
    """How many names a scan may read, and how long."""

    def __init__(self, count: int, seconds: float, cancelled: threading.Event) -> None:
        self._left = count
        self._deadline = time.monotonic() + seconds
        self._cancelled = cancelled
        self.is_reached = False

    def take(self) -> bool:
        """Whether one more name may be read."""
        self._left -= 1
        is_late = self._left % 64 == 0 and time.monotonic() > self._deadline
        self.is_reached = self.is_reached or self._left < 0 or is_late or self._cancelled.is_set()
        return not self.is_reached


class NamedFile(Struct, frozen=True):
    """A file or directory that a command names."""

    name: str
    """As the command would name it; of a directory with a slash at the end."""
    path: str
    """Absolute, without links in the directories above it."""
    is_directory: bool


def iter_matches(pattern: str, base: str, limit: ScanLimit) -> Iterator[NamedFile]:
    """Yield the existing files that a pattern matches; `base` is where the shell is."""
    prefixes = ["/" if pattern.startswith("/") else ""]
    parts = [part for part in _split_path(pattern) if part]
    for number, part in enumerate(parts):
        end = "" if number == len(parts) - 1 else "/"
        prefixes = [
            f"{prefix}{name}{end}"
            for prefix in prefixes
            for name in _iter_part(part, os.path.join(base, prefix), limit)  # noqa: PTH118
        ]
    for prefix in prefixes:
        if prefix and (found := _find_file(prefix.rstrip("/") or "/", base)) is not None:
            yield found


def _iter_part(part: str, directory: str, limit: ScanLimit) -> Iterator[str]:
    """Yield the names in `directory` that match one part of a path."""
    if not has_wildcard(part):
        yield unquote(part)
        return
    is_hidden = part.startswith((".", "\\."))
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not limit.take():
                    return
                if (is_hidden or entry.name[0] != ".") and matches_name(part, entry.name):
                    yield entry.name
    except OSError:
        return


def list_names(names: Sequence[str]) -> str:
    """Return the first names in one line; it has to be escaped like any external text."""
    return join_names([quote_name(each) for each in names])


def join_names(names: Sequence[str]) -> str:
    """Return the first of several texts in one line."""
    more = f", and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def quote_name(name: str) -> str:
    """Return the name of a file, in quotes if it could be read as several, or as a remark."""
    if len(name) > _MAX_NAME:
        name = f"{name[: _MAX_NAME // 2]}…{name[-_MAX_NAME // 2 :]}"
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


def _split_path(pattern: str) -> Sequence[str]:
    """Return the parts of a pattern; a slash is plain even after a backslash."""
    return pattern.replace("\\/", "/").split("/")


@functools.lru_cache(maxsize=64)
def _build_wildcards(pattern: str) -> Wildcards | None:
    parsed = parse_wildcard(f"\\{pattern}" if pattern[:1] in ("!", "#") else pattern)
    return None if parsed is None else Wildcards([parsed])


def matches_name(pattern: str, name: str) -> bool:
    """Whether a pattern without slashes matches a name."""
    wildcards = _build_wildcards(pattern)
    return wildcards is not None and wildcards.verdict(name, name, is_directory=False) is True


def _find_file(name: str, base: str) -> NamedFile | None:
    """Return a file; None if it does not exist."""
    path = os.path.join(base, name)  # noqa: PTH118
    try:
        is_directory = not os.path.islink(path) and os.path.isdir(path)  # noqa: PTH112, PTH114
        if not os.path.lexists(path):
            return None
        normal = os.path.normpath(path)
        real = normal if normal == "/" else _resolve_parent(normal)
    except (OSError, ValueError):
        return None
    shown = f"{name.rstrip('/')}/" if is_directory else name
    return NamedFile(shown, real, is_directory)


def _resolve_parent(path: str) -> str:
    """Return a path with the links above its last part resolved."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
