"""Restores what commands changed in the repository of a workspace.

A reference that somebody else moved since is left. Commits and new branches stay, because nothing
was lost by them. Lost lines of logs, so also dropped stashes, are added to what is there now.
Everything here blocks.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from yourtool.errors import ToolError
from yourtool.events.files import RestoreKind
from yourtool.file_images import FileImage, FileRestore, FileState, LeftFile
from yourtool.git.repositories import Repository, find_repository
from yourtool.tools.directory_opening import DIRECTORY
from yourtool.tools.file_states import describe_difference, read_state, restore_file
from yourtool.tools.git_files import read_git_files
from yourtool.tools.git_index_entries import read_object_ids
from yourtool.tools.git_object_store import GitObjectStore
from yourtool.tools.git_program import GitError, GitRunner
from yourtool.tools.git_state import (
    REPOSITORY,
    STASH,
    STASHES,
    StoredFile,
    find_lost_lines,
    get_log_key,
    index_state,
    read_archive,
    read_references,
    reference_state,
    to_state,
)
from yourtool.tools.replacing import digest, make_directories, new_temporary_name
from yourtool.tools.workspace import Workspace

_SECONDS = 30.0
_MAX_IDS = 200
_QUIET = ("-c", "core.logAllRefUpdates=false")
"""A log that was deleted is restored itself."""
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ORDER = ("config", "refs/", "HEAD", "logs/", "index")
"""The rest comes first."""


def is_of_repository(item: FileRestore) -> bool:
    """Whether an item is a repository or a part of one."""
    is_whole = "repository" in (item.before.kind, item.after.kind)
    return is_whole or item.path.startswith(f"{REPOSITORY}/")


def sort_for_restoring(files: Iterable[FileRestore]) -> list[FileRestore]:
    """Return files in the order in which they are restored: the repository first."""
    return sorted(files, key=_get_rank)


def _get_rank(item: FileRestore) -> int:
    if not is_of_repository(item):
        return len(_ORDER) + 2
    name = item.path.removeprefix(f"{REPOSITORY}/")
    ranks = (rank for rank, start in enumerate(_ORDER, 1) if name.startswith(start))
    return next(ranks, 0)


class GitRestorer:
    """The repository of a workspace, as far as undo changes it."""

    def __init__(self, root: Path, stores: Path) -> None:
        """`root`: the workspace; `stores`: the directory of saved objects."""
        self._root = root
        self._stores = stores

    def check(
        self,
        files: Sequence[FileRestore],
        kind: RestoreKind,
        read_content: Callable[[FileRestore], bytes | None],
    ) -> tuple[list[FileRestore], list[LeftFile]]:
        """Return the items that can be restored, and those that others changed since.

        Neither has what needs no restoring. `read_content` returns the content after it.

        Raises:
            BlobError: a content cannot be read.
        """
        found, left = list[FileRestore](), list[LeftFile]()
        state = _PresentState(self._root)
        keeps_commits = False
        for item in sort_for_restoring(files):
            if item.path == REPOSITORY:
                problem = state.find_repository_problem(item)
            elif any(each.path == REPOSITORY for each in found):
                problem = None  # it is compared with the restored one
            elif kind != "redo" and state.has_more(item, read_content):
                keeps_commits |= item.after.kind != "absent"
                continue
            elif keeps_commits and item.path == f"{REPOSITORY}/{state.private}index":
                continue  # it belongs to the commits
            else:
                problem = state.find_problem(item, is_undo=kind != "redo")
            if problem is None:
                found.append(item)
            elif problem:
                left.append(LeftFile(item.path, problem))
        return found, left

    def restore(self, item: FileRestore, content: bytes | None, *, is_undo: bool) -> None:
        """Bring an item from `item.before` to `item.after`.

        `content`: that of `item.after`; None: it is to be absent.

        Raises:
            ToolError: it cannot be restored, or somebody else changed it; nothing changed.
        """
        try:
            if item.path == REPOSITORY:
                self._restore_repository(item, content)
            else:
                self._restore_part(item, content, is_undo=is_undo)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ToolError(f"`{item.path}` could not be restored: {reason}") from error
        except (GitError, ValueError) as error:
            raise ToolError(f"`{item.path}` could not be restored: {error}") from error

    # ── parts ───────────────────────────────────────────────────────────────────────────────────

    def _restore_part(self, item: FileRestore, content: bytes | None, *, is_undo: bool) -> None:
        state = _PresentState(self._root)
        if (repository := state.repository) is None:
            raise ToolError(f"`{item.path}` could not be restored: there is no repository")
        present = state.read(item.path)
        if present.image.is_same(item.after):
            return
        if problem := state.find_problem(item, is_undo=is_undo):
            raise ToolError(f"`{item.path}` {problem}")
        objects = _Objects(repository, self._stores)
        name = item.path.removeprefix(f"{REPOSITORY}/")
        own = name.removeprefix(state.private)
        if name.startswith("refs/") and name != STASH:
            _move_reference(name, present, content, objects)
            return
        if own.startswith("logs/") and is_undo:
            content = _add_lines(content or b"", present.content or b"", objects)
            item = replace(item, after=_image(content, item.after.mode or 0o644))
        elif own == "index" and content is not None:
            objects.require_staged(read_object_ids(content))
        elif own == "HEAD" and content and not content.startswith(b"ref: "):
            objects.require([content.decode().strip()])
        state.write(name, item, content)
        if name == STASHES:
            _move_stash(content, state, objects)

    # ── the whole ───────────────────────────────────────────────────────────────────────────────

    def _restore_repository(self, item: FileRestore, content: bytes | None) -> None:
        state = _PresentState(self._root)
        if content is None or state.find_repository_problem(item) is not None:
            raise ToolError(f"`{REPOSITORY}` exists again")
        archive = read_archive(content)
        directory = Path(os.path.realpath(self._root / archive.directory))
        store = GitObjectStore(self._stores, directory)
        if os.path.lexists(directory):  # only a part of it was deleted
            _unpack(archive.files, directory)
            store.give_back(directory)
            return
        part = directory.with_name(new_temporary_name())
        part.mkdir()
        _unpack(archive.files, part)
        store.give_back(part)
        part.rename(directory)


class _PresentState:
    """The repository as it is now."""

    def __init__(self, root: Path) -> None:
        self.repository = find_repository(root)
        self.private = ""
        self._files = None
        if self.repository is not None:
            self._common, self.private = self.repository.locate_files()
            self._files = read_git_files(self._common)
        self._references = read_references(self._files.files) if self._files else {}

    def read(self, path: str) -> FileState:
        """Return the present state of a part."""
        name = path.removeprefix(f"{REPOSITORY}/")
        if name.startswith("refs/"):
            return reference_state(self._references.get(name))
        file = self._files.files.get(name) if self._files else None
        if name.removeprefix(self.private) == "index":
            return index_state(file)
        return to_state(file)

    def image(self, path: str) -> FileImage:
        """Return the present image of a part."""
        return self.read(path).image

    def find_problem(self, item: FileRestore, *, is_undo: bool) -> str | None:
        """Return why an item is left; empty: it needs no restoring."""
        found = self.image(item.path)
        own = item.path.removeprefix(f"{REPOSITORY}/").removeprefix(self.private)
        if found.is_same(item.after):
            return ""
        if (own.startswith("logs/") and is_undo) or found.is_same(item.before):
            return None
        return describe_difference(found, item.before)

    def find_repository_problem(self, item: FileRestore) -> str | None:
        """Return why a repository is left."""
        if item.after.kind == "absent":
            return "a repository is not deleted again"
        return None if self._files is None else "exists again"

    def has_more(
        self, item: FileRestore, read_content: Callable[[FileRestore], bytes | None]
    ) -> bool:
        """Whether a reference is as it was left, and nothing was lost by its change."""
        name = item.path.removeprefix(f"{REPOSITORY}/")
        is_reference = name.startswith("refs/") or name == f"{self.private}HEAD"
        if self.repository is None or not is_reference:
            return False
        if not self.image(item.path).is_same(item.before):
            return False
        if item.after.kind == "absent":
            return True
        present, earlier = self.read(item.path).content or b"", read_content(item) or b""
        if b"ref: " in present + earlier:
            return False
        arguments = (earlier.decode().strip(), present.decode().strip())
        runner = GitRunner(self.repository, _SECONDS)
        return runner.succeeds("merge-base", "--is-ancestor", *arguments)

    def write(self, name: str, item: FileRestore, content: bytes | None) -> None:
        """Write a file of the git directory.

        Raises:
            ToolError: it is locked, or cannot be written.
        """
        if os.path.lexists(self._common / f"{name}.lock"):
            raise ToolError(f"`{item.path}` is locked: git is at work, or `{name}.lock` was left")
        place = Workspace(self._common)
        found = read_state(place, name, 0).image
        restore_file(place, replace(item, path=name, before=found, directories=()), content)


class _Objects:
    """The objects of a repository, with those that are saved."""

    def __init__(self, repository: Repository, stores: Path) -> None:
        self.repository = repository
        self.git = GitRunner(repository, _SECONDS)
        self._store = GitObjectStore(stores, repository.locate_files()[0])

    def require(self, commits: Iterable[str]) -> None:
        """Bring back what commits need and the repository does not have."""
        ids = tuple(dict.fromkeys(commits))[:_MAX_IDS]
        query = ("rev-list", "--objects", "--quiet", *ids, "--not", "--all")
        if ids and not self.git.succeeds(*query):
            self._store.give_back()

    def require_staged(self, ids: Iterable[str]) -> None:
        """Bring back what an index needs and the repository does not have."""
        data = "".join(f"{each}\n" for each in ids).encode()
        if b"missing" in self.git.run("cat-file", "--batch-check=%(objecttype)", data=data):
            self._store.give_back()


def _move_reference(
    name: str, present: FileState, content: bytes | None, objects: _Objects
) -> None:
    old = (present.content or b"").decode().strip()
    if content is None:
        objects.git.run(*_QUIET, "update-ref", "--no-deref", "-d", name, old)
        return
    value = content.decode().strip()
    (objects.repository.directory / "refs").mkdir(exist_ok=True)
    if value.startswith("ref: "):
        objects.git.run(*_QUIET, "symbolic-ref", name, value.removeprefix("ref: "))
        return
    objects.require([value])
    arguments = ("--no-deref", "-m", "undo", name, value, old or "0" * len(value))
    objects.git.run(*_QUIET, "update-ref", *arguments)


def _move_stash(log: bytes | None, state: _PresentState, objects: _Objects) -> None:
    """Let the reference of the stashes name the last of its log."""
    if log is None:
        objects.git.run("update-ref", "-d", STASH)
    if not (lines := (log or b"").splitlines()):
        return
    content = lines[-1].split(b" ")[1] + b"\n"
    image = _image(content, 0o644)
    item = FileRestore(path=f"{REPOSITORY}/{STASH}", before=image, after=image)
    state.write(STASH, item, content)


def _add_lines(content: bytes, present: bytes, objects: _Objects) -> bytes:
    """Return an earlier log with the later lines of the present one."""
    lost = find_lost_lines(content, present)
    objects.require(line.split(b" ")[1].decode() for line in lost if line.count(b" ") > 1)
    known = {get_log_key(line) for line in content.splitlines()}
    later = [line for line in present.splitlines() if get_log_key(line) not in known]
    return _join_ids([*content.splitlines(), *later])


def _join_ids(lines: Sequence[bytes]) -> bytes:
    """Return a log in which each line starts with the id that the line before ends with."""
    before, joined = b"", list[bytes]()
    for line in lines:
        first, _, rest = line.partition(b" ")
        joined.append(b"%s %s\n" % (before or first, rest))
        before = rest.partition(b" ")[0]
    return b"".join(joined)


def _image(content: bytes, mode: int) -> FileImage:
    return FileImage("file", digest(content), mode, len(content))


def _unpack(files: Iterable[StoredFile], directory: Path) -> None:
    """Create the missing files of a git directory; what exists stays."""
    root = os.open(directory, DIRECTORY)
    try:
        for path in ("refs/heads", "refs/tags", "objects/info", "objects/pack"):
            with ExitStack() as opened:
                make_directories(root, (), tuple(path.split("/")), opened)
        for file in files:
            *folders, name = file.path.split("/")
            with ExitStack() as opened:
                parent, _ = make_directories(root, (), tuple(folders), opened)
                try:
                    created = os.open(name, _CREATE, 0o600, dir_fd=parent)
                except FileExistsError:
                    continue
                with os.fdopen(created, "wb") as written:
                    written.write(file.content)
                    os.fchmod(created, file.mode)
    finally:
        os.close(root)
