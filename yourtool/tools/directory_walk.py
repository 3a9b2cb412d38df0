"""Walks the files below a directory, without those that `.gitignore` files ignore.

The patterns follow https://git-scm.com/docs/gitignore but git itself is not run, because the
configuration of a repository can make it run programs. Symbolic links are not followed. Directories
such as `.git` and the program's own directories are skipped. Every directory is opened relative to
its parent.
"""

import os
import stat
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter

from msgspec import Struct, field

from yourtool.permissions.own_directories import OwnFiles
from yourtool.tools.wildcards import Wildcard, Wildcards, parse_ignore_file
from yourtool.tools.workspace import Workspace

_SKIPPED_DIRECTORIES = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
    }
)  # fmt: skip
_IGNORE_FILE = ".gitignore"
_MAX_IGNORE_FILE_BYTES = 2**20
_MAX_PATTERNS = 5_000
"""Maximum number of patterns read from one file."""
_MAX_WORK = 20_000
"""Limit of the total `Wildcard.work` in a directory, which is spent for every name."""
_MAX_LEVELS = 200
"""Maximum nesting of directories, each of which stays open during the walk."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Folder(Struct, frozen=True):
    """The files of one directory."""

    path: str
    """Relative to the start of the walk, with a trailing slash; empty for the start itself."""
    names: list[str]
    links: list[str] = field(default_factory=list[str])
    """Symbolic links."""


class Tree(Struct, frozen=True):
    """A walk; valid while `open_tree` is open."""

    descriptor: int
    """The start directory."""
    base: str
    """Its path in the workspace, with a trailing slash; empty for the workspace itself."""
    folders: Iterator[Folder]
    truncated_ignore_files: list[str] = field(default_factory=list[str])
    """Ignore files found so far of which only the first patterns apply; workspace paths."""


@contextmanager
def open_tree(
    workspace: Workspace, path: str, cancelled: threading.Event
) -> Generator[Tree, None, None]:
    """Walk from `path` in sorted order; stops when `cancelled` is set.

    `path` itself can be an ignored directory.

    Raises:
        ToolError: `path` is not a readable directory.
    """
    start = workspace.locate(path)
    base = "" if start == "." else f"{start}/"
    with workspace.directory(path) as descriptor:
        truncated = list[str]()
        rules = _rules_above(workspace, start, truncated)
        folders = _walk_folders(descriptor, base, rules, cancelled)
        try:
            yield Tree(descriptor, base, folders, truncated)
        finally:
            folders.close()


def sort_newest_first(descriptor: int, folders: Iterable[Folder]) -> Iterator[Folder]:
    """Yield the files of folders by their last change; those that change at once by their path.

    A folder is yielded once for each of its files that come one after the other.
    """
    files = [
        (-_last_change(descriptor, each.path + name), each.path, name)
        for each in folders
        for name in each.names
    ]
    for path, group in groupby(sorted(files), key=itemgetter(1)):
        yield Folder(path, [name for _, _, name in group])


def _last_change(descriptor: int, path: str) -> int:
    """Return nanoseconds; 0 if the file is gone."""
    try:
        return os.stat(path, dir_fd=descriptor, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def iter_files(workspace: Workspace, path: str, cancelled: threading.Event) -> Iterator[str]:
    """Yield the workspace path of every regular file below `path`; see `open_tree`."""
    with open_tree(workspace, path, cancelled) as tree:
        for folder in tree.folders:
            prefix = tree.base + folder.path
            for name in folder.names:
                yield prefix + name


class _IgnoreRules:
    """Decides which files a walk skips; the nearest `.gitignore` with a matching pattern decides.

    Paths are relative to the workspace.
    """

    def __init__(
        self,
        own: OwnFiles,
        truncated: list[str],
        levels: tuple[tuple[int, Wildcards], ...] = (),
        room: int = _MAX_WORK,
    ) -> None:
        self._own = own
        self._truncated = truncated
        self._levels = levels
        self._room = room

    def enter(self, prefix: str, descriptor: int) -> "_IgnoreRules":
        if (text := _read_ignore_file(descriptor)) is None:
            return self
        patterns, is_whole = _parse_patterns(text, self._room)
        if not is_whole:
            self._truncated.append(prefix + _IGNORE_FILE)
        room = self._room - sum(pattern.work for pattern in patterns)
        level = len(_to_latin1(prefix)), Wildcards(patterns)
        return _IgnoreRules(self._own, self._truncated, (level, *self._levels), room)

    def is_own_place(self, descriptor: int) -> bool:
        """Whether an opened directory belongs to the program itself."""
        return self._own.contains(os.fstat(descriptor))

    def is_ignored(self, prefix: str, name: str, *, is_directory: bool) -> bool:
        """Whether to skip a name in the directory `prefix`, before it is opened."""
        if is_directory and name in _SKIPPED_DIRECTORIES:
            return True
        if not self._levels:
            return False
        name = _to_latin1(name)
        path = _to_latin1(prefix) + name
        for start, wildcards in self._levels:
            verdict = wildcards.verdict(path[start:], name, is_directory=is_directory)
            if verdict is not None:
                return verdict
        return False


class _OpenFolder:
    """A directory on the current path of a walk."""

    def __init__(
        self,
        descriptor: int,
        path: str,
        prefix: str,
        rules: _IgnoreRules,
        cancelled: threading.Event,
    ) -> None:
        self.descriptor = descriptor
        self._path = path
        self._cancelled = cancelled
        names, directories, links = _scan(descriptor)
        self.rules = rules.enter(prefix, descriptor) if _IGNORE_FILE in names else rules
        self.folder = Folder(
            path,
            self._without_ignored(prefix, names, is_directory=False),
            self._without_ignored(prefix, links, is_directory=False),
        )
        self._directories = iter(self._without_ignored(prefix, directories, is_directory=True))

    def _without_ignored(self, prefix: str, names: list[str], *, is_directory: bool) -> list[str]:
        leave_out, is_cancelled = self.rules.is_ignored, self._cancelled.is_set
        return [
            name
            for name in names
            if not is_cancelled() and not leave_out(prefix, name, is_directory=is_directory)
        ]

    def open_next(self, base: str) -> "_OpenFolder | None":
        """Open the next subdirectory; unreadable ones are skipped."""
        for name in self._directories:
            path = f"{self._path}{name}/"
            with suppress(OSError):
                descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=self.descriptor)
                level = None
                try:
                    if not self.rules.is_own_place(descriptor):
                        level = _OpenFolder(
                            descriptor, path, base + path, self.rules, self._cancelled
                        )
                        return level
                finally:
                    if level is None:
                        os.close(descriptor)
        return None


def _walk_folders(
    descriptor: int, base: str, rules: _IgnoreRules, cancelled: threading.Event
) -> Generator[Folder, None, None]:
    levels = [_OpenFolder(os.dup(descriptor), "", base, rules, cancelled)]
    try:
        yield levels[0].folder
        while levels and not cancelled.is_set():
            below = levels[-1].open_next(base) if len(levels) < _MAX_LEVELS else None
            if below is None:
                os.close(levels.pop().descriptor)
            else:
                levels.append(below)
                yield below.folder
    finally:
        for level in levels:
            os.close(level.descriptor)


def _scan(descriptor: int) -> tuple[list[str], list[str], list[str]]:
    """Return the sorted names of regular files, of directories and of links."""
    names, directories, links = list[str](), list[str](), list[str]()
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            elif entry.is_symlink():
                links.append(entry.name)
    return sorted(names), sorted(directories), sorted(links)


def _rules_above(workspace: Workspace, start: str, truncated: list[str]) -> _IgnoreRules:
    """Return the patterns of the directories above `start`; no patterns if they ignore `start`."""
    rules, prefix = _IgnoreRules(workspace.own_files(), truncated), ""
    if start == "." or start.startswith("/"):
        return rules
    for name in start.split("/"):
        with workspace.directory(prefix or ".") as descriptor:
            rules = rules.enter(prefix, descriptor)
        if rules.is_ignored(prefix, name, is_directory=True):
            return _IgnoreRules(workspace.own_files(), truncated)
        prefix += f"{name}/"
    return rules


def _read_ignore_file(directory: int) -> bytes | None:
    """Return the start of an ignore file; longer than the maximum if the file is."""
    try:
        descriptor = os.open(_IGNORE_FILE, _OPEN, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(_MAX_IGNORE_FILE_BYTES + 1) if is_regular else None


def _parse_patterns(data: bytes, room: int) -> tuple[list[Wildcard], bool]:
    """Return the patterns that fit the limits, and whether these are all patterns."""
    text = data[:_MAX_IGNORE_FILE_BYTES].removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    patterns = list[Wildcard]()
    for pattern in parse_ignore_file(text):
        room -= pattern.work
        if room < 0 or len(patterns) == _MAX_PATTERNS:
            return patterns, False
        patterns.append(pattern)
    return patterns, len(data) <= _MAX_IGNORE_FILE_BYTES


def _to_latin1(name: str) -> str:
    """Return a name with one character per byte, because git matches bytes."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")
