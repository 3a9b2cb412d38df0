"""Repository changes of commands.

The notes are files that are read again only if they changed, and the objects are linked into a
store, so that nothing that a command deletes is gone. All methods block.
"""

import logging
import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from msgspec import Struct

from yourtool.foundation.file_images import ABSENT_FILE, FileState
from yourtool.foundation.files import is_directory
from yourtool.git.repositories import find_repository
from yourtool.tools.git.git_files import NO_FILES, GitFiles, read_git_files
from yourtool.tools.git.git_object_store import GitObjectStore
from yourtool.tools.git.git_state import REPOSITORY, find_changes, repository_state

_log = logging.getLogger(__name__)


class RepositoryChange(Struct, frozen=True):
    """A file of the repository before and after a command."""

    path: str
    """`.git`, or below it, also if the git directory is elsewhere."""
    before: FileState
    after: FileState
    directories: tuple[str, ...] = ()
    """Directories that the command created for the file, outermost first."""


class _Notes(Struct, frozen=True):
    store: GitObjectStore
    private: str
    files: GitFiles


class RepositoryWatch:
    """Finds what commands change in one repository, and keeps its objects."""

    def __init__(self, root: Path, stores: Path) -> None:
        """`root`: the workspace; `stores`: the directory of saved objects."""
        self._root = root
        self._stores = stores
        self._store: GitObjectStore | None = None
        self._notes: _Notes | None = None
        self._last: GitFiles | None = None

    @property
    def objects(self) -> Path | None:
        """A git directory that has the objects of the repository, also those that git deletes."""
        return None if self._notes is None else self._notes.store.directory

    def begin(self) -> None:
        """Note the repository, unless it is noted for another command that runs."""
        if self._notes is not None:
            return
        try:
            self._notes = self._take_notes()
        except OSError as error:
            _log.warning("what commands delete in the repository cannot be undone: %s", error)

    def take(self, *, is_last: bool) -> list[RepositoryChange]:
        """Return what changed since the notes; later changes are compared with the present state.

        `is_last`: no command runs any more.
        """
        notes, self._notes = self._notes, None
        if notes is None:
            return []
        try:
            after = read_git_files(notes.store.source, notes.files.files)
            changes = self._compare(notes, after)
        except OSError as error:
            _log.warning("what a command deleted in the repository cannot be undone: %s", error)
            return []
        if not is_last:
            self.begin()
        return changes

    def _take_notes(self) -> _Notes | None:
        if (repository := find_repository(self._root)) is None:
            return None
        common, private = repository.locate_files()
        known = self._last.files if self._last is not None else NO_FILES
        if (files := read_git_files(common, known)) is None:
            return None
        self._last = files
        store = self._store
        if store is None or store.source != common or not is_directory(store.directory):
            store = self._store = GitObjectStore(self._stores, common)
            store.open()
        store.save(files.object_places)
        return _Notes(store, private, files)

    def _compare(self, notes: _Notes, after: GitFiles | None) -> list[RepositoryChange]:
        if after is None:
            directory = os.path.relpath(notes.store.source, self._root)
            if notes.store.problem:
                _log.warning("a deleted repository cannot be undone: %s", notes.store.problem)
            before = repository_state(notes.files, directory, has_objects=not notes.store.problem)
            return [RepositoryChange(REPOSITORY, before, FileState(ABSENT_FILE))]
        self._last = after
        if not (notes.files.is_comparable and after.is_comparable):
            _log.warning("changes in the repository are not noted: it has too many files")
            return []
        created = after.folders - notes.files.folders
        return [
            RepositoryChange(f"{REPOSITORY}/{name}", old, new, _find_created(name, created))
            for name, old, new in find_changes(notes.files, after, notes.private)
        ]


def _find_created(name: str, created: Collection[str]) -> tuple[str, ...]:
    """Return the created directories above a file of the git directory."""
    above = (str(each) for each in reversed(PurePosixPath(name).parents))
    return tuple(f"{REPOSITORY}/{each}" for each in above if each in created)
