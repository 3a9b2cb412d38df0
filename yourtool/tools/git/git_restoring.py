"""Restoration of a workspace's repository.

A reference that somebody else moved since is left. Commits and new branches stay, because nothing
was lost by them. Lost lines of logs, so also dropped stashes, are added to what is there now.
Everything here blocks.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from yourtool.errors import ToolError
from yourtool.events.files import RestoreKind
from yourtool.foundation.file_images import FileRestore, LeftFile
from yourtool.tools.git.git_object_store import GitObjectStore
from yourtool.tools.git.git_program import GitError
from yourtool.tools.git.git_state import (
    REPOSITORY,
    STASH,
    STASHES,
    StoredFile,
    find_lost_lines,
    get_log_key,
    read_archive,
)
from yourtool.tools.git.present_repository import PresentRepository, open_present
from yourtool.tools.workspace.directory_opening import CREATE, DIRECTORY, open_real_directory
from yourtool.tools.workspace.replacing import make_directories, new_temporary_name

SECONDS = 20.0
"""For all that git is asked by one undo."""
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
    """The repository of a workspace, as far as one undo changes it."""

    def __init__(self, root: Path, stores: Path) -> None:
        """`root`: the workspace, a real path; `stores`: the directory of saved objects."""
        self._root = root
        self._stores = stores
        self._deadline = time.monotonic() + SECONDS

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
            GitError: undo does not change such a repository.
            OSError: the repository cannot be read.
        """
        found, left = list[FileRestore](), list[LeftFile]()
        with open_present(self._root, self._stores, self._deadline) as present:
            keeps_commits = False
            for item in sort_for_restoring(files):
                if item.path == REPOSITORY:
                    problem = _find_repository_problem(item, present)
                elif any(each.path == REPOSITORY for each in found):
                    problem = None  # it is compared with the restored one
                elif present is None:
                    problem = "there is no repository"
                elif kind != "redo" and present.has_more(item, read_content):
                    keeps_commits |= item.after.kind != "absent"
                    continue
                elif (
                    keeps_commits
                    and item.path == f"{REPOSITORY}/{present.private}index"
                    and not present.has_new_conflicts(item, read_content)
                ):
                    continue  # it belongs to the commits
                else:
                    problem = present.find_problem(item, is_undo=kind != "redo")
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
            with open_present(self._root, self._stores, self._deadline) as present:
                if item.path == REPOSITORY:
                    self._restore_repository(item, content, present)
                elif present is None:
                    raise ValueError("there is no repository")
                else:
                    _restore_part(item, content, present, is_undo=is_undo)
        except NotADirectoryError as error:
            message = f"`{item.path}` could not be restored: its path goes through a link or a file"
            raise ToolError(message) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ToolError(f"`{item.path}` could not be restored: {reason}") from error
        except (GitError, ValueError) as error:
            raise ToolError(f"`{item.path}` could not be restored: {error}") from error

    def _restore_repository(
        self, item: FileRestore, content: bytes | None, present: PresentRepository | None
    ) -> None:
        if content is None or _find_repository_problem(item, present) is not None:
            raise ToolError(f"`{REPOSITORY}` exists again")
        archive = read_archive(content)
        directory = Path(os.path.normpath(self._root / archive.directory))
        store, name = GitObjectStore(self._stores, directory), directory.name
        with open_real_directory(str(directory.parent)) as parent, ExitStack() as opened:
            try:
                target = os.open(name, DIRECTORY, dir_fd=parent)
                part = ""  # only a part of it was deleted
            except FileNotFoundError:
                part = new_temporary_name()
                os.mkdir(part, dir_fd=parent)
                target = os.open(part, DIRECTORY, dir_fd=parent)
            opened.callback(os.close, target)
            _unpack(archive.files, target)
            store.give_back(target)
            if part:
                os.rename(part, name, src_dir_fd=parent, dst_dir_fd=parent)


def _find_repository_problem(item: FileRestore, present: PresentRepository | None) -> str | None:
    """Return why a repository is left."""
    if item.after.kind == "absent":
        return "a repository is not deleted again"
    return None if present is None else "exists again"


def _restore_part(
    item: FileRestore, content: bytes | None, present: PresentRepository, *, is_undo: bool
) -> None:
    found = present.read(item.path)
    if found.image.is_same(item.after):
        return
    if problem := present.find_problem(item, is_undo=is_undo):
        raise ToolError(f"`{item.path}` {problem}")
    name = item.path.removeprefix(f"{REPOSITORY}/")
    own = name.removeprefix(present.private)
    if name.startswith("refs/") and name != STASH:
        present.move_reference(name, None if content is None else content.decode().strip())
        return
    if own.startswith("logs/") and is_undo:
        content, lost = _add_lines(content or b"", found.content or b"")
        present.require(lost)
    elif own == "index" and content is not None:
        present.require_staged(content)
    elif own == "HEAD" and content and not content.startswith(b"ref: "):
        present.require([content.decode().strip()])
    if content is None:
        present.delete(name, item.directories)
    else:
        present.write(name, item.after, content)
    if name == STASHES:
        _move_stash(content, present)


def _move_stash(log: bytes | None, present: PresentRepository) -> None:
    """Let the reference of the stashes name the last of its log."""
    lines = (log or b"").splitlines()
    if log is None:
        present.move_reference(STASH, None)
    elif lines:
        present.move_reference(STASH, _get_id(lines[-1]))


def _get_id(line: bytes) -> str:
    """Return the id that a line of a log ends with."""
    words = line.split(b" ")
    if len(words) < 3:
        raise ValueError("its log cannot be read")
    return words[1].decode()


def _add_lines(content: bytes, present: bytes) -> tuple[bytes, list[str]]:
    """Return an earlier log with the later lines of the present one, and the lost commits."""
    lost = find_lost_lines(content, present)
    commits = [_get_id(line) for line in lost if line.count(b" ") > 1]
    known = {get_log_key(line) for line in content.splitlines()}
    later = [line for line in present.splitlines() if get_log_key(line) not in known]
    return _join_ids([*content.splitlines(), *later]), commits


def _join_ids(lines: Sequence[bytes]) -> bytes:
    """Return a log in which each line starts with the id that the line before ends with."""
    before, joined = b"", list[bytes]()
    for line in lines:
        first, _, rest = line.partition(b" ")
        joined.append(b"%s %s\n" % (before or first, rest))
        before = rest.partition(b" ")[0]
    return b"".join(joined)


def _unpack(files: Iterable[StoredFile], root: int) -> None:
    """Create the missing files of an open git directory; what exists stays."""
    for path in ("refs/heads", "refs/tags", "objects/info", "objects/pack"):
        with ExitStack() as opened:
            make_directories(root, (), tuple(path.split("/")), opened)
    for file in files:
        *folders, name = file.path.split("/")
        with ExitStack() as opened:
            parent, _ = make_directories(root, (), tuple(folders), opened)
            try:
                created = os.open(name, CREATE, 0o600, dir_fd=parent)
            except FileExistsError:
                continue
            with os.fdopen(created, "wb") as written:
                written.write(file.content)
                os.fchmod(created, file.mode)
