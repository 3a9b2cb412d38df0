"""Protected entries of directories and repositories.

Of a directory of git only its configuration, its hooks and its attributes are compared; with the
rest, git works.
"""

import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.files import is_directory, is_file
from yourtool.permissions.protected_places import (
    folded_name,
    has_protected_entries,
    is_protected,
)
from yourtool.permissions.shell.git_config import iter_named_files, read_addresses
from yourtool.tools.protection.reading import Choice, everything

BARE_FILES = frozenset({"head", "config", "config.worktree", "packed-refs"})
"""Files that make a directory a repository of git, together with `objects` and `refs`."""
_MAX_DIRECTORIES = 300
"""Directories of a workspace that are searched for repositories, the nearest first."""
_MAX_NAMES = 20_000
_MAX_GIT_FILE_BYTES = 8_192
_MAX_CONFIGURATION_BYTES = 2**18
_MAX_REMOTES = 5


# ── which entries of a directory ─────────────────────────────────────────────────────────────────


def choose_protected(name: str, is_directory: bool) -> Choice | None:
    """Choose the protected entries at the top of a workspace or repository."""
    folded = folded_name(name)
    if folded in BARE_FILES:
        return None if is_directory else everything
    if folded in _VERSION_CONTROL:
        return _VERSION_CONTROL[folded]
    if is_protected(name):
        return everything

    def choose_pair(inner: str, is_directory: bool) -> Choice | None:
        return everything if is_protected(f"{name}/{inner}") else None

    return choose_pair if has_protected_entries(name) else None


def _choose(chosen: Mapping[str, Choice]) -> Choice:
    """Return the choice of these names."""

    def choose(name: str, is_directory: bool) -> Choice | None:
        return chosen.get(name)

    return choose


def _choose_hook(name: str, is_directory: bool) -> Choice | None:
    return None if name.endswith(".sample") else everything(name, is_directory)  # git ignores these


_GIT_PLACES: dict[str, Choice] = {
    "config": everything,
    "config.worktree": everything,
    "commondir": everything,
    "hooks": _choose_hook,
    "info": _choose({"attributes": everything, "grafts": everything}),
    "rebase-merge": _choose({"git-rebase-todo": everything}),
    "remotes": everything,
    "branches": everything,
}
_NOT_MODULES = frozenset({"objects", "refs", "logs", "lfs", "rr-cache"})


def _choose_in_module(name: str, is_directory: bool) -> Choice | None:
    if name in _GIT_PLACES:
        return _GIT_PLACES[name]
    return _choose_in_module if is_directory and name not in _NOT_MODULES else None


def _choose_module(name: str, is_directory: bool) -> Choice | None:
    return _choose_in_module


def _choose_worktree(name: str, is_directory: bool) -> Choice | None:
    return _choose({"config.worktree": everything, "commondir": everything})


choose_in_git = _choose({**_GIT_PLACES, "modules": _choose_module, "worktrees": _choose_worktree})
"""Choose what git runs or finds its configuration with, in a directory of git."""

_VERSION_CONTROL: dict[str, Choice] = {
    ".git": choose_in_git,
    ".hg": _choose({"hgrc": everything}),
    ".jj": _choose({"repo": _choose({"config.toml": everything})}),
    ".svn": _choose({}),
}


# ── repositories ─────────────────────────────────────────────────────────────────────────────────


class Repository(Struct, frozen=True):
    """The repository of a workspace; all paths are real."""

    top: Path
    """The work tree."""
    directory: Path
    """The directory of git of this work tree."""
    common: Path
    """The directory of git that all work trees share."""


def find_repository(workspace: Path) -> Repository | None:
    """Return the repository to which a workspace belongs."""
    for top in (workspace, *workspace.parents):
        git = top / ".git"
        if os.path.lexists(git) and (found := _resolve_git(git)) is not None:
            return Repository(top, found, find_common(found))
    if is_bare(workspace):
        return Repository(workspace, workspace, workspace)
    return None


def find_common(directory: Path) -> Path:
    """Return the directory of git that all work trees of a repository share."""
    named = _read_line(directory / "commondir")
    return directory if not named else Path(os.path.realpath(directory / named))


def is_bare(directory: Path) -> bool:
    """Whether git would use a directory itself as a repository."""
    return (
        os.path.lexists(directory / "HEAD")
        and is_directory(directory / "objects")
        and is_directory(directory / "refs")
    )


def parse_git_file(content: bytes) -> str | None:
    """Return the directory that a file `.git` names."""
    text = os.fsdecode(content)
    return text.removeprefix("gitdir: ").strip() if text.startswith("gitdir: ") else None


def find_run_files(repository: Repository, others: Iterable[Path]) -> Iterator[Path]:
    """Yield directories of hooks and files of settings that a configuration names.

    `others`: files of settings that do not belong to the repository.
    """
    own = (repository.common / "config", repository.directory / "config.worktree")
    writable = (repository.top, repository.common, repository.directory)
    for path in iter_named_files((*own, *others), repository.top):
        real = Path(os.path.realpath(path))
        if any(each in real.parents for each in writable):
            yield real


def find_local_remotes(repository: Repository, writable: Iterable[Path]) -> Iterator[Repository]:
    """Yield the remote repositories on this machine that no command makes.

    They are outside the work tree and the `writable` directories.
    """
    made = (repository.top, repository.common, *writable)
    text = _read_line(repository.common / "config", _MAX_CONFIGURATION_BYTES) or ""
    for address in itertools.islice(read_addresses(text, "remote"), _MAX_REMOTES):
        path = Path(os.path.realpath(repository.top / address.removeprefix("file://")))
        outside = not any(each == path or each in path.parents for each in made)
        if outside and is_directory(path):
            directory = path if is_bare(path) else _resolve_git(path / ".git")
            if directory is not None:
                yield Repository(path, directory, find_common(directory))


def _resolve_git(git: Path) -> Path | None:
    """Return the directory of git that `.git` is or names."""
    with suppress(OSError, ValueError):
        if is_directory(git):
            return Path(os.path.realpath(git))
        name = parse_git_file(os.fsencode(_read_line(git) or ""))
        if name is not None:
            found = Path(os.path.realpath(git.parent / name))
            return found if is_directory(found) else None
    return None


def _read_line(file: Path, limit: int = _MAX_GIT_FILE_BYTES) -> str | None:
    try:
        if not is_file(file) or file.stat().st_size > limit:
            return None
        return os.fsdecode(file.read_bytes()).strip()
    except (OSError, ValueError):
        return None


class InnerRepositories:
    """Finds the `.git` of the directories below a workspace; reads only changed directories."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = str(workspace)
        self._known: dict[str, tuple[tuple[int, int], tuple[str, ...], bool]] = {}

    def find(self) -> Iterator[str]:
        """Yield the paths, the nearest first, without that of the workspace itself."""
        known = dict[str, tuple[tuple[int, int], tuple[str, ...], bool]]()
        waiting = deque([self._workspace])
        for _ in range(_MAX_DIRECTORIES):
            if not waiting:
                break
            directory = waiting.popleft()
            with suppress(OSError):
                status = os.lstat(directory)
                stamp = status.st_ino, status.st_mtime_ns
                found = self._known.get(directory)
                if found is None or found[0] != stamp:
                    found = stamp, *_list_directory(directory)
                known[directory] = found
                waiting.extend(f"{directory}/{name}" for name in found[1])
                if found[2] and directory != self._workspace:
                    yield f"{directory}/.git"
        self._known = known


def _list_directory(directory: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of the directories in a directory, and whether it has a `.git`."""
    names, has_git = list[str](), False
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if entry.name == ".git":
                has_git = True
            elif count < _MAX_NAMES and entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
    return tuple(names), has_git
