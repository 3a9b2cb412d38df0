"""File kinds, small reads, private writes, locks."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether a path leads to a regular file.

    Like the next three, False if that cannot be found out, where the methods of `Path` raise:
    without permission, with links in a circle, for a name that is too long or has a NUL.
    """
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_directory(path: Path) -> bool:
    """Whether a path leads to a directory."""
    return os.path.isdir(path)  # noqa: PTH112 - see `is_file`


def is_link(path: Path) -> bool:
    """Whether a path is a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114 - see `is_file`


def path_exists(path: Path) -> bool:
    """Whether a path leads to something."""
    return os.path.exists(path)  # noqa: PTH110 - see `is_file`


def may_exist(path: Path) -> bool:
    """Whether there is something at a path, also a broken link; True if that is unknown.

    For protections, which an unreadable directory must not switch off.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        pass
    return True


def is_in(path: Path, places: Iterable[Path]) -> bool:
    """Return True if a path is one of some places, or in one of them."""
    return any(path.is_relative_to(each) for each in places)


def real_path(path: Path) -> Path:
    """Return a path without links, as far as it can be followed.

    Links in a circle stay. A path through a link that may not be read, such as `/proc/1/root`, is
    returned as one below that link.

    Raises:
        FileNotFoundError: a relative path, and the working directory was deleted.
        ValueError: the path contains a NUL.
    """
    try:
        return Path(os.path.realpath(path))
    except PermissionError as error:  # no command of the user can follow it either
        return Path(error.filename, path.name)


def expand_home(path: Path) -> Path:
    """Return a path with `~` and `~user` replaced; they stay if there is no such directory."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - the method of `Path` raises


def read_small_file(path: Path, most: int) -> bytes:
    """Read a regular file of at most `most` bytes; a pipe or a device is never waited for.

    Raises:
        OSError: it cannot be read, is larger, or is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        content = b""
        while len(content) <= most and (more := os.read(handle, most + 1 - len(content))):
            content += more
    finally:
        os.close(handle)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {_format_limit(most)}", str(path))
    return content


def _format_limit(size: int) -> str:
    return f"{size // 2**20} MiB" if size % 2**20 == 0 else f"{size // 2**10} KiB"


def replace_file(path: Path, content: bytes) -> None:
    """Replace the file at `path` atomically by one with mode 0600; its directory must exist.

    Blocks until the content is synced to the disk; sync the directory to make its name durable.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)  # made with mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_directory(directory: Path) -> None:
    """Sync the names in a directory to the disk.

    Raises:
        OSError: it cannot be opened.
    """
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock_directory(directory: Path) -> int:
    """Exclude other processes that lock a directory, until the returned descriptor is closed.

    A directory that is missing is created for this user. Blocks until the lock is free.

    Raises:
        OSError: it cannot be created or opened.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_read_only(directory: Path) -> bool:
    """Whether a directory is on a file system on which nothing can be written."""
    with suppress(OSError):
        return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    return False
