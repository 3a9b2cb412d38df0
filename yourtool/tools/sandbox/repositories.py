"""The git directories that commands in a workspace can write.

A repository is used as a whole: in a directory of it, git also changes what is above. A `.git` that
is a file names another directory, which can be anywhere, so it counts only if that directory names
this one in return, as git writes it for worktrees and submodules.

https://git-scm.com/docs/gitrepository-layout
"""

import os
import stat
from pathlib import Path

from msgspec import Struct

_MAX_BYTES = 8_192
_MAX_PARENTS = 64


class Repository(Struct, frozen=True):
    """The repository of a workspace."""

    root: Path
    """The directory with `.git`, the root of its files."""
    directories: tuple[Path, ...]
    """The git directories: its own, and the one that it shares with other worktrees."""

    @property
    def hooks(self) -> tuple[Path, ...]:
        """The existing directories of hooks, which git runs."""
        found = (each / "hooks" for each in self.directories)
        return tuple(path for path in found if is_directory(path))


def find_repository(workspace: Path, homes: tuple[Path, ...] = ()) -> Repository | None:
    """Return the repository of a workspace; blocks.

    A repository that contains a home directory, or belongs to another user, is not used above the
    workspace. None: there is none, or its `.git` is a link or cannot be used.
    """
    for root in (workspace, *list(workspace.parents)[:_MAX_PARENTS]):
        if root != workspace and any(each.is_relative_to(root) for each in homes):
            return None
        path = root / ".git"
        try:
            status = path.lstat()
        except OSError:
            continue
        if root != workspace and status.st_uid not in (os.getuid(), 0):
            return None
        directories = _find_directories(root, path, status)
        return Repository(root, directories) if directories else None
    return None


def _find_directories(root: Path, path: Path, status: os.stat_result) -> tuple[Path, ...]:
    if stat.S_ISDIR(status.st_mode):
        return (path,)
    if not stat.S_ISREG(status.st_mode):
        return ()
    try:
        named = _read_path(path, "gitdir: ")
        if _is_worktree(named, path):
            common = Path(os.path.realpath(named / _read_path(named / "commondir").as_posix()))
            is_part = named.parent == common / "worktrees"
            return (common,) if is_part and is_directory(common / "objects") else ()
        return (named,) if _is_submodule(named, root) else ()
    except (OSError, ValueError):
        return ()


def _read_path(path: Path, start: str = "") -> Path:
    """Return the path that a file of git contains.

    Raises:
        ValueError: it contains something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a file")
        text = os.fsdecode(file.read(_MAX_BYTES))
    if not text.startswith(start) or "\0" in text:
        raise ValueError("not a path")
    found = text.removeprefix(start).rstrip("\n")
    return Path(found) if not start else Path(os.path.realpath(path.parent / found))


def _is_worktree(directory: Path, git_file: Path) -> bool:
    try:
        back = _read_path(directory / "gitdir")
    except (OSError, ValueError):
        return False
    return os.path.realpath(directory / back) == os.path.realpath(git_file)


def _is_submodule(directory: Path, root: Path) -> bool:
    """Whether the configuration of a git directory names `root` as its work tree."""
    if "modules" not in directory.parts or not is_directory(directory / "objects"):
        return False
    text = os.fsdecode((directory / "config").read_bytes()[:_MAX_BYTES])
    named = [
        line.partition("=")[2].strip().strip('"')
        for line in text.splitlines()
        if line.partition("=")[0].strip().lower() == "worktree"
    ]
    return any(os.path.realpath(directory / each) == os.path.realpath(root) for each in named)


def is_directory(path: Path) -> bool:
    """Whether a path is a directory and no link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
