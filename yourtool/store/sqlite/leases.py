"""Session leases by lock files."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from yourtool.errors import SessionBusyError, SessionNotFoundError, StoreError

_MAX_ID = 200
"""Characters of a session id; longer ones are no names of files."""


_CONTENT_BYTES = 20
_WAITING = " waiting"
_ATTEMPTS, _PAUSE = 3, 0.002
"""Attempts, and seconds between them: `find_held` holds a lock for a moment."""


def find_held(directory: Path) -> dict[str, tuple[str, bool]]:
    """Return the sessions that processes hold: the process id, and whether they wait for an answer.

    A shared lock that is released at once tests each lock file.
    """
    found = dict[str, tuple[str, bool]]()
    for path in directory.glob("*.lock"):
        with suppress(OSError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found[path.stem] = _read_holder(file.fileno())
    return found


def _read_holder(handle: int) -> tuple[str, bool]:
    process, *rest = os.pread(handle, _CONTENT_BYTES, 0).decode("ascii", "replace").split() or [""]
    return process, bool(rest)


class FileLease:
    """The right to write to a session; the kernel releases it when the process dies.

    The lock file contains the process id of the holder and is removed on release.
    """

    def __init__(self, directory: Path, session_id: str) -> None:
        """Acquire the lease.

        Raises:
            SessionBusyError: another process has the lease.
            SessionNotFoundError: the id is not a valid session id.
            StoreError: the lock file cannot be created.
        """
        is_name = Path(session_id).name == session_id and "\0" not in session_id
        if not is_name or len(session_id) > _MAX_ID:
            raise SessionNotFoundError(f"There is no session `{session_id}`.")
        self._path = directory / f"{session_id}.lock"
        try:
            directory.mkdir(0o700, parents=True, exist_ok=True)
            self._handle = self._acquire()
        except OSError as error:
            raise StoreError(
                f"The lock file `{self._path}` cannot be used: {error.strerror}"
            ) from error
        with suppress(OSError):  # the disk is full; the process id is only for messages
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    def set_waiting(self, is_waiting: bool) -> None:
        """Record in the lock file whether the session waits for an answer of the user."""
        if self._handle >= 0:
            with suppress(OSError):  # as above
                text = f"{os.getpid()}{_WAITING if is_waiting else ''}"
                os.pwrite(self._handle, text.encode().ljust(_CONTENT_BYTES), 0)

    def release(self) -> None:
        """Release the lease; idempotent."""
        if self._handle >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> "FileLease":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _acquire(self) -> int:
        attempts = 0
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read_holder(handle)[0]
                os.close(handle)
                if (attempts := attempts + 1) < _ATTEMPTS:
                    time.sleep(_PAUSE)
                    continue
                raise SessionBusyError(
                    f"Session `{self._path.stem}` is open in another yourtool"
                    f" (process {holder or 'unknown'}). Close it there first, or read it with"
                    f" `yourtool sessions show {self._path.stem}`, or continue a copy:"
                    f" `yourtool sessions fork {self._path.stem}`."
                ) from None
            if self._is_current(handle):
                return handle
            os.close(handle)

    def _is_current(self, handle: int) -> bool:
        """Whether the locked file is still at the path; another process may have removed it."""
        try:
            return os.path.samestat(os.fstat(handle), self._path.stat())
        except FileNotFoundError:
            return False
