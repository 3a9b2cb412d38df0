"""The directories of a git repository: https://git-scm.com/docs/gitrepository-layout."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import is_directory, is_link, read_small_file, real_path

_MAX_PATH_BYTES = 4_096


class Repository(Struct, frozen=True):
    """The directories of a repository.

    Example: in a linked worktree `~/fix` of `~/main`, `directory` is
    `~/main/.git/worktrees/fix` and `common` is `~/main/.git`.
    """

    top: Path
    """The top of the work tree."""
    directory: Path
    """With the index and `HEAD`; that of a linked worktree is its own."""
    common: Path
    """With the objects, the references, the configuration and the hooks."""

    @classmethod
    def of_parts(cls, directory: Path, top: Path) -> "Repository":
        """Return a repository without linked worktrees."""
        return cls(top, directory, directory)

    def locate_files(self) -> tuple[Path, str]:
        """Return the directory that contains all files of git, and the place of the own ones in it.

        The second ends with a slash; it is empty except in a linked worktree.
        """
        try:
            own = self.directory.relative_to(self.common)
        except ValueError:
            return self.directory, ""
        return self.common, f"{own}/" if own.parts else ""


def iter_linked_hooks(repository: Repository) -> Iterator[Path]:
    """Yield where the hooks of a repository that are links lead, or their directory if it is one.

    Blocks.
    """
    hooks = repository.common / "hooks"
    try:
        found = [hooks] if is_link(hooks) else list(hooks.iterdir())
    except OSError:
        return
    yield from (real_path(each) for each in found if is_link(each))


def find_repository(start: Path) -> Repository | None:
    """Return the repository to which a directory belongs, with real paths.

    Like git, it continues above a `.git` without `HEAD`.
    """
    for top in (start, *start.parents):
        found = open_repository(top / ".git")
        if found is not None and os.path.lexists(found.directory / "HEAD"):
            real = (real_path(each) for each in (found.directory, found.common))
            return Repository(top, *real)
    return None


def open_repository(git: Path) -> Repository | None:
    """Return the repository with this `.git`, a directory or a file that names one.

    What it names may not exist. None: there is no `.git`, or it is not readable.
    """
    directory = git
    if not is_directory(git):
        named = parse_git_file(_read(git))
        if named is None:
            return None
        directory = git.parent / named
    other = os.fsdecode(_read(directory / "commondir")).rstrip("\r\n")
    return Repository(git.parent, directory, directory / other if other else directory)


def find_branch(start: Path) -> str:
    """Return the checked-out branch or the abbreviated commit; empty outside a repository."""
    if (found := find_repository(start)) is None:
        return ""
    head = os.fsdecode(_read(found.directory / "HEAD")).strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]


def parse_git_file(content: bytes) -> str | None:
    """Return the directory that a file `.git` names."""
    text = os.fsdecode(content)
    named = text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else ""
    return named if named and "\0" not in named else None


def is_bare(directory: Path) -> bool:
    """Return True if git uses a directory itself as a repository.

    The entries need not be directories: git only asks whether they are executable. With
    `commondir`, it looks for them elsewhere.
    """
    return os.path.lexists(directory / "HEAD") and (
        os.path.lexists(directory / "commondir")
        or all(os.path.lexists(directory / name) for name in ("objects", "refs"))
    )


def _read(file: Path) -> bytes:
    """Return the content of a file with a path; empty if it is not readable."""
    try:
        return read_small_file(file, _MAX_PATH_BYTES)
    except (OSError, ValueError):
        return b""
