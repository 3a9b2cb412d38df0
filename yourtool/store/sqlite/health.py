"""Integrity checks and copies of a database.

The pages are checked by https://www.sqlite.org/pragma.html#pragma_quick_check on a connection that
cannot write: opening a database to write, and closing it, already change the file. A file that is
checked in a moment is checked at every start, a larger one after a process died and once a day.
"""

import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

from yourtool.foundation.files import path_exists

SMALL_BYTES = 32 * 2**20
"""Files up to this size are checked at every start, which takes some 50 ms at most."""
MAX_COPIED_BYTES = 2**30
"""Larger files are not copied each day."""
COPIES = 3
_DAY_SECONDS = 24 * 3_600
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


class OpenFile:
    """The mark of processes that have a database open: a shared lock that ends with them."""

    def __init__(self, database: Path) -> None:
        path = database.with_name(f"{database.name}.open")
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.is_alone = self._is_alone()
        """Whether no other process had it open at that moment."""
        self.was_left_open = self.is_alone and _has_content(_log_of(database))
        """Whether the process that had the database open last died."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def _is_alone(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def connect_to_read(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a database that is never changed through this connection."""
    address = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(
        address, timeout=timeout, isolation_level=None, uri=True, check_same_thread=False
    )


def find_damage(path: Path, timeout: float, *, was_left_open: bool) -> str | None:
    """Return what is wrong with the pages of a file; None if nothing is, or if it was checked.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    mark = path.with_name(f"{path.name}.checked")
    if not _has_content(path) or not (was_left_open or _is_due(path, mark)):
        return None
    try:
        _roll_back(path, timeout)
        with contextlib.closing(connect_to_read(path, timeout)) as connection:
            [first, *_] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return str(error)
    if first[0] != "ok":
        return " ".join(str(first[0]).split())
    if path.stat().st_size > SMALL_BYTES:
        mark.touch(0o600)
    return None


def _roll_back(path: Path, timeout: float) -> None:
    """Let SQLite undo a change that a loss of power left, which a reading connection cannot.

    Only the change to a log (WAL) has a journal, in a new file
    (https://www.sqlite.org/lockingv3.html#rollback).
    """
    if _has_content(path.with_name(f"{path.name}-journal")):
        with contextlib.closing(sqlite3.connect(path, timeout, isolation_level=None)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the content of the file is damaged."""
    return getattr(error, "sqlite_errorname", "").startswith(_DAMAGED)


def _is_due(path: Path, mark: Path) -> bool:
    if path.stat().st_size <= SMALL_BYTES:
        return True
    return not path_exists(mark) or time.time() - mark.stat().st_mtime > _DAY_SECONDS


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def copies_of(path: Path) -> list[Path]:
    """Return the daily copies of a database, the latest first."""
    return sorted((path.parent / "copies").glob(f"{path.stem}-*{path.suffix}"), reverse=True)


class DailyCopy:
    """The copy of today, written in a thread while the program works."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._copy = (
            path.parent
            / "copies"
            / time.strftime(f"{path.stem}-%Y%m%d{path.suffix}", time.gmtime())
        )
        self._source: sqlite3.Connection | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Write the copy unless it exists, and remove the oldest ones."""
        if not path_exists(self._copy) and self._path.stat().st_size <= MAX_COPIED_BYTES:
            self._source = connect_to_read(self._path, 10)
            self._thread = threading.Thread(target=self._run, name="copy", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Abandon a copy that is not complete; another start writes it."""
        if self._thread is not None and self._source is not None:
            self._source.interrupt()
            self._thread.join()
            self._source.close()
            self._thread = self._source = None

    def _run(self) -> None:
        if self._source is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self._copy.parent.mkdir(0o700, exist_ok=True)
            with unfinished(self._copy) as part:
                self._source.execute("VACUUM INTO ?", (str(part),))
            for old in copies_of(self._path)[COPIES:]:
                old.unlink()


def _is_running(process_id: str) -> bool:
    """Whether another process than this one has an id."""
    if not process_id.isdecimal() or int(process_id) == os.getpid():
        return False
    try:
        os.kill(int(process_id), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


@contextlib.contextmanager
def unfinished(copy: Path) -> Generator[Path, None, None]:
    """Yield a private file that becomes `copy` if nothing fails."""
    for left in copy.parent.glob(f"{copy.name}.*.part"):
        if not _is_running(left.suffixes[-2][1:]):
            left.unlink(missing_ok=True)
    part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    part.touch(0o600)
    try:
        yield part
        part.replace(copy)
    finally:
        part.unlink(missing_ok=True)
