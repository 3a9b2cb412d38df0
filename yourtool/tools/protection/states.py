"""Protected places at one moment."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from yourtool.git.config import own_files
from yourtool.git.repositories import Repository, find_repository, is_bare
from yourtool.permissions.protected_places import is_protected
from yourtool.tools.protection.entries import Tree
from yourtool.tools.protection.places import (
    InnerRepositories,
    choose_in_git,
    choose_nothing,
    choose_protected,
    find_git_places,
    find_run_files,
)
from yourtool.tools.protection.reading import Choice, TreeReader, everything


class State(Struct, frozen=True):
    """All protected places with their content."""

    repository: Repository | None
    roots: dict[str, Choice]
    """The absolute paths below which they are."""
    git_directories: frozenset[str]
    """The directories of git, and the files `.git` of linked work trees and submodules."""
    tree: Tree
    is_bare: bool
    """Whether the workspace itself is a directory of git."""

    def find_git_directory(self, path: str) -> str | None:
        """Return the directory of git in which a path is."""
        above = path
        while above:
            above = above.rpartition("/")[0]
            if above in self.git_directories:
                return above
        return None


class StateReader:
    """Reads the protected places of a workspace; not thread-safe."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._reader = TreeReader()
        self._inner = InnerRepositories(workspace)
        self._own_files = own_files()

    def read(self) -> State:
        """Return the state before a command."""
        repository = find_repository(self._workspace)
        if repository is None and is_bare(self._workspace):
            repository = Repository.of_parts(self._workspace, self._workspace)
        directories = self._find_git_directories(repository)
        roots = self._build_roots(repository, directories)
        if repository is not None:
            for path in find_run_files(repository, self._own_files):
                if not is_protected(str(path.relative_to(_common_base(path, repository)))):
                    roots.setdefault(str(path), everything)
        tree = self._reader.read(roots, is_first=True)
        return State(repository, roots, directories, tree, is_bare(self._workspace))

    def read_again(self, state: State) -> State:
        """Return the state after a command, of the places that were compared before and new ones.

        What a configuration names now is not followed.
        """
        directories = state.git_directories | self._find_git_directories(state.repository)
        roots = {**self._build_roots(state.repository, directories), **state.roots}
        tree = self._reader.read(roots)
        return State(state.repository, roots, directories, tree, is_bare(self._workspace))

    def read_git(self, state: State) -> State:
        """Return the state of the directories of git only, which takes little time."""
        roots = dict.fromkeys(state.git_directories, choose_in_git)
        tree = self._reader.read(roots)
        return State(state.repository, dict(roots), state.git_directories, tree, state.is_bare)

    def _find_git_directories(self, repository: Repository | None) -> frozenset[str]:
        found = {f"{self._workspace}/.git", *self._inner.find()}
        if repository is not None:
            found |= {
                f"{repository.top}/.git",
                str(repository.directory),
                str(repository.common),
            }
            for above in iter_between(repository.top, self._workspace):
                found.update(find_git_places(str(above)))
        return frozenset(found)

    def _build_roots(
        self, repository: Repository | None, directories: frozenset[str]
    ) -> dict[str, Choice]:
        tops = {str(self._workspace)}
        roots = dict[str, Choice]()
        if repository is not None:
            tops.add(str(repository.top))
            between = map(str, iter_between(repository.top, self._workspace))
            roots |= dict.fromkeys(between, choose_nothing)
        roots |= dict.fromkeys(sorted(tops), choose_protected)
        for path in sorted(directories):
            if path not in {f"{top}/.git" for top in tops}:
                roots[path] = choose_in_git
        return roots


def iter_between(top: Path, workspace: Path) -> Iterator[Path]:
    """Yield the directories between the top of a repository and a workspace, outermost first."""
    return (each for each in reversed(workspace.parents) if top in each.parents)


def _common_base(path: Path, repository: Repository) -> Path:
    bases = (repository.top, repository.directory, repository.common)
    return next((base for base in bases if base in path.parents), Path("/"))
