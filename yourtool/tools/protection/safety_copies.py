"""Safety copies of uncommitted work.

A copy has exact bytes, without the conversions and filters of git. It is in the repository of saved
objects (`GitObjectStore`), and nothing is written to that of the user. Everything here blocks and
ends at a deadline.
"""

import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from yourtool.git.repositories import Repository
from yourtool.process.guardian import build_prefix
from yourtool.tools.git.git_changes import GitChange, read_changes
from yourtool.tools.git.git_index import GitIndex, IndexEntry
from yourtool.tools.git.git_object_store import COPIES, GitObjectStore
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.git.lost_work import LostWork
from yourtool.tools.protection.reading import open_parent

SECONDS = 20.0
MAX_FILES = 5_000
MAX_FILE_BYTES = 64 * 2**20
MAX_BYTES = 256 * 2**20
_CHUNK_BYTES = 2**20
_IDENTITY = "yourtool <yourtool@localhost>"


class SafetyCopy(Struct, frozen=True):
    """A copy that was made."""

    directory: Path
    """The repository that has it."""
    ref: str
    paths: tuple[str, ...]
    """The copied files, relative to the root of the work tree."""
    omitted: tuple[str, ...]
    """Files that are not in it: secret, too large, or too many."""
    commits: tuple[str, ...]
    """The removed stashes and branches that it has."""
    index: GitIndex
    """Its files relative to the workspace, for the journal."""


class _File(Struct, frozen=True):
    path: str
    status: os.stat_result


def copy_work(
    lost: LostWork,
    workspace: Path,
    stores: Path,
    is_secret: Callable[[str], bool],
    seconds: float = SECONDS,
) -> SafetyCopy | None:
    """Copy all uncommitted files, and what else would be lost.

    Returns None if there is nothing to copy.

    `stores`: the directory of saved objects; `is_secret`: whether a file must not be copied, by its
    path relative to the workspace.

    Raises:
        GitError: there is no copy.
    """
    try:
        store = GitObjectStore(stores, lost.repository.locate_files()[0])
        store.open()
        return _Copying(lost, workspace, store.directory, is_secret, seconds).run()
    except OSError as error:
        raise GitError(f"{error.strerror or error}".lower()) from error


class _Copying:
    def __init__(
        self,
        lost: LostWork,
        workspace: Path,
        store: Path,
        is_secret: Callable[[str], bool],
        seconds: float,
    ) -> None:
        self._lost = lost
        self._store_directory = store
        self._git = GitRunner(lost.repository, seconds, store / "objects")
        self._saved = GitRunner(Repository.of_parts(store, store), seconds)
        self._root = lost.repository.top
        self._workspace = workspace
        self._is_secret = is_secret
        self._omitted = list[str]()

    def run(self) -> SafetyCopy | None:
        changes = read_changes(self._git, includes_ignored=self._lost.includes_ignored)
        files = list(self._choose_files(changes))
        if not (files or self._lost.commits or self._omitted):
            return None
        ids = dict(self._store(files))
        removed = [each.path for each in changes if not os.path.lexists(self._root / each.path)]
        head = self._resolve("HEAD^{commit}")
        folder = Path(tempfile.mkdtemp(prefix=build_prefix(os.getpid())))
        try:
            index = folder / "index"
            self._copy_index(index)
            staged = self._write_tree(index)
            self._update(index, files, ids, removed)
            if (tree := self._write_tree(index)) is None:
                raise GitError("the tree of the copy could not be written")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        parents = [head] if head else []
        if staged:
            parents.append(self._commit(staged, parents[:1], "The index, as it was."))
        commit = self._commit(tree, [*parents, *self._lost.commits], self._build_message())
        ref = f"{COPIES}{datetime.now(UTC):%Y%m%d-%H%M%S}-{time.time_ns() % 10**9:09}"
        self._saved.run("update-ref", ref, commit, "0" * len(commit))
        return SafetyCopy(
            directory=self._store_directory,
            ref=ref,
            paths=tuple(each.path for each in files if each.path in ids),
            omitted=tuple(self._omitted),
            commits=self._lost.commits,
            index=self._build_journal_index(files, ids),
        )

    # ── which files ─────────────────────────────────────────────────────────────────────────────

    def _choose_files(self, changes: Sequence[GitChange]) -> Iterator[_File]:
        """Yield the files to copy: tracked ones first, then the latest, up to the limits."""
        found = list[tuple[bool, bool, int, _File]]()
        for change in changes:
            for path in self._iter_files(change):
                if (status := self._stat(path)) is not None:
                    file = _File(path, status)
                    found.append(
                        (change.is_ignored, change.is_untracked, -status.st_mtime_ns, file)
                    )
        count, size = 0, 0
        for _, _, _, file in sorted(found, key=lambda each: each[:3]):
            size += file.status.st_size
            if (
                count >= MAX_FILES
                or file.status.st_size > MAX_FILE_BYTES
                or size > MAX_BYTES
                or "\n" in file.path
                or self._is_secret(self._relative(file.path))
            ):
                size -= file.status.st_size
                self._omitted.append(file.path)
            else:
                count += 1
                yield file

    def _iter_files(self, change: GitChange) -> Iterator[str]:
        """Yield the files of a change; those of an ignored directory, up to a limit."""
        if not change.path.endswith("/"):
            yield change.path
            return
        if not change.is_ignored:
            self._omitted.append(change.path)  # another repository
            return
        count = 0
        for folder, folders, names in os.walk(self._root / change.path):
            folders[:] = [each for each in folders if each != ".git"]
            for name in names:
                count += 1
                if count > MAX_FILES:
                    self._omitted.append(f"{change.path}…")
                    return
                yield os.path.relpath(os.path.join(folder, name), self._root)  # noqa: PTH118

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            status = (self._root / path).lstat()
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) else None

    def _relative(self, path: str) -> str:
        return os.path.relpath(self._root / path, self._workspace)

    # ── the objects of git ──────────────────────────────────────────────────────────────────────

    def _store(self, files: Sequence[_File]) -> Iterator[tuple[str, str]]:
        """Store the content of files; yield each path with the id of its object."""
        regular = [each.path for each in files if stat.S_ISREG(each.status.st_mode)]
        with tempfile.TemporaryDirectory(prefix=build_prefix(os.getpid())) as folder:
            copies = {path: Path(folder, str(at)) for at, path in enumerate(regular)}
            copied = [path for path, copy in copies.items() if self._copy_file(path, copy)]
            names = os.fsencode("".join(f"{copies[path]}\n" for path in copied))
            if copied:
                options = ("-w", "--no-filters", "--stdin-paths")
                ids = self._git.run("hash-object", *options, data=names).decode().split()
                yield from zip(copied, ids, strict=True)
        for each in files:
            if stat.S_ISLNK(each.status.st_mode) and (target := self._read_link(each.path)):
                made = self._git.run("hash-object", "-w", "--stdin", data=target)
                yield each.path, made.decode().strip()

    def _copy_file(self, path: str, copy: Path) -> bool:
        """Copy a file for git, which would follow a link that another process puts there."""
        with suppress(OSError), open_parent(str(self._root / path)) as (parent, name):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as source:
                if stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                    with copy.open("wb") as file:
                        left = MAX_FILE_BYTES
                        while left > 0 and (data := source.read(min(left, _CHUNK_BYTES))):
                            file.write(data)
                            left -= len(data)
                    return True
        self._omitted.append(path)
        return False

    def _read_link(self, path: str) -> bytes:
        with suppress(OSError), open_parent(str(self._root / path)) as (parent, name):
            return os.fsencode(os.readlink(name, dir_fd=parent))
        self._omitted.append(path)
        return b""

    def _copy_index(self, index: Path) -> None:
        try:
            shutil.copyfile(self._lost.repository.directory / "index", index)
        except FileNotFoundError:
            return  # nothing was ever staged

    def _write_tree(self, index: Path) -> str | None:
        """Return the tree of an index; None if it has conflicts."""
        try:
            return self._git.run("write-tree", "--missing-ok", index=index).decode().strip()
        except GitError as error:
            if "took too long" in str(error):
                raise
            return None

    def _update(
        self, index: Path, files: Sequence[_File], ids: dict[str, str], removed: Sequence[str]
    ) -> None:
        width = len(next(iter(ids.values()), "0" * 40))
        lines = [f"0 {'0' * width}\t{path}\0" for path in removed]
        lines += [
            f"{_get_git_mode(each.status.st_mode)} {ids[each.path]}\t{each.path}\0"
            for each in files
            if each.path in ids
        ]
        if lines:
            data = os.fsencode("".join(lines))
            self._git.run("update-index", "-z", "--index-info", data=data, index=index)

    def _resolve(self, name: str) -> str:
        arguments = ("rev-parse", "--verify", "--quiet", name)
        return self._git.run(*arguments).decode().strip() if self._git.succeeds(*arguments) else ""

    def _commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Return a new commit, by `yourtool`; its author needs no settings of the user."""
        lines = [f"tree {tree}", *(f"parent {each}" for each in dict.fromkeys(parents))]
        now = f"{int(time.time())} +0000"
        lines += [f"author {_IDENTITY} {now}", f"committer {_IDENTITY} {now}", "", message, ""]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        made = self._git.run("hash-object", "-t", "commit", "-w", "--stdin", data=data)
        return made.decode().strip()

    def _build_message(self) -> str:
        commands = ", ".join(dict.fromkeys(each.loss.command for each in self._lost.commands))
        subject = self._lost.subject
        return f"{subject[:1].upper()}{subject[1:]} before {commands}"

    def _build_journal_index(self, files: Sequence[_File], ids: dict[str, str]) -> GitIndex:
        entries = dict[str, IndexEntry]()
        for each in files:
            path, status = self._relative(each.path), each.status
            if each.path in ids and stat.S_ISREG(status.st_mode) and not path.startswith(".."):
                entries[path] = IndexEntry(
                    ids[each.path],
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino & 0xFFFFFFFF,
                    status.st_size & 0xFFFFFFFF,
                )
        return GitIndex(self._store_directory, entries)


def _get_git_mode(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "120000"
    return "100755" if mode & stat.S_IXUSR else "100644"


def describe_copy(copy: SafetyCopy) -> str:
    """Return how to get back what a copy has."""
    fetch = f"git fetch {shlex.quote(str(copy.directory))} {copy.ref}"
    texts = ["`/undo` restores it"]
    if copy.paths:
        texts.append(f"`{fetch}` and `git restore --source=FETCH_HEAD -- PATH` a single file")
    if copy.commits:
        ids = ", ".join(each[:12] for each in copy.commits[:5])
        fetched = "then" if copy.paths else f"`{fetch}` and"
        texts.append(f"{fetched} `git branch NAME COMMIT` or `git stash store COMMIT` {ids}")
    count = len(copy.omitted)
    files = "1 file, which is" if count == 1 else f"{count:,} files, which are"
    omitted = f"; it lacks {files} secret, too large or a repository" if copy.omitted else ""
    return f"{'; '.join(texts)}{omitted}"
