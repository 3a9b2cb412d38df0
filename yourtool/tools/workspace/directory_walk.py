"""Walk of the files below a directory.

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

from yourtool.foundation.ignore_rules import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, IgnoreRules
from yourtool.permissions.own_directories import OwnFiles
from yourtool.tools.workspace.workspace import Workspace

_SKIPPED_DIRECTORIES = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
    }
)  # fmt: skip
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


class _WalkRules:
    """Decides which files a walk skips; paths are relative to the workspace."""

    def __init__(
        self, own: OwnFiles, truncated: list[str], ignored: IgnoreRules | None = None
    ) -> None:
        self._own = own
        self._truncated = truncated
        self._ignored = ignored or IgnoreRules()

    def enter(self, prefix: str, descriptor: int) -> "_WalkRules":
        if (text := _read_ignore_file(descriptor)) is None:
            return self
        ignored, is_whole = self._ignored.enter(prefix, text)
        if not is_whole:
            self._truncated.append(prefix + IGNORE_FILE)
        return _WalkRules(self._own, self._truncated, ignored)

    def is_own_place(self, descriptor: int) -> bool:
        """Whether an opened directory belongs to the program itself."""
        return self._own.contains(os.fstat(descriptor))

    def is_ignored(self, prefix: str, name: str, *, is_directory: bool) -> bool:
        """Whether to skip a name in the directory `prefix`, before it is opened."""
        if is_directory and name in _SKIPPED_DIRECTORIES:
            return True
        return self._ignored.is_ignored(prefix, name, is_directory=is_directory)


class _OpenFolder:
    """A directory on the current path of a walk."""

    def __init__(
        self,
        descriptor: int,
        path: str,
        prefix: str,
        rules: _WalkRules,
        cancelled: threading.Event,
    ) -> None:
        self.descriptor = descriptor
        self._path = path
        self._cancelled = cancelled
        names, directories, links = _scan(descriptor)
        self.rules = rules.enter(prefix, descriptor) if IGNORE_FILE in names else rules
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
    descriptor: int, base: str, rules: _WalkRules, cancelled: threading.Event
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


def _rules_above(workspace: Workspace, start: str, truncated: list[str]) -> _WalkRules:
    """Return the patterns of the directories above `start`; no patterns if they ignore `start`."""
    rules, prefix = _WalkRules(workspace.own_files(), truncated), ""
    if start == "." or start.startswith("/"):
        return rules
    for name in start.split("/"):
        with workspace.directory(prefix or ".") as descriptor:
            rules = rules.enter(prefix, descriptor)
        if rules.is_ignored(prefix, name, is_directory=True):
            return _WalkRules(workspace.own_files(), truncated)
        prefix += f"{name}/"
    return rules


def _read_ignore_file(directory: int) -> bytes | None:
    """Return the start of an ignore file; longer than the maximum if the file is."""
    try:
        descriptor = os.open(IGNORE_FILE, _OPEN, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(MAX_IGNORE_FILE_BYTES + 1) if is_regular else None
