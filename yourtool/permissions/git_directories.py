"""Where a git repository has its files: https://git-scm.com/docs/gitrepository-layout."""

import os
from pathlib import Path

from msgspec import Struct

from yourtool.files import read_small_file

_MAX_PATH = 4_096


class Repository(Struct, frozen=True):
    """The directories of a repository."""

    top: Path
    """The top of the work tree."""
    directory: Path
    """With the index; that of a linked worktree is its own."""
    common: Path
    """With the configuration and the hooks."""


def find_repository(directory: Path) -> Repository | None:
    """Return the repository of a directory, or None without a readable `.git`."""
    for each in (directory, *directory.parents):
        if os.path.lexists(git := each / ".git"):
            return open_repository(git)
    return None


def open_repository(git: Path) -> Repository | None:
    """Return the repository with this `.git`, a directory or a file that names one."""
    directory = git
    if not os.path.isdir(git):  # noqa: PTH112 - `Path.is_dir` raises if it may not look
        named = _read_line(git)
        if named is None or not named.startswith("gitdir:"):
            return None
        directory = git.parent / named.removeprefix("gitdir:").strip()
    other = _read_line(directory / "commondir")
    return Repository(git.parent, directory, directory if other is None else directory / other)


def _read_line(file: Path) -> str | None:
    try:
        return os.fsdecode(read_small_file(file, _MAX_PATH)).rstrip("\r\n")
    except (OSError, ValueError):
        return None
