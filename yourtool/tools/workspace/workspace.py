"""Confined access to the files of a workspace.

After a path is resolved, only descriptors are used, and only regular files are opened. All methods
block: call them in a thread.
"""

import asyncio
import os
import stat
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.foundation.files import expand_home
from yourtool.permissions.credential_files import find_linked_files, is_credential_file
from yourtool.permissions.own_directories import Identity, OwnDirectories, OwnFiles, identity
from yourtool.tools.workspace import hard_links
from yourtool.tools.workspace.directory_opening import DirectoryOpener, system_opener
from yourtool.tools.workspace.path_resolution import (
    ResolvedPath,
    Root,
    file_kind,
    gone_error,
    missing_path_message,
    outside_error,
    own_place_error,
    translate_os_errors,
    walk,
)
from yourtool.tools.workspace.replacing import (
    Announce,
    OpenParent,
    delete_file_at,
    make_directories,
    replace_file_at,
)

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class DirectoryEntry(Struct, frozen=True):
    """An entry of a directory."""

    name: str
    kind: str
    """`file`, `directory`, `link`, `named pipe`, `socket` or `device`."""
    size: int = 0
    """In bytes."""
    target: str = ""
    """The target of a symbolic link, unresolved."""


class Workspace:
    """A writable root directory and further read-only roots.

    Each root is resolved once and stays open: these directories are meant, even if they are renamed
    or others take their paths.
    """

    def __init__(
        self,
        root: Path,
        readable: tuple[Path, ...] = (),
        own_directories: Iterable[Path] = (),
        *,
        opener: DirectoryOpener | None = None,
    ) -> None:
        """`own_directories`: the program's directories, which are always inaccessible.

        `opener`: how directories are opened; None: the best way of this system.
        """
        self._opener = opener or system_opener()
        self._roots = tuple(Root.open(path) for path in (root, *readable))
        self._own = OwnDirectories(own_directories)
        self.root = self._roots[0].path
        """The real path."""
        self.readable = tuple(root.path for root in self._roots[1:])
        """The real paths of the read-only roots."""
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        for opened in self._roots:
            weakref.finalize(self, os.close, opened.descriptor)

    def root_descriptor(self) -> int:
        """Return the open root, where a command starts; it is valid as long as the workspace.

        Raises:
            ToolError: another directory, or none, is at its path. Rules, questions and the sandbox
                mean the path, so no command may run.
        """
        root = self._roots[0]
        if not root.is_in_place():
            problem = "was deleted" if root.is_deleted() else "is not at this path any more"
            raise gone_error(root.path, problem)
        return root.descriptor

    def check(self, path: str, *, writing: bool = False) -> None:
        """Check that `path` is inside the workspace; it need not exist.

        Raises:
            ToolError: it is outside (`permission_denied`) or not a valid path.
        """
        with self.resolve(path, writing=writing):
            pass

    def examine(self, path: str, *, writing: bool) -> tuple[str, bool]:
        """Check a path, and return what `locate` and `is_credential_file` return.

        Raises:
            ToolError: as for `check`.
        """
        with self.resolve(path, writing=writing) as place:
            return self._real_path(place), self._is_credential_file(path, place)

    def locate(self, path: str) -> str:
        """Return the real path: relative to the root, or absolute if in a read-only root."""
        with self.resolve(path) as place:
            return self._real_path(place)

    def _real_path(self, place: ResolvedPath) -> str:
        inside = place.root is self._roots[0]
        relative = "/".join(place.parts) or "."
        return relative if inside else str(place.root.path.joinpath(*place.parts))

    def kind(self, path: str) -> str | None:
        """Return the `DirectoryEntry.kind` of `path`; None if it does not exist."""
        with self.resolve(path) as place:
            return None if place.mode is None else file_kind(place.mode)

    def is_credential_file(self, path: str) -> bool:
        """Whether a path, as written or resolved, is a well-known credential file or a link to one.

        Raises:
            ToolError: as for `check`.
        """
        with self.resolve(path) as place:
            return self._is_credential_file(path, place)

    def _is_credential_file(self, path: str, place: ResolvedPath) -> bool:
        real = "/".join((str(place.root.path), *place.parts))
        return (
            is_credential_file(path)
            or is_credential_file(real)
            or (
                place.status is not None
                and hard_links.has_others(place.status)
                and place.trail[-1] in self.linked_credential_files()
            )
        )

    def linked_credential_files(self) -> frozenset[Identity]:
        """Return the credential files of the user and of the roots that have other hard links."""
        home = expand_home(Path("~"))
        return find_linked_files((home, *(root.path for root in self._roots)))

    def own_files(self) -> OwnFiles:
        """Return the program's own files and directories, which every search skips."""
        return self._own.snapshot()

    def share_locks(self, other: "Workspace") -> None:
        """Use the locks of another session in the same directory."""
        self._locks = other._locks

    def lock(self, path: str) -> asyncio.Lock:
        """Return the lock that serialises changes of a file; `path` comes from `locate`."""
        return self._locks.setdefault(path, asyncio.Lock())

    @contextmanager
    def open(self, path: str) -> Generator[BinaryIO, None, None]:
        """Open a regular file for reading.

        Raises:
            ToolError: it is missing, not a regular file, or not readable.
        """
        with self.open_located(path) as (file, _):
            yield file

    @contextmanager
    def open_located(self, path: str) -> Generator[tuple[BinaryIO, str], None, None]:
        """Open a regular file for reading, and return its real path too, as `locate` does.

        Raises:
            ToolError: as for `open`.
        """
        with self.resolve(path) as place:
            located = self._real_path(place)
            if place.mode is None:
                raise ToolError(missing_path_message(path, place))
            _require_regular_file(path, place.mode)
            with translate_os_errors(path, "read"):
                descriptor = os.open(place.name, _READ, dir_fd=place.parent)
        with os.fdopen(descriptor, "rb") as file, translate_os_errors(path, "read"):
            status = os.fstat(descriptor)
            _require_regular_file(path, status.st_mode)
            if identity(status) != place.trail[-1] and self.own_files().contains(status):
                raise own_place_error(path)
            yield file, located

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the content of a file.

        Raises:
            ToolError: as for `open`, or the file is larger than `limit` bytes.
        """
        with self.open(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ToolError(
                f"`{path}` is larger than {limit:,} bytes, the limit of this tool; use `shell`"
            )
        return data

    @contextmanager
    def directory(self, path: str) -> Generator[int, None, None]:
        """Open a directory and yield the descriptor.

        Raises:
            ToolError: it is missing, not a directory, or not readable.
        """
        with self.resolve(path) as place:
            if place.mode is None:
                raise ToolError(missing_path_message(path, place))
            if not stat.S_ISDIR(place.mode):
                raise ToolError(
                    f"`{path}` is a {file_kind(place.mode)}, not a directory;"
                    " use `read_file` for files"
                )
            with translate_os_errors(path, "listed"):
                descriptor = os.open(place.name, _LIST, dir_fd=place.parent)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def entries(self, path: str) -> list[DirectoryEntry]:
        """Return the entries of a directory, sorted by name; raises the errors of `directory`."""
        with self.directory(path) as descriptor:
            names = sorted(os.listdir(descriptor))  # noqa: PTH208 - a descriptor
            return [entry for name in names if (entry := _stat_entry(name, descriptor)) is not None]

    def write(
        self,
        path: str,
        data: bytes,
        *,
        expected: str,
        announce: Announce = lambda _: nullcontext(),
        mode: int | None = None,
    ) -> str:
        """Replace a file atomically, or create it with its parent directories.

        The data is written to a temporary file in the same directory, which is then renamed; mode,
        owner and extended attributes are copied. Symbolic links are followed and preserved. Hard
        links stay one file if all of them are ordinary files of the workspace; otherwise the others
        keep the old content. A file that cannot be replaced is written in place. `expected` is the
        digest of the old content, or `ABSENT` for a new file, and is checked right before renaming.
        `announce` is called when the new file is complete and only needs to be renamed. `mode`: the
        permission bits of a new file; None: as the umask allows.

        Returns a sentence about hard links; empty if there are none.

        Raises:
            ToolError: the file changed, is not a regular file, or cannot be written.
        """
        with self.resolve(path, writing=True) as place, ExitStack() as opened:
            if place.mode is not None:
                _require_regular_file(path, place.mode)
            names = self.find_linked_names(place.status) if place.status else ()
            with translate_os_errors(path, "written"):
                known = place.parts[: len(place.parts) - len(place.missing)]
                parent, created = make_directories(place.parent, known, place.missing[:-1], opened)
                replace_file_at(
                    path,
                    OpenParent(parent, place.name, created, is_linked=bool(names)),
                    data,
                    expected,
                    announce,
                    mode,
                )
        return hard_links.describe(names, self._real_path(place))

    def find_linked_names(self, status: os.stat_result) -> Sequence[str] | None:
        """Return all names of a file, empty if it has one; None: others must not be changed."""
        if not hard_links.has_others(status):
            return ()
        return hard_links.find_names(self.root, self._roots[0].descriptor, status)

    def delete(
        self, path: str, *, expected: str, announce: Announce = lambda _: nullcontext()
    ) -> None:
        """Delete a file; `expected` and `announce` are those of `write`.

        Raises:
            ToolError: the file changed, is not a regular file, or cannot be deleted.
        """
        with self.resolve(path, writing=True) as place:
            if place.mode is None:
                raise ToolError(missing_path_message(path, place))
            _require_regular_file(path, place.mode)
            with translate_os_errors(path, "deleted"):
                delete_file_at(path, OpenParent(place.parent, place.name, ()), expected, announce)

    def is_link(self, path: str) -> bool:
        """Whether the last name of a path is a symbolic link."""
        directory, _, name = path.rstrip("/").rpartition("/")
        above = directory or ("/" if path.startswith("/") else ".")
        with self.resolve(above) as place:
            if place.mode is None or not stat.S_ISDIR(place.mode):
                return False
            with translate_os_errors(path, "reached"):
                descriptor = os.open(place.name, _LIST, dir_fd=place.parent)
        try:
            return stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def permissions(self, path: str) -> int:
        """Return the permission bits of a regular file; raises the errors of `open`."""
        with self.open(path) as file:
            return stat.S_IMODE(os.fstat(file.fileno()).st_mode)

    @contextmanager
    def open_parent(
        self, path: str, *, create: bool = False
    ) -> Generator[OpenParent | None, None, None]:
        """Open the directory of a file in the workspace, without following any link.

        `path` is relative, as `locate` returns it. Yields None if the directory does not exist;
        with `create`, missing directories are created.

        Raises:
            ToolError: a part of the path is a link or not a directory, or access is refused.
        """
        directory, _, name = path.rpartition("/")
        with self.resolve(f"./{directory}", writing=True) as place, ExitStack() as opened:
            if "/".join(place.parts) != directory or name in ("", ".", ".."):
                raise ToolError(f"`{path}` goes through a link")
            roots = (root.trail[-1] for root in self._roots)
            if self.own_files().covers(place.trail, roots, (*place.missing, name)):
                raise own_place_error(path)
            if place.missing and not create:
                yield None
                return
            with translate_os_errors(path, "reached"):
                if place.missing:
                    known = place.parts[: len(place.parts) - len(place.missing)]
                    at, created = make_directories(place.parent, known, place.missing, opened)
                else:
                    at, created = os.open(place.name, _LIST, dir_fd=place.parent), ()
                    opened.callback(os.close, at)
                    with suppress(FileNotFoundError):
                        status = os.stat(name, dir_fd=at, follow_symlinks=False)
                        if self.own_files().contains(status):
                            raise own_place_error(path)
            yield OpenParent(at, name, created)

    @contextmanager
    def resolve(self, path: str, *, writing: bool = False) -> Generator[ResolvedPath, None, None]:
        """Resolve a path; the place is valid in the context.

        Raises:
            ToolError: as for `check`.
        """
        with walk(path, self._roots, self._opener) as place:
            if (place.mode is None or not place.parts) and place.root.is_deleted():
                raise gone_error(place.root.path, "was deleted")
            roots = (root.trail[-1] for root in self._roots)
            if self.own_files().covers(place.trail, roots, place.missing):
                raise own_place_error(path)
            if writing and place.root is not self._roots[0]:
                raise outside_error(path, self.root, "may be read but not changed")
            yield place


def _require_regular_file(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise ToolError(f"`{path}` is a directory; list it with `list_dir`")
    raise ToolError(f"`{path}` is a {file_kind(mode)}; only regular files can be opened")


def _stat_entry(name: str, descriptor: int) -> DirectoryEntry | None:
    try:
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        kind = file_kind(status.st_mode)
        target = os.readlink(name, dir_fd=descriptor) if kind == "link" else ""
    except OSError:
        return None
    return DirectoryEntry(name, kind, status.st_size, target)
