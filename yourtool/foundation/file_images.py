"""File states and their differences.

It describes a file at one moment, and finds the lines that differ between two versions.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.foundation.line_diff import compare_lines

_MAX_COMPARED_BYTES = 2**20
"""Of each version; larger ones are not compared."""
_MAX_HUNKS = 100
"""Later hunks are joined into one."""
_CONTEXT_LINES = 3
_DIGEST = re.compile("[0-9a-f]{64}")

FileKind: TypeAlias = Literal["absent", "file", "link", "other", "repository"]
"""A repository is the directory `.git`; its content is an archive of all but its objects."""


class FileImage(Struct, frozen=True, omit_defaults=True):
    """The existence, type, mode and content of a path; links are not followed."""

    kind: FileKind
    digest: str = ""
    """SHA-256 of the content, or of the target of a link; empty: unknown."""
    mode: int = 0
    """Permission bits of a regular file."""
    size: int = 0
    """In bytes."""
    stored: bool = False
    """Whether the content is stored, so that the file can be restored."""

    @property
    def is_restorable(self) -> bool:
        """Whether a file can be brought to this state."""
        return self.kind == "absent" or (self.stored and bool(self.digest))

    def is_same(self, other: "FileImage") -> bool:
        """Whether both describe the same known file."""
        if "absent" in (self.kind, other.kind):
            return self.kind == other.kind
        known = bool(self.digest)
        return known and (self.kind, self.digest, self.mode) == (
            other.kind,
            other.digest,
            other.mode,
        )


ABSENT_FILE = FileImage("absent")


def is_digest(text: str) -> bool:
    """Return whether a text can be a SHA-256; in an import it can be anything, also a path."""
    return _DIGEST.fullmatch(text) is not None


class Hunk(Struct, frozen=True, array_like=True):
    """Lines of an old version and the lines of the new version that replace them, from 1."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


class RecordedChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file before and after a call."""

    path: str
    """Relative to the workspace, without links."""
    before: FileImage
    after: FileImage
    directories: tuple[str, ...] = ()
    """Directories that the call created for the file, outermost first."""
    hunks: tuple[Hunk, ...] = ()
    """The changed lines; empty if the content is not text or too large."""

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(hunk.new_count for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Number of removed lines."""
        return sum(hunk.old_count for hunk in self.hunks)

    @property
    def is_undoable(self) -> bool:
        """Whether the change can be taken back and made again."""
        return self.before.is_restorable and self.after.is_restorable


class FileState(Struct, frozen=True):
    """A file with its content."""

    image: FileImage
    content: bytes | None = None
    """The bytes of a file or the target of a link; None if unknown, absent or too large."""


class FileRestore(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that is brought from one state to another."""

    path: str
    before: FileImage
    after: FileImage
    directories: tuple[str, ...] = ()
    """Directories that are created for the file, or removed after it if empty, outermost first."""

    def reverse(self) -> "FileRestore":
        """Return the restore in the other direction."""
        return FileRestore(
            path=self.path, before=self.after, after=self.before, directories=self.directories
        )


class LeftFile(Struct, frozen=True):
    """A file that was not restored, and why."""

    path: str
    reason: str


def find_hunks(before: bytes, after: bytes) -> tuple[Hunk, ...]:
    """Return the changed lines of a text file; none if it is binary or too large."""
    if max(len(before), len(after)) > _MAX_COMPARED_BYTES or b"\0" in before or b"\0" in after:
        return ()
    opcodes = compare_lines(before.splitlines(), after.splitlines())
    hunks = [Hunk(a + 1, b - a, c + 1, d - c) for kind, a, b, c, d in opcodes if kind != "equal"]
    if len(hunks) > _MAX_HUNKS:
        hunks[_MAX_HUNKS - 1 :] = [_join(hunks[_MAX_HUNKS - 1], hunks[-1])]
    return tuple(hunks)


def _join(first: Hunk, last: Hunk) -> Hunk:
    return Hunk(
        first.old_start,
        last.old_start + last.old_count - first.old_start,
        first.new_start,
        last.new_start + last.new_count - first.new_start,
    )


def format_diff(names: tuple[str, str], before: bytes, after: bytes, hunks: Sequence[Hunk]) -> str:
    """Return a unified diff of a text file from its hunks, which `find_hunks` returned.

    The ends of lines are not compared.
    """
    old, new = _decode_lines(before), _decode_lines(after)
    lines = [f"--- {names[0]}", f"+++ {names[1]}"]
    for group in _group_hunks(hunks):
        first, last = group[0], group[-1]
        start = max(1, first.old_start - _CONTEXT_LINES)
        end = min(len(old), last.old_start + last.old_count - 1 + _CONTEXT_LINES)
        shift = first.new_start - first.old_start
        new_end = last.new_start + last.new_count + end - last.old_start - last.old_count
        lines.append(f"@@ -{_format_range(start, end)} +{_format_range(start + shift, new_end)} @@")
        for hunk in group:
            lines += (f" {line}" for line in old[start - 1 : hunk.old_start - 1])
            start = hunk.old_start + hunk.old_count
            lines += (f"-{line}" for line in old[hunk.old_start - 1 : start - 1])
            added = new[hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count]
            lines += (f"+{line}" for line in added)
        lines += (f" {line}" for line in old[start - 1 : end])
    return "\n".join(lines)


def _group_hunks(hunks: Sequence[Hunk]) -> Iterator[Sequence[Hunk]]:
    """Yield the hunks whose context lines touch."""
    group = list[Hunk]()
    for hunk in hunks:
        if group:
            last = group[-1]
            if hunk.old_start - last.old_start - last.old_count > 2 * _CONTEXT_LINES:
                yield group
                group = []
        group.append(hunk)
    if group:
        yield group


def _decode_lines(content: bytes) -> list[str]:
    return [line.decode("utf-8", "replace") for line in content.splitlines()]


def _format_range(start: int, end: int) -> str:
    """Return the lines `start` to `end`; an empty range names the line before."""
    count = end - start + 1
    return f"{start if count else start - 1},{count}"
