"""Mount points for protected names that are missing in the workspace.

A name can only be masked by a mount, and a mount needs a file or directory to be mounted on. It is
created for the time of a command and removed when no command uses it: every user has a shared lock
on it, which also ends with a killed process. Removing it earlier would remove the mask of another
command. Directories are used, because version control and build tools ignore empty ones.
"""

import errno
import fcntl
import os
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from yourtool.tools.sandbox.layout import MountPoint

_MODE = 0o555
"""The mode of a mount point; an empty directory that its owner cannot write is one of ours."""
_WRITABLE = 0o222
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
_FILE_MODE = 0o444
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def hold_mount_points(points: Iterable[MountPoint]) -> Generator[None, None, None]:
    """Create the missing ones of `points`, and remove them when no command uses them.

    Raises:
        OSError: one could not be created.
    """
    with ExitStack() as opened:
        for point in points:
            if (descriptor := _hold(point)) is not None:
                opened.callback(_release, point, descriptor)
        yield


def _hold(point: MountPoint) -> int | None:
    """Lock a mount point; None if the path exists and is not a mount point of ours."""
    while True:
        try:
            _create(point)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno in _NOT_WRITABLE:
                return None  # a command cannot create it either
            raise
        try:
            descriptor = os.open(point.path, _OPEN)
        except FileNotFoundError:
            continue  # another process removed it just now
        except OSError:
            return None  # not ours
        if not _is_ours(point, descriptor):
            os.close(descriptor)
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if _is_same(point.path, descriptor):
            return descriptor
        os.close(descriptor)


def _release(point: MountPoint, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same(point.path, descriptor) and _is_ours(point, descriptor):
            with suppress(OSError):
                point.path.rmdir() if point.content is None else point.path.unlink()
    except BlockingIOError:
        pass  # another command uses it and will remove it
    finally:
        os.close(descriptor)


def _create(point: MountPoint) -> None:
    if point.content is None:
        point.path.mkdir(mode=_MODE)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(point.path, flags, _FILE_MODE)
    try:
        os.write(descriptor, point.content)
    finally:
        os.close(descriptor)


def _is_ours(point: MountPoint, descriptor: int) -> bool:
    if point.content is None:
        is_closed = not os.fstat(descriptor).st_mode & _WRITABLE
        return is_closed and not os.listdir(descriptor)
    return os.pread(descriptor, len(point.content) + 1, 0) == point.content


def _is_same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False
