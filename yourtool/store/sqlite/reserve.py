"""Reserved space for a full disk."""

import os
import time
from contextlib import suppress
from pathlib import Path

from yourtool.foundation.files import path_exists

RESERVE_BYTES = 1024 * 1024
_ENOUGH_BYTES = 32 * RESERVE_BYTES
"""Free space from which on the file is made."""
_RENEWAL_SECONDS = 30.0
"""Time after a release until the file is made again."""


class Reserve:
    """The reserve of a database; no method raises because of the disk."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.reserve")
        self._next = 0.0
        """When to look at the file again."""

    def hold(self) -> None:
        """Make the file if there is enough space for it; cheap if it was made before."""
        if time.monotonic() < self._next:
            return
        self._next = float("inf")
        with suppress(OSError):
            if path_exists(self._path):
                return
            free = os.statvfs(self._path.parent)
            if free.f_bavail * free.f_frsize >= _ENOUGH_BYTES:
                self._make()
            else:
                self._next = time.monotonic() + _RENEWAL_SECONDS

    def release(self) -> bool:
        """Remove the file; return whether that gave space."""
        try:
            held = self._path.stat().st_blocks
            self._path.unlink()
        except OSError:
            return False
        self._next = time.monotonic() + _RENEWAL_SECONDS
        return held > 0

    def _make(self) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, bytes(RESERVE_BYTES))  # allocates, also where `fallocate` is missing
        except OSError:
            self._path.unlink()
        finally:
            os.close(file)
