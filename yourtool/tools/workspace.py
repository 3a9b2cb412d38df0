"""The files that tools may touch.

Only descriptors are used once a path is resolved, and only regular files are opened. Every method
blocks: call them in a thread.
"""

import asyncio
import hashlib
import os
import secrets
import stat
import sys
import weakref
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.own_places import OwnPlaces, Snapshot, identity
from yourtool.tools.walk import (
    DIRECTORY,
    ResolvedPath,
    Root,
    explained,
    kind_of,
    missing_text,
    outside,
    walk,
)

ABSENT = "absent"
"""Stands for the digest of a file that does not exist."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class FileReads:
    """What each file held when the model last saw it; safe to use from any thread."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def record(self, path: str, content: str) -> None:
        """Remember the digest of a file, by the path that `Workspace.locate` gives."""
        self._digests[path] = content

    def last(self, path: str) -> str | None:
        """Return the digest as last seen; None if the file was never seen."""
        return self._digests.get(path)


class DirectoryEntry(Struct, frozen=True):
    """One name in a directory."""

    name: str
    kind: str
    """`file`, `directory`, `link`, `named pipe`, `socket` or `device`."""
    size: int = 0
    """In bytes."""
    target: str = ""
    """Where a link points, as written in it."""


class Workspace:
    """A directory that may be changed, and others that may only be read.

    The boundary is fixed here: each root is resolved once and held open.
    """

    def __init__(
        self, root: Path, readable: tuple[Path, ...] = (), own: Iterable[Path] = ()
    ) -> None:
        """`own`: directories of the program itself, which stay closed wherever they are."""
        self._roots = tuple(Root.open(path) for path in (root, *readable))
        self._own = OwnPlaces(own)
        self.root = self._roots[0].path
        """The real path."""
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        for opened in self._roots:
            weakref.finalize(self, os.close, opened.descriptor)

    def check(self, path: str, *, writing: bool = False) -> None:
        """Make sure that `path` stays inside; it need not exist.

        Raises:
            ToolError: it leads outside (`permission_denied`), or no path can look like that.
        """
        with self._at(path, writing=writing):
            pass

    def locate(self, path: str) -> str:
        """Return where `path` really leads: relative to the root, or absolute if only readable."""
        with self._at(path) as place:
            inside = place.root is self._roots[0]
            relative = "/".join(place.parts) or "."
            return relative if inside else str(place.root.path.joinpath(*place.parts))

    def kind(self, path: str) -> str | None:
        """Return what is at `path`, in the words of `DirectoryEntry.kind`; None: nothing is."""
        with self._at(path) as place:
            return None if place.mode is None else kind_of(place.mode)

    def is_credential_file(self, path: str) -> bool:
        """Tell whether a path, as written or where it leads, is a place of credentials.

        Raises:
            ToolError: as for `check`.
        """
        with self._at(path) as place:
            real = "/".join((str(place.root.path), *place.parts))
        return is_credential_file(path) or is_credential_file(real)

    def own_places(self) -> Snapshot:
        """Return what every search leaves out, as it is now."""
        return self._own.snapshot()

    def lock(self, path: str) -> asyncio.Lock:
        """Return the lock that serialises changes of one file, by the path `locate` gives."""
        return self._locks.setdefault(path, asyncio.Lock())

    @contextmanager
    def open(self, path: str) -> Generator[BinaryIO, None, None]:
        """Open a regular file for reading.

        Raises:
            ToolError: it is missing, is something else, or may not be read.
        """
        with self._at(path) as place:
            if place.mode is None:
                raise ToolError(missing_text(path, place))
            _demand_file(path, place.mode)
            with explained(path, "read"):
                descriptor = os.open(place.name, _READ, dir_fd=place.parent)
        with os.fdopen(descriptor, "rb") as file, explained(path, "read"):
            status = os.fstat(descriptor)
            _demand_file(path, status.st_mode)
            if identity(status) != place.trail[-1] and self.own_places().holds(status):
                raise _own(path)
            yield file

    def read(self, path: str, *, limit: int) -> bytes:
        """Return a whole file.

        Raises:
            ToolError: as for `open`, or it is longer than `limit` bytes.
        """
        with self.open(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ToolError(
                f"`{path}` is larger than {limit:,} bytes, too large for this tool; use `shell`"
            )
        return data

    @contextmanager
    def directory(self, path: str) -> Generator[int, None, None]:
        """Open a directory; yields the descriptor.

        Raises:
            ToolError: it is missing, is no directory, or may not be read.
        """
        with self._at(path) as place:
            if place.mode is None:
                raise ToolError(missing_text(path, place))
            if not stat.S_ISDIR(place.mode):
                raise ToolError(
                    f"`{path}` is a {kind_of(place.mode)}, not a directory;"
                    " use `read_file` for files"
                )
            with explained(path, "listed"):
                descriptor = os.open(place.name, _LIST, dir_fd=place.parent)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def entries(self, path: str) -> list[DirectoryEntry]:
        """Return what a directory holds, sorted by name; raises what `directory` does."""
        with self.directory(path) as descriptor:
            names = sorted(os.listdir(descriptor))  # noqa: PTH208 - a descriptor
            return [entry for name in names if (entry := _entry(name, descriptor)) is not None]

    def write(self, path: str, data: bytes, *, expected: str) -> None:
        """Replace a file, or make it and the directories above it: all or nothing.

        The bytes go to a temporary file beside it, which then takes its name; mode, owner and
        extended attributes are kept. A link is followed and stays. Another hard link of the file
        keeps the old bytes, because it may be outside. `expected` is the digest of what is being
        replaced, `ABSENT` for a new file, and is compared with the file at the last moment.

        Raises:
            ToolError: the file changed meanwhile, is no regular file, or may not be written.
        """
        with self._at(path, writing=True) as place, ExitStack() as opened:
            if place.mode is not None:
                _demand_file(path, place.mode)
            with explained(path, "written"):
                parent = place.parent
                for name in place.missing[:-1]:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=parent)
                    parent = os.open(name, DIRECTORY, dir_fd=parent)
                    opened.callback(os.close, parent)
                _replace(path, parent, place.name, data, expected)

    @contextmanager
    def _at(self, path: str, *, writing: bool = False) -> Generator[ResolvedPath, None, None]:
        with walk(path, self._roots) as place:
            roots = (root.trail[-1] for root in self._roots)
            if self.own_places().covers(place.trail, roots, place.missing):
                raise _own(path)
            if writing and place.root is not self._roots[0]:
                raise outside(path, self.root, "may be read but not changed")
            yield place


def _own(path: str) -> ToolError:
    return ToolError(
        f"`{path}` is in a directory of `yourtool` itself, which holds keys, permissions, settings"
        " and sessions. No tool may read or change what is there, and no rule allows it:"
        " continue without it, or ask the user.",
        ToolFailure.PERMISSION_DENIED,
    )


def _demand_file(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise ToolError(f"`{path}` is a directory; see what is in it with `list_dir`")
    raise ToolError(
        f"`{path}` is a {kind_of(mode)}, not a regular file; only regular files are opened"
    )


def _entry(name: str, descriptor: int) -> DirectoryEntry | None:
    try:
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        kind = kind_of(status.st_mode)
        target = os.readlink(name, dir_fd=descriptor) if kind == "link" else ""
    except OSError:
        return None
    return DirectoryEntry(name, kind, status.st_size, target)


def _replace(path: str, parent: int, name: str, data: bytes, expected: str) -> None:
    _demand_unchanged(path, parent, name, expected)
    temporary = f".yourtool-{secrets.token_hex(8)}.tmp"
    # A new file takes its mode from the umask; one that replaces another is private until it
    # has the other's mode.
    mode = 0o666 if expected == ABSENT else 0o600
    created = os.open(temporary, _CREATE, mode, dir_fd=parent)
    try:
        with os.fdopen(created, "wb") as file:
            file.write(data)
            file.flush()
            if expected != ABSENT:
                _inherit(file.fileno(), parent, name)
            os.fsync(file.fileno())
        _demand_unchanged(path, parent, name, expected)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    directory = os.open(".", _LIST, dir_fd=parent)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _inherit(descriptor: int, parent: int, name: str) -> None:
    """Give a new file the owner, mode and extended attributes of the one it will replace."""
    original = os.open(name, _READ, dir_fd=parent)
    try:
        before, ours = os.fstat(original), os.fstat(descriptor)
        mode = stat.S_IMODE(before.st_mode)
        if (ours.st_uid, ours.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.fchown(descriptor, before.st_uid, before.st_gid)
            except PermissionError:
                mode &= 0o777  # set-user-id must not move to another user
        if sys.platform == "linux":
            for attribute in os.listxattr(original):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(original, attribute))
        os.fchmod(descriptor, mode)
    finally:
        os.close(original)


def _demand_unchanged(path: str, parent: int, name: str, expected: str) -> None:
    if _digest_at(parent, name) != expected:
        raise ToolError(
            f"`{path}` changed while this call was being prepared, so nothing was written;"
            " read it again with `read_file` and repeat the call"
        )


def _digest_at(parent: int, name: str) -> str:
    try:
        descriptor = os.open(name, _READ, dir_fd=parent)
    except FileNotFoundError:
        return ABSENT
    with os.fdopen(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
