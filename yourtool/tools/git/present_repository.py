"""Present repository of a workspace.

git is only asked about objects, in a private directory with nothing of the repository but its
objects: it follows links in the others and waits for pipes. Everything here blocks.
"""

import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from yourtool.errors import ToolError
from yourtool.foundation.file_images import FileImage, FileRestore, FileState
from yourtool.foundation.files import is_file, is_link
from yourtool.git.repositories import Repository, find_repository
from yourtool.process.guardian import build_prefix
from yourtool.tools.git.git_directory import GitDirectory
from yourtool.tools.git.git_files import GitFile, GitFiles, read_git_files
from yourtool.tools.git.git_index_entries import has_conflicts, read_object_ids
from yourtool.tools.git.git_object_store import GitObjectStore, build_config
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.git.git_state import (
    REPOSITORY,
    STASH,
    index_state,
    read_references,
    reference_state,
    to_state,
)
from yourtool.tools.workspace.directory_opening import open_real_directory
from yourtool.tools.workspace.file_states import describe_difference

_MAX_IDS = 200
_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
"""What a file has in this place can be anything, also an option of git."""
_AUTHOR = "yourtool <yourtool@localhost>"


@contextmanager
def open_present(
    root: Path, stores: Path, deadline: float
) -> "Generator[PresentRepository | None, None, None]":
    """Open the repository of a workspace; None without a repository.

    `stores`: the directory of saved objects; `deadline`: for git, by the monotonic clock.

    Raises:
        GitError: undo does not change such a repository.
        OSError: it cannot be read.
    """
    repository = find_repository(root)
    if repository is None:
        yield None
        return
    place = repository.top / REPOSITORY
    if repository.directory != place and (is_link(place) or not is_file(place)):
        raise GitError(f"`{REPOSITORY}` is a link")
    common, private = repository.locate_files()
    with open_real_directory(str(common)) as descriptor, ExitStack() as opened:
        files = read_git_files(Path(), at=descriptor)
        if files is None:
            yield None
            return
        if files.pipe:
            raise GitError(f"`{REPOSITORY}/{files.pipe}` is a pipe or a device")
        objects = PresentObjects(common, stores, files.files, deadline, opened)
        yield PresentRepository(GitDirectory(descriptor), private, files, objects)


class PresentObjects:
    """The objects of a repository; those that it has lost come from the saved ones."""

    def __init__(
        self,
        common: Path,
        stores: Path,
        files: Mapping[str, GitFile],
        deadline: float,
        opened: ExitStack,
    ) -> None:
        """`opened`: what is closed in the end."""
        self._common = common
        self._stores = stores
        self._files = files
        self._deadline = deadline
        self._opened = opened

    @cached_property
    def _git(self) -> GitRunner:
        """Git in an empty repository that uses the objects of this one."""
        temporary = TemporaryDirectory(prefix=build_prefix(os.getpid()))
        directory = Path(self._opened.enter_context(temporary))
        for name in ("objects", "refs"):
            (directory / name).mkdir()
        settings, shallow = self._files.get("config"), self._files.get("shallow")
        (directory / "config").write_text(build_config((settings and settings.content) or b""))
        (directory / "HEAD").write_text("ref: refs/heads/none\n")
        if shallow is not None:
            (directory / "shallow").write_bytes(shallow.content or b"")
        seconds = self._deadline - time.monotonic()
        repository = Repository.of_parts(directory, directory)
        return GitRunner(repository, seconds, self._common / "objects")

    def is_ancestor(self, earlier: str, later: str) -> bool:
        """Whether a commit has another one in its history."""
        are_ids = all(_ID.fullmatch(each) for each in (earlier, later))
        return are_ids and self._succeeds("merge-base", "--is-ancestor", earlier, later)

    def require(self, target: GitDirectory, ids: Iterable[str], known: Iterable[str]) -> None:
        """Bring back what commits need and the repository does not have.

        `known`: the values of the present references.
        """
        wanted = tuple(filter(_ID.fullmatch, dict.fromkeys(ids)))[:_MAX_IDS]
        lines = (*wanted, *(f"^{each}" for each in filter(_ID.fullmatch, dict.fromkeys(known))))
        data = "".join(f"{each}\n" for each in lines).encode()
        query = ("rev-list", "--objects", "--quiet", "--stdin")
        if wanted and not self._succeeds(*query, data=data):
            self._give_back(target)

    def _succeeds(self, *arguments: str, data: bytes = b"") -> bool:
        """Whether a command succeeds; one without time left does not fail, it has no result."""
        try:
            self._git.run(*arguments, data=data)
        except GitError as error:
            if time.monotonic() >= self._deadline:
                raise GitError("git took too long to read its objects") from error
            return False
        return True

    def require_staged(self, target: GitDirectory, ids: Iterable[str]) -> None:
        """Bring back what an index needs and the repository does not have."""
        data = "".join(f"{each}\n" for each in ids).encode()
        if b"missing" in self._git.run("cat-file", "--batch-check=%(objecttype)", data=data):
            self._give_back(target)

    def _give_back(self, target: GitDirectory) -> None:
        GitObjectStore(self._stores, self._common).give_back(target.descriptor)


class PresentRepository:
    """The files of a repository as they are now."""

    def __init__(
        self, directory: GitDirectory, private: str, files: GitFiles, objects: PresentObjects
    ) -> None:
        """`private`: as `Repository.locate_files` returns it."""
        self.private = private
        self._directory = directory
        self._files = files.files
        self._references = read_references(files.files)
        self._objects = objects

    def read(self, path: str) -> FileState:
        """Return the present state of a part."""
        name = path.removeprefix(f"{REPOSITORY}/")
        if name.startswith("refs/"):
            return reference_state(self._references.get(name))
        file = self._files.get(name)
        return index_state(file) if name == f"{self.private}index" else to_state(file)

    def find_problem(self, item: FileRestore, *, is_undo: bool) -> str | None:
        """Return why an item is left; empty: it needs no restoring."""
        found = self.read(item.path).image
        own = item.path.removeprefix(f"{REPOSITORY}/").removeprefix(self.private)
        if found.is_same(item.after):
            return ""
        if (own.startswith("logs/") and is_undo) or found.is_same(item.before):
            return None
        return describe_difference(found, item.before)

    def has_more(
        self, item: FileRestore, read_content: Callable[[FileRestore], bytes | None]
    ) -> bool:
        """Whether a reference is as it was left, and nothing was lost by its change."""
        name = item.path.removeprefix(f"{REPOSITORY}/")
        if not (name.startswith("refs/") or name == f"{self.private}HEAD"):
            return False
        present = self.read(item.path)
        if not present.image.is_same(item.before):
            return False
        if item.after.kind == "absent":
            return True
        later, earlier = present.content or b"", read_content(item) or b""
        if b"ref: " in later + earlier:
            return False
        ids = (each.decode("ascii", "replace").strip() for each in (earlier, later))
        return self._objects.is_ancestor(*ids)

    def has_new_conflicts(
        self, item: FileRestore, read_content: Callable[[FileRestore], bytes | None]
    ) -> bool:
        """Whether the index has conflicts that it did not have before."""
        present, earlier = self.read(item.path).content, read_content(item)
        was_whole = earlier is None or not has_conflicts(earlier)
        return present is not None and was_whole and has_conflicts(present)

    # ── changes ─────────────────────────────────────────────────────────────────────────────────

    def require(self, ids: Iterable[str]) -> None:
        """Bring back what commits need and the repository does not have."""
        self._objects.require(self._directory, ids, self._references.values())

    def require_staged(self, index: bytes) -> None:
        """Bring back what a result of `strip_index` needs and the repository does not have."""
        self._objects.require_staged(self._directory, read_object_ids(index))

    def write(self, name: str, after: FileImage, content: bytes) -> None:
        """Replace or create a file.

        Raises:
            ToolError: as for `GitDirectory.write`.
            OSError: as for `GitDirectory.write`.
        """
        self._directory.write(name, content, after.mode or 0o644, self._get_content(name))

    def delete(self, name: str, directories: Iterable[str]) -> None:
        """Delete a file, and then those of the directories that are empty.

        Raises:
            ToolError: as for `GitDirectory.delete`.
            OSError: as for `GitDirectory.delete`.
        """
        names = [each.removeprefix(f"{REPOSITORY}/") for each in directories]
        self._directory.delete(name, self._get_content(name) or b"", names)

    def move_reference(self, name: str, value: str | None) -> None:
        """Give a reference a value, with a line in its log; None deletes it.

        Raises:
            ToolError: another reference is in its way; or as for `GitDirectory.write`.
            ValueError: the value is not one of a reference.
            OSError: as for `GitDirectory.write`.
        """
        if value is None:
            self._directory.delete_reference(name)
            return
        if not (value.startswith("ref: refs/") or _ID.fullmatch(value)):
            raise ValueError("its value is not an id")
        for each in self._references:
            if each.startswith(f"{name}/") or name.startswith(f"{each}/"):
                raise ToolError(f"`{name}` cannot be restored because there is `{each}`")
        self.require([value])
        self._directory.write(name, f"{value}\n".encode(), 0o644, self._get_content(name))
        if name != STASH and not value.startswith("ref: "):
            self._note_move(name, value)

    def _note_move(self, name: str, value: str) -> None:
        """Add a line to the logs of a reference that have others; the move does not need it."""
        old = self._references.get(name, "0" * len(value))
        line = f"{old} {value} {_AUTHOR} {int(time.time())} +0000\tundo\n".encode()
        logs = [f"logs/{name}"]
        if self._get_content(f"{self.private}HEAD") == f"ref: {name}\n".encode():
            logs.append(f"{self.private}logs/HEAD")
        for log in logs:
            if (before := self._get_content(log)) is not None and not old.startswith("ref: "):
                with suppress(ToolError, OSError):
                    self._directory.write(log, before + line, self._files[log].mode, before)

    def _get_content(self, name: str) -> bytes | None:
        """Return the content of a file as it was read."""
        file = self._files.get(name)
        return None if file is None else file.content
