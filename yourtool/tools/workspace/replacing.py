"""Atomic file replacement and deletion.

A file is written in place only where another one cannot take its name, or would take too much: the
other names of hard links, or the owner. Its content is in the journal by then, a write that fails
puts it back, and `is_partial` recognises one that a kill has interrupted.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import BinaryIO, TypeAlias

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.tools.workspace.directory_opening import CREATE, DIRECTORY, LIST, READ

_OVERWRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
ABSENT = "absent"
"""Used in place of a digest for a missing file."""

_UNREPLACEABLE = (errno.EACCES, errno.EBUSY, errno.EPERM, errno.EROFS, errno.EXDEV)
"""A directory that cannot be written, or a file that is a mount point."""
_TEMPORARY = re.compile(r"\.yourtool-[0-9a-f]{16}\.tmp")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class Replacement(Struct, frozen=True):
    """A file that is about to be replaced, created or deleted."""

    before_mode: int | None
    """Permission bits; None if the file does not exist."""
    after_mode: int
    """Permission bits; 0 if the file is deleted."""
    directories: tuple[str, ...]
    """Directories that were created for the file, outermost first."""


Announce: TypeAlias = Callable[[Replacement], AbstractContextManager[object]]
"""Returns a context in which the file is replaced or deleted."""


class OpenParent(Struct, frozen=True):
    """The open directory of a file."""

    descriptor: int
    name: str
    """The name of the file in it."""
    created: tuple[str, ...]
    """Directories that were created, outermost first."""
    is_linked: bool = False
    """True if other names lead to the same file, and are meant too."""


def make_directories(
    parent: int, known: tuple[str, ...], missing: tuple[str, ...], opened: ExitStack
) -> tuple[int, tuple[str, ...]]:
    """Create directories below each other; return the last descriptor and the created paths."""
    created = list[str]()
    for number, name in enumerate(missing, 1):
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            created.append("/".join((*known, *missing[:number])))
        parent = os.open(name, DIRECTORY, dir_fd=parent)
        opened.callback(os.close, parent)
    return parent, tuple(created)


def new_temporary_name() -> str:
    """Return the name of a file that becomes another one when it is complete."""
    return f".yourtool-{secrets.token_hex(8)}.tmp"


def is_temporary_name(name: str) -> bool:
    """Whether a file is one of ours that is not complete."""
    return _TEMPORARY.fullmatch(name) is not None


def replace_file_at(
    path: str,
    place: OpenParent,
    data: bytes,
    expected: str,
    announce: Announce,
    mode: int | None = None,
) -> None:
    """Replace or create a file with this content; see `Workspace.write`."""
    parent, name = place.descriptor, place.name
    _require_unchanged(path, parent, name, expected)

    def overwrite() -> None:
        before = stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        with announce(Replacement(before, before, place.created)):
            _require_unchanged(path, parent, name, expected)
            overwrite_at(parent, name, data)

    if expected != ABSENT and (place.is_linked or is_of_another_owner(parent, name)):
        overwrite()
        return
    temporary = new_temporary_name()
    # A new file gets its mode from the umask; a replacement is private until it gets the mode of
    # the original.
    private = expected != ABSENT or mode is not None
    try:
        created = os.open(temporary, CREATE, 0o600 if private else 0o666, dir_fd=parent)
    except OSError as error:
        if expected == ABSENT or error.errno not in _UNREPLACEABLE:
            raise
        overwrite()
        return
    before_mode: int | None = None
    try:
        with os.fdopen(created, "wb") as file:
            file.write(data)
            file.flush()
            if expected != ABSENT:
                before_mode = copy_attributes(file.fileno(), parent, name)
            elif mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            after_mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        with announce(Replacement(before_mode, after_mode, place.created)):
            _require_unchanged(path, parent, name, expected)
            replace_or_overwrite(temporary, parent, name, data, exists=expected != ABSENT)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    sync_directory(parent)


def replace_or_overwrite(
    temporary: str, parent: int, name: str, data: bytes, *, exists: bool
) -> None:
    """Rename a complete file, or write its content into one that cannot be replaced."""
    try:
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        if not exists or error.errno not in _UNREPLACEABLE:
            raise
        overwrite_at(parent, name, data)
        os.unlink(temporary, dir_fd=parent)


def is_of_another_owner(parent: int, name: str) -> bool:
    """True if a file can be written, but a new one in its place could not have its owner."""
    if os.geteuid() == 0:
        return False
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    is_ours = status.st_uid == os.geteuid() and status.st_gid in (os.getegid(), *os.getgroups())
    return not is_ours and os.access(name, os.W_OK, dir_fd=parent, follow_symlinks=False)


def overwrite_at(parent: int, name: str, data: bytes) -> None:
    """Give a file another content; if that fails, it gets the old one back.

    Raises:
        OSError: it cannot be written.
    """
    descriptor = os.open(name, _OVERWRITE, dir_fd=parent)
    with os.fdopen(descriptor, "r+b") as file:
        old = file.read()
        try:
            if len(data) > len(old) and sys.platform == "linux":
                os.posix_fallocate(descriptor, 0, len(data))  # a full disk shows before the write
            _fill(file, data)
        except OSError:
            with suppress(OSError):
                _fill(file, old)
            raise


def _fill(file: BinaryIO, data: bytes) -> None:
    file.seek(0)
    file.write(data)
    file.flush()
    file.truncate(len(data))
    os.fsync(file.fileno())


def is_partial(found: bytes, old: bytes, new: bytes) -> bool:
    """True if `overwrite_at` may have left this content when it was killed."""
    low, high = 0, min(len(found), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if found[:middle] == new[:middle] else (low, middle - 1)
    rest, kept = found[low:], old[low:]
    return rest == kept or (len(found) == len(new) and rest == kept.ljust(len(rest), b"\0"))


def delete_file_at(path: str, place: OpenParent, expected: str, announce: Announce) -> None:
    """Delete a file with this content; see `Workspace.delete`."""
    parent, name = place.descriptor, place.name
    _require_unchanged(path, parent, name, expected)
    mode = stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    with announce(Replacement(mode, 0, ())):
        _require_unchanged(path, parent, name, expected)
        os.unlink(name, dir_fd=parent)
    sync_directory(parent)


def sync_directory(parent: int) -> None:
    """Make the names in an open directory durable."""
    directory = os.open(".", LIST, dir_fd=parent)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def copy_attributes(descriptor: int, parent: int, name: str) -> int:
    """Copy owner, mode and extended attributes from the file that will be replaced.

    Returns its permission bits.
    """
    original = os.open(name, READ, dir_fd=parent)
    try:
        before, ours = os.fstat(original), os.fstat(descriptor)
        mode = stat.S_IMODE(before.st_mode)
        if (ours.st_uid, ours.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.fchown(descriptor, before.st_uid, before.st_gid)
            except PermissionError:
                mode &= 0o777  # the set-user-id bit must not apply to another owner
        if sys.platform == "linux":
            for attribute in os.listxattr(original):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(original, attribute))
        os.fchmod(descriptor, mode)
        return stat.S_IMODE(before.st_mode)
    finally:
        os.close(original)


def _require_unchanged(path: str, parent: int, name: str, expected: str) -> None:
    if _digest_at(parent, name) != expected:
        raise ToolError(
            f"`{path}` changed during this call, so nothing was written;"
            " read it again with `read_file` and repeat the call"
        )


def _digest_at(parent: int, name: str) -> str:
    try:
        descriptor = os.open(name, READ, dir_fd=parent)
    except FileNotFoundError:
        return ABSENT
    with os.fdopen(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
