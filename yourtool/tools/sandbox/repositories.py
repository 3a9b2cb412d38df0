"""Writable git directories of a workspace.

A repository is used as a whole: in a directory of it, git also changes what is above. A `.git` that
is a file names another directory, which can be anywhere, so it counts only if that directory names
this one in return, as git writes it for worktrees and submodules.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import is_file, read_small_file
from yourtool.git.config import read_settings
from yourtool.git.repositories import Repository, open_repository

_MAX_PATH_BYTES = 4_096


class WritableRepository(Struct, frozen=True):
    """The repository of a workspace."""

    root: Path
    """The directory with `.git`, the root of its files."""
    directory: Path
    """The git directory that all its worktrees share."""

    @property
    def hooks(self) -> tuple[Path, ...]:
        """The directory of hooks, which git runs, if it exists."""
        path = self.directory / "hooks"
        return (path,) if is_directory(path) else ()

    def read_worktrees(self) -> dict[Path, bytes]:
        """Return the files `.git` of its linked worktrees; without one, git forgets the worktree.

        Blocks.
        """
        found = dict[Path, bytes]()
        with suppress(OSError):
            for each in (self.directory / "worktrees").iterdir():
                if (git := _read_worktree(each)) is not None and is_file(git):
                    found[git] = read_small_file(git, _MAX_PATH_BYTES)
        return found


def find_writable_repository(
    workspace: Path, homes: tuple[Path, ...] = ()
) -> WritableRepository | None:
    """Return the repository of a workspace; blocks.

    A repository that contains a home directory, or belongs to another user, is not used above the
    workspace. None: there is none, or its `.git` is a link or cannot be used.
    """
    for root in (workspace, *workspace.parents):
        if root != workspace and any(each.is_relative_to(root) for each in homes):
            return None
        try:
            status = (root / ".git").lstat()
        except OSError:
            continue
        is_file = stat.S_ISREG(status.st_mode)
        found = open_repository(root / ".git")
        if not (is_file or stat.S_ISDIR(status.st_mode)) or found is None:
            return None
        if not os.path.lexists(found.directory / "HEAD") and not is_file:
            continue  # git searches above it
        if root != workspace and status.st_uid not in (os.getuid(), 0):
            return None
        directory = _find_named(found) if is_file else found.directory
        return None if directory is None else WritableRepository(root, directory)
    return None


def _find_named(found: Repository) -> Path | None:
    """Return the git directory that a file `.git` names, if that names it in return."""
    git, directory, common = (
        Path(os.path.realpath(each)) for each in (found.top / ".git", found.directory, found.common)
    )
    if not is_directory(common / "objects"):
        return None
    if common != directory:
        is_part = directory.parent == common / "worktrees"
        return common if is_part and _read_worktree(directory) == git else None
    named = (
        os.path.realpath(directory / each.value)
        for each in read_settings(directory / "config")
        if each.key == "core.worktree"
    )
    is_submodule = "modules" in directory.parts and str(found.top) in named
    return directory if is_submodule else None


def _read_worktree(directory: Path) -> Path | None:
    """Return the file `.git` that the directory of a linked worktree names."""
    try:
        text = read_small_file(directory / "gitdir", _MAX_PATH_BYTES)
        return Path(os.path.realpath(directory / os.fsdecode(text).rstrip("\n")))
    except (OSError, ValueError):
        return None


def is_directory(path: Path) -> bool:
    """Whether a path is a directory and no link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
