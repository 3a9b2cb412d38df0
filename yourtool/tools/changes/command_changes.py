"""The files that a command changed."""

import os
import stat

from msgspec import Struct
from msgspec.structs import replace

from yourtool.foundation.file_images import FileState


class Signature(Struct, frozen=True):
    """What changes when a file changes."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Signature":
        """Return the signature of a file."""
        return cls(
            status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode
        )


class CommandChange(Struct, frozen=True):
    """A file before and after a command."""

    path: str
    before: FileState
    after: FileState
    directories: tuple[str, ...] = ()
    """Directories that the command created for the file, outermost first."""


class CommandChanges(Struct, frozen=True):
    """What a command changed."""

    changes: tuple[CommandChange, ...] = ()
    omitted: int = 0
    """Number of further files that changed."""

    def __bool__(self) -> bool:
        return bool(self.changes or self.omitted)


def with_equal_content(
    earlier: FileState, later: FileState, old: Signature | None, new: Signature | None
) -> FileState:
    """Return the earlier state, with the later content if only the mode changed."""
    if (
        old is None
        or new is None
        or earlier.image.digest
        or (old.mtime_ns, old.size, old.inode) != (new.mtime_ns, new.size, new.inode)
    ):
        return earlier
    image = replace(later.image, mode=stat.S_IMODE(old.mode))
    return FileState(image, later.content)


def is_storable_path(path: str) -> bool:
    """Whether a path can be stored: it is UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
