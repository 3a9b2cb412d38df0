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

from msgspec import Struct

from yourtool.permissions.own_places import Snapshot
from yourtool.tools.wildcards import Wildcards, parse_ignore_file
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
"""Patterns that are read from one file; what a hostile one could add costs time for every name."""
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
        rules = _above(workspace, start)
        folders = _folders(descriptor, base, rules, cancelled)
        try:
            yield Tree(descriptor, base, folders)
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

    def __init__(self, own: Snapshot, levels: tuple[tuple[int, Wildcards], ...] = ()) -> None:
        self._own = own
        self._levels = levels

    def within(self, prefix: str, descriptor: int) -> "_Rules":
        if (wildcards := _wildcards(descriptor)) is None:
            return self
        return _Rules(self._own, ((len(_bytes(prefix)), wildcards), *self._levels))

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

    def __init__(self, descriptor: int, path: str, prefix: str, rules: _Rules) -> None:
        self.descriptor = descriptor
        self._path = path
        names, directories = _listed(descriptor)
        self.rules = rules.within(prefix, descriptor) if _IGNORE_FILE in names else rules
        leave_out = self.rules.leave_out
        self.folder = Folder(
            path, [name for name in names if not leave_out(prefix, name, is_directory=False)]
        )
        self._directories = iter(
            [name for name in directories if not leave_out(prefix, name, is_directory=True)]
        )

    def next(self, base: str) -> "_Level | None":
        """Open the next directory in this one; what cannot be opened is passed over."""
        for name in self._directories:
            path = f"{self._path}{name}/"
            with suppress(OSError):
                descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=self.descriptor)
                level = None
                try:
                    if not self.rules.closes(descriptor):
                        level = _Level(descriptor, path, base + path, self.rules)
                        return level
                finally:
                    if level is None:
                        os.close(descriptor)
        return None


def _folders(
    descriptor: int, base: str, rules: _Rules, cancelled: threading.Event
) -> Generator[Folder, None, None]:
    levels = [_Level(os.dup(descriptor), "", base, rules)]
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


def _above(workspace: Workspace, start: str) -> _Rules:
    """Collect the patterns of the directories above `start`, unless they leave it out itself."""
    rules, prefix = _Rules(workspace.own_places()), ""
    if start == "." or start.startswith("/"):
        return rules
    for name in start.split("/"):
        with workspace.directory(prefix or ".") as descriptor:
            rules = rules.within(prefix, descriptor)
        if rules.leave_out(prefix, name, is_directory=True):
            return _Rules(workspace.own_places())
        prefix += f"{name}/"
    return rules


def _wildcards(directory: int) -> Wildcards | None:
    try:
        descriptor = os.open(_IGNORE_FILE, _OPEN, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        text = file.read(_LARGEST_IGNORE_FILE).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return Wildcards(parse_ignore_file(text)[:_MOST_PATTERNS])


def _bytes(name: str) -> str:
    """Return a name with a character for each byte: git's patterns are about bytes."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")
