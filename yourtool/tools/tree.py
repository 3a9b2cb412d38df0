"""The files below a directory, without what `.gitignore` files leave out.

The patterns are git's (https://git-scm.com/docs/gitignore), applied here and not by running git,
because a repository's own configuration can make git run programs. Links are not followed, and
repositories' own directories are never entered, nor are those of the program. Every directory is
opened from the one above it.
"""

import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct, field

from yourtool.permissions.own_places import Snapshot
from yourtool.tools.wildcards import Wildcard, Wildcards, parse_ignore_file
from yourtool.tools.workspace import Workspace

_SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
    }
)  # fmt: skip
_IGNORE_FILE = ".gitignore"
_LARGEST_IGNORE_FILE = 2**20
_MOST_PATTERNS = 5_000
"""Patterns that are read from one file."""
_MOST_WORK = 20_000
"""`Wildcard.work` of all patterns that apply in a directory: it costs time for every name."""
_MOST_LEVELS = 200
"""Directories within directories; each that is being read is held open."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder(Struct, frozen=True):
    """The files of one directory."""

    path: str
    """From where the walk began, with a slash at the end; empty for the start itself."""
    names: list[str]


class Tree(Struct, frozen=True):
    """A walk; valid while `open_tree` is open."""

    descriptor: int
    """The directory where it begins."""
    base: str
    """Its path from the workspace, with a slash at the end; empty for the workspace itself."""
    folders: Iterator[Folder]
    cut_ignore_files: list[str] = field(default_factory=list[str])
    """Those of which only the beginning is applied, found so far; paths from the workspace."""


@contextmanager
def open_tree(
    workspace: Workspace, path: str, cancelled: threading.Event
) -> Generator[Tree, None, None]:
    """Walk from `path`, in order; ends early once `cancelled` is set.

    A start that is itself ignored is walked all the same.

    Raises:
        ToolError: `path` is no directory that may be read.
    """
    start = workspace.locate(path)
    base = "" if start == "." else f"{start}/"
    with workspace.directory(path) as descriptor:
        cut = list[str]()
        rules = _above(workspace, start, cut)
        folders = _folders(descriptor, base, rules, cancelled)
        try:
            yield Tree(descriptor, base, folders, cut)
        finally:
            folders.close()


def files(workspace: Workspace, path: str, cancelled: threading.Event) -> Iterator[str]:
    """Yield every regular file below `path`, each relative to the workspace; see `open_tree`."""
    with open_tree(workspace, path, cancelled) as tree:
        for folder in tree.folders:
            prefix = tree.base + folder.path
            for name in folder.names:
                yield prefix + name


class _Rules:
    """What a walk leaves out; the nearest `.gitignore` with a fitting pattern decides.

    Paths are those from the workspace.
    """

    def __init__(
        self,
        own: Snapshot,
        cut: list[str],
        levels: tuple[tuple[int, Wildcards], ...] = (),
        room: int = _MOST_WORK,
    ) -> None:
        self._own = own
        self._cut = cut
        self._levels = levels
        self._room = room

    def within(self, prefix: str, descriptor: int) -> "_Rules":
        if (text := _ignore_file(descriptor)) is None:
            return self
        patterns, is_whole = _patterns(text, self._room)
        if not is_whole:
            self._cut.append(prefix + _IGNORE_FILE)
        room = self._room - sum(pattern.work for pattern in patterns)
        level = len(_bytes(prefix)), Wildcards(patterns)
        return _Rules(self._own, self._cut, (level, *self._levels), room)

    def closes(self, descriptor: int) -> bool:
        """Judge a directory that was opened."""
        return self._own.holds(os.fstat(descriptor))

    def leave_out(self, prefix: str, name: str, *, is_directory: bool) -> bool:
        """Judge one name of the directory `prefix`, before it is opened."""
        if is_directory and name in _SKIPPED:
            return True
        if not self._levels:
            return False
        name = _bytes(name)
        path = _bytes(prefix) + name
        for start, wildcards in self._levels:
            verdict = wildcards.verdict(path[start:], name, is_directory=is_directory)
            if verdict is not None:
                return verdict
        return False


class _Level:
    """A directory in which a walk is."""

    def __init__(
        self,
        descriptor: int,
        path: str,
        prefix: str,
        rules: _Rules,
        cancelled: threading.Event,
    ) -> None:
        self.descriptor = descriptor
        self._path = path
        self._cancelled = cancelled
        names, directories = _listed(descriptor)
        self.rules = rules.within(prefix, descriptor) if _IGNORE_FILE in names else rules
        self.folder = Folder(path, self._chosen(prefix, names, is_directory=False))
        self._directories = iter(self._chosen(prefix, directories, is_directory=True))

    def _chosen(self, prefix: str, names: list[str], *, is_directory: bool) -> list[str]:
        leave_out, is_cancelled = self.rules.leave_out, self._cancelled.is_set
        return [
            name
            for name in names
            if not is_cancelled() and not leave_out(prefix, name, is_directory=is_directory)
        ]

    def next(self, base: str) -> "_Level | None":
        """Open the next directory in this one; what cannot be opened is passed over."""
        for name in self._directories:
            path = f"{self._path}{name}/"
            with suppress(OSError):
                descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=self.descriptor)
                level = None
                try:
                    if not self.rules.closes(descriptor):
                        level = _Level(descriptor, path, base + path, self.rules, self._cancelled)
                        return level
                finally:
                    if level is None:
                        os.close(descriptor)
        return None


def _folders(
    descriptor: int, base: str, rules: _Rules, cancelled: threading.Event
) -> Generator[Folder, None, None]:
    levels = [_Level(os.dup(descriptor), "", base, rules, cancelled)]
    try:
        yield levels[0].folder
        while levels and not cancelled.is_set():
            below = levels[-1].next(base) if len(levels) < _MOST_LEVELS else None
            if below is None:
                os.close(levels.pop().descriptor)
            else:
                levels.append(below)
                yield below.folder
    finally:
        for level in levels:
            os.close(level.descriptor)


def _listed(descriptor: int) -> tuple[list[str], list[str]]:
    """Return the names of regular files and of directories, in order."""
    names, directories = list[str](), list[str]()
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                names.append(entry.name)
    return sorted(names), sorted(directories)


def _above(workspace: Workspace, start: str, cut: list[str]) -> _Rules:
    """Collect the patterns of the directories above `start`, unless they leave it out itself."""
    rules, prefix = _Rules(workspace.own_places(), cut), ""
    if start == "." or start.startswith("/"):
        return rules
    for name in start.split("/"):
        with workspace.directory(prefix or ".") as descriptor:
            rules = rules.within(prefix, descriptor)
        if rules.leave_out(prefix, name, is_directory=True):
            return _Rules(workspace.own_places(), cut)
        prefix += f"{name}/"
    return rules


def _ignore_file(directory: int) -> bytes | None:
    """Return the beginning of an ignore file, with a byte too many where there is more."""
    try:
        descriptor = os.open(_IGNORE_FILE, _OPEN, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(_LARGEST_IGNORE_FILE + 1) if is_regular else None


def _patterns(data: bytes, room: int) -> tuple[list[Wildcard], bool]:
    """Return the patterns for which there is room, and whether those are all."""
    text = data[:_LARGEST_IGNORE_FILE].removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    patterns = list[Wildcard]()
    for pattern in parse_ignore_file(text):
        room -= pattern.work
        if room < 0 or len(patterns) == _MOST_PATTERNS:
            return patterns, False
        patterns.append(pattern)
    return patterns, len(data) <= _LARGEST_IGNORE_FILE


def _bytes(name: str) -> str:
    """Return a name with a character for each byte: git's patterns are about bytes."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")
