"""Ignored files of a workspace.

Git ignores them; undo restores those that a command deletes. Directories that a program makes
again, such as `node_modules`, are only named. No link is followed.
"""

import os
import stat
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.tools.changes.command_changes import Signature
from yourtool.tools.workspace.workspace import Workspace

_SKIPPED = frozenset({".git", ".hg", ".svn", ".jj"})
_MADE_AGAIN = frozenset(
    {
        "node_modules", "bower_components", "jspm_packages", ".pnpm-store", ".yarn",
        ".venv", "venv", "site-packages", "__pycache__", "__pypackages__", ".tox", ".nox",
        ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints",
        "target", ".gradle", ".m2", ".stack-work", "dist-newstyle", "_build", "deps",
        ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".angular", ".cache",
        ".terraform", ".dart_tool", "Pods", "DerivedData", ".bundle",
    }
)  # fmt: skip
_MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
"""A directory with such a file is a cache (https://bford.info/cachedir/) or an environment."""
MAX_IGNORED_FILES = 20_000
"""Of more, only the directories are named."""
_MAX_LEVELS = 200
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class IgnoredFiles(Struct, frozen=True):
    """Files that git ignores, and directories of them that are only named."""

    files: Mapping[str, Signature]
    directories: frozenset[str]
    """With a slash at the end."""
    is_complete: bool
    """Whether every other file is one that git does not ignore."""

    def has(self, path: str) -> bool:
        """Whether a file is among them, also in a directory that is only named."""
        ends = (at for at, character in enumerate(path, 1) if character == "/")
        return path in self.files or any(path[:end] in self.directories for end in ends)

    def has_unchanged(self, path: str, found: Signature | None, since_ns: int) -> bool:
        """Whether a file that is found now is among them and did not change since a time."""
        if (known := self.files.get(path)) is not None:
            return known == found
        return found is not None and found.ctime_ns < since_ns and self.has(path)

    def without(self, paths: Iterable[str]) -> "IgnoredFiles":
        """Return those at other paths."""
        gone = set(paths)
        files = {path: each for path, each in self.files.items() if path not in gone}
        return IgnoredFiles(files, self.directories - gone, self.is_complete)


NO_IGNORED_FILES = IgnoredFiles({}, frozenset(), is_complete=False)


def find_ignored_files(
    workspace: Workspace, known: Collection[str], folders: Collection[str]
) -> IgnoredFiles:
    """Return the files of a workspace that are not among the known ones.

    `folders`: directories that are not ignored, each with a slash at the end.
    """
    walk = _Walk(workspace, known, folders)
    try:
        with workspace.directory(".") as descriptor:
            walk.read(descriptor, "", 0)
    except ToolError:
        return NO_IGNORED_FILES
    return IgnoredFiles(walk.files, frozenset(walk.named), walk.is_complete)


def find_missing(workspace: Workspace, ignored: IgnoredFiles) -> tuple[list[str], list[str]]:
    """Return the files and the directories that do not exist any more."""
    files, directories = list[str](), list[str]()
    with workspace.directory(".") as descriptor:
        for paths, missing in ((ignored.files, files), (ignored.directories, directories)):
            for path in paths:
                try:
                    os.stat(path.rstrip("/"), dir_fd=descriptor, follow_symlinks=False)
                except (FileNotFoundError, NotADirectoryError):
                    missing.append(path)
                except OSError:
                    pass  # it is there, or that is not known
    return files, directories


class _Walk:
    def __init__(
        self, workspace: Workspace, known: Collection[str], folders: Collection[str]
    ) -> None:
        self._own = workspace.own_files()
        self._known = known
        self._folders = folders
        self.files: dict[str, Signature] = {}
        self.named: list[str] = []
        self.is_complete = True

    def read(self, descriptor: int, prefix: str, level: int) -> None:
        """Read an open directory."""
        below = list[str]()
        with os.scandir(descriptor) as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif path not in self._known:
                    self._add(path, entry)
        for name in below:
            path = f"{prefix}{name}/"
            if name in _SKIPPED:
                continue
            if level >= _MAX_LEVELS:
                self.is_complete = False
                continue
            if path not in self._folders and (
                name in _MADE_AGAIN or len(self.files) >= MAX_IGNORED_FILES
            ):
                self.named.append(path)
                continue
            try:
                opened = os.open(name, _LIST, dir_fd=descriptor)
            except OSError:
                self.is_complete = False
                continue
            try:
                self._enter(opened, path, level)
            finally:
                os.close(opened)

    def _enter(self, opened: int, path: str, level: int) -> None:
        if self._own.contains(os.fstat(opened)):
            return
        if path not in self._folders and not _MARKS.isdisjoint(os.listdir(opened)):
            self.named.append(path)
            return
        self.read(opened, path, level + 1)

    def _add(self, path: str, entry: os.DirEntry[str]) -> None:
        if len(self.files) >= MAX_IGNORED_FILES:
            self.is_complete = False
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            self.files[path] = Signature.of(status)
