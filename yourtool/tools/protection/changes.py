"""Changes of commands at protected places."""

from msgspec import Struct, field

from yourtool.foundation.line_diff import format_unified
from yourtool.tools.protection.entries import Entry, Tree

_MAX_DIFF_CHARACTERS = 200_000
_MAX_FILES = 100
"""Files of one directory that a diff shows."""


class Change(Struct, frozen=True):
    """A change that was not made by a checkout of the repository, and that the user decides."""

    path: str
    """Relative to the workspace, else absolute."""
    topic: str
    """`git configuration`, `git hooks`, `repository` or `protected file`."""
    reason: str
    """A clause, such as ``it sets `core.hooksPath` ``."""
    place: str
    """The absolute path."""
    before: Tree
    """What is there now, with paths relative to the place; empty: nothing."""
    after: Tree
    """What the command made."""
    created: Tree = field(default_factory=dict[str, Entry])
    """Directories above the place that the command made, by absolute path."""
    deleted: Tree = field(default_factory=dict[str, Entry])
    """Directories above the place that the command deleted."""
    held: str = ""
    """The name next to the place to which it was renamed, because it is too large for memory."""
    original: str = ""
    """The name to which the command had renamed a directory, which is at its place again."""
    is_taken_back: bool = True
    """Whether the place is as it was before the command."""

    @property
    def is_made(self) -> bool:
        """Whether the place is as the command left it, because it could not be taken back."""
        return not self.is_taken_back and self.before == self.after

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all but directories, as `path` is; none if not all are known."""
        entries = (*self.before.items(), *self.after.items())
        if not all(entry.is_complete for _, entry in entries):
            return ()
        paths = dict.fromkeys(path for path, entry in entries if not entry.is_directory)
        return tuple(f"{self.path}/{path}" if path else self.path for path in paths)

    @property
    def diff(self) -> str:
        """A unified diff; for anything but text, lines that describe it."""
        paths = sorted({*self.before, *self.after})
        lines = list[str]()
        for path in paths[:_MAX_FILES]:
            name = f"{self.path}/{path}" if path else self.path
            lines += _format(name, self.before.get(path), self.after.get(path))
        if len(paths) > _MAX_FILES:
            lines.append(f"… and {len(paths) - _MAX_FILES:,} more")
        return "\n".join(lines)[:_MAX_DIFF_CHARACTERS]


class Outcome(Struct, frozen=True):
    """What a command did at protected places."""

    right: tuple[str, ...] = ()
    """The paths of changes that stay."""
    changes: tuple[Change, ...] = ()
    facts: tuple[str, ...] = ()
    """Sentences about what cannot be compared, or what is the user's own business."""


def _format(name: str, before: Entry | None, after: Entry | None) -> list[str]:
    lines = list[str]()
    has_modes = before is not None and after is not None and "link" not in (before.kind, after.kind)
    if before is not None and after is not None and has_modes and before.mode != after.mode:
        lines += [f"old mode {before.mode:o}", f"new mode {after.mode:o}"]
    old, new = _describe(before), _describe(after)
    if old is None and new is None:
        return lines
    names = (f"a/{name}" if before else "/dev/null"), (f"b/{name}" if after else "/dev/null")
    return [*lines, *format_unified(names, old or [], new or [])]


def _describe(entry: Entry | None) -> list[str] | None:
    """Return the lines of an entry in a diff; None without content."""
    if entry is None or (entry.is_directory and entry.is_complete):
        return None
    if entry.is_directory:
        return ["a directory that has too many entries or is unreadable"]
    if entry.kind == "link":
        return [f"a symbolic link to {(entry.content or b'').decode('utf-8', 'replace')}"]
    if entry.kind != "file":
        return [f"a {entry.kind}"]
    if entry.content is None:
        return [f"a file of {entry.stamp[0]:,} bytes, which is too large or unreadable"]
    if b"\0" in entry.content:
        return [f"a binary file of {len(entry.content):,} bytes"]
    return entry.content.decode("utf-8", "replace").splitlines()
