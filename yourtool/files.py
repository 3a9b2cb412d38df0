"""Atomic writing of private files, and locks of their directories."""

import fcntl
import os
import tempfile
from pathlib import Path


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
