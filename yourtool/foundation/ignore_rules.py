"""Rules of nested `.gitignore` files."""

import os

from msgspec import Struct

from yourtool.foundation.wildcards import Wildcard, Wildcards, parse_ignore_file

IGNORE_FILE = ".gitignore"
MAX_IGNORE_FILE_BYTES = 2**20
_MAX_PATTERNS = 5_000
"""Maximum number of patterns read from one file."""
_MAX_WORK = 20_000
"""Limit of the total `Wildcard.work` in a directory, which is spent for every name."""


class IgnoreRules(Struct, frozen=True):
    """The patterns that apply in a directory; paths are relative to the start of a walk."""

    levels: tuple[tuple[int, Wildcards], ...] = ()
    """Of each directory with patterns the length of its path, the nearest first."""
    room: int = _MAX_WORK

    def enter(self, prefix: str, data: bytes) -> tuple["IgnoreRules", bool]:
        """Return the rules in the directory `prefix` with this ignore file.

        The second value: whether all of its patterns apply; of a long file only the first do.
        """
        patterns, is_whole = _parse_patterns(data, self.room)
        room = self.room - sum(pattern.work for pattern in patterns)
        level = len(_to_latin1(prefix)), Wildcards(patterns)
        return IgnoreRules((level, *self.levels), room), is_whole

    def is_ignored(self, prefix: str, name: str, *, is_directory: bool) -> bool:
        """Whether a name in the directory `prefix` is ignored; `prefix` ends with a slash."""
        if not self.levels:
            return False
        name = _to_latin1(name)
        path = _to_latin1(prefix) + name
        for start, wildcards in self.levels:
            verdict = wildcards.verdict(path[start:], name, is_directory=is_directory)
            if verdict is not None:
                return verdict
        return False


def _parse_patterns(data: bytes, room: int) -> tuple[list[Wildcard], bool]:
    """Return the patterns that fit the limits, and whether these are all patterns."""
    text = data[:MAX_IGNORE_FILE_BYTES].removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    patterns = list[Wildcard]()
    for pattern in parse_ignore_file(text):
        room -= pattern.work
        if room < 0 or len(patterns) == _MAX_PATTERNS:
            return patterns, False
        patterns.append(pattern)
    return patterns, len(data) <= MAX_IGNORE_FILE_BYTES


def _to_latin1(name: str) -> str:
    """Return a name with one character per byte, because git matches bytes."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")
