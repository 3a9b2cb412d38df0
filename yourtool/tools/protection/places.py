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

from yourtool.git.config import iter_named_files, read_addresses
from yourtool.git.repositories import (
    Repository,
    is_bare,
    iter_linked_hooks,
    open_repository,
)
from yourtool.permissions.protected_places import (
    folded_name,
    has_protected_entries,
    is_protected,
)
from yourtool.tools.protection.reading import Choice, Stamp, everything, get_stamp, is_settled

BARE_FILES = frozenset({"head", "config", "config.worktree", "commondir", "packed-refs"})
"""Files that make a directory a repository of git, together with others; see `is_bare`."""
_MAX_DIRECTORIES = 300
"""Directories of a workspace that are searched for repositories, the nearest first."""
_MAX_NAMES = 20_000
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


def choose_nothing(name: str, is_directory: bool) -> Choice | None:
    """Choose only the directory itself."""
    return None


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
    "rebase-merge": _choose({"git-rebase-todo": everything, "strategy": everything}),
    "sequencer": _choose({"opts": everything}),
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
    return _choose(_GIT_PLACES)  # without `commondir`, git finds everything here


choose_in_git = _choose({**_GIT_PLACES, "modules": _choose_module, "worktrees": _choose_worktree})
"""Choose what git runs or finds its configuration with, in a directory of git."""

_VERSION_CONTROL: dict[str, Choice] = {
    ".git": choose_in_git,
    ".hg": _choose({"hgrc": everything}),
    ".jj": _choose({"repo": _choose({"config.toml": everything})}),
    ".svn": _choose({}),
}


# ── repositories ─────────────────────────────────────────────────────────────────────────────────


def find_run_files(repository: Repository, others: Iterable[Path]) -> Iterator[Path]:
    """Yield the hooks and files of settings that a configuration or a link of a hook names.

    `others`: files of settings that do not belong to the repository.
    """
    own = (repository.common / "config", repository.directory / "config.worktree")
    writable = (repository.top, repository.common, repository.directory)
    named = iter_named_files((*own, *others), repository.top)
    for path in itertools.chain(named, iter_linked_hooks(repository)):
        real = Path(os.path.realpath(path))
        if any(each in real.parents for each in writable):
            yield real


def find_local_remotes(repository: Repository, writable: Iterable[Path]) -> Iterator[Repository]:
    """Yield the remote repositories on this machine that no command makes.

    They are outside the work tree and the `writable` directories.
    """
    made = (repository.top, repository.common, *writable)
    addresses = read_addresses(repository.common / "config", "remote")
    for _, address in itertools.islice(addresses, _MAX_REMOTES):
        path = Path(os.path.realpath(repository.top / address.removeprefix("file://")))
        outside = not any(each == path or each in path.parents for each in made)
        if outside and is_bare(path):
            yield Repository.of_parts(path, path)
        elif outside and (found := open_repository(path / ".git")) is not None:
            yield found


class InnerRepositories:
    """Finds the repositories below a workspace; reads only changed directories."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = str(workspace)
        self._known: dict[str, tuple[Stamp | None, tuple[str, ...], tuple[str, ...]]] = {}
        """For each directory its stamp, the names of its directories, and what is found in it."""

    def find(self) -> Iterator[str]:
        """Yield the paths of directories of git, and of files `.git`, the nearest first.

        Those of the workspace itself are not among them.
        """
        known = dict[str, tuple[Stamp | None, tuple[str, ...], tuple[str, ...]]]()
        waiting = deque([self._workspace])
        for _ in range(_MAX_DIRECTORIES):
            if not waiting:
                break
            directory = waiting.popleft()
            with suppress(OSError):
                stamp = get_stamp(os.lstat(directory))
                found = self._known.get(directory)
                if found is None or found[0] != stamp:
                    names = tuple(_iter_directories(directory))
                    places = tuple(find_git_places(directory))
                    found = stamp if is_settled(stamp) else None, names, places
                known[directory] = found
                waiting.extend(f"{directory}/{name}" for name in found[1])
                if directory != self._workspace:
                    yield from (each for each in found[2] if not _is_worktree_of_bare(each))
        self._known = known


def find_git_places(directory: str) -> Iterator[str]:
    """Yield where git can find a repository in a directory: its `.git`, and the directory."""
    if os.path.lexists(path := f"{directory}/.git"):
        yield path
    if is_bare(Path(directory)):
        yield directory


def _is_worktree_of_bare(path: str) -> bool:
    """Whether a directory of git is that of a work tree, in the bare repository that has it."""
    outer = Path(path).parent
    return outer.name == "worktrees" and is_bare(outer.parent)


def _iter_directories(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in itertools.islice(entries, _MAX_NAMES):
            if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                yield entry.name
