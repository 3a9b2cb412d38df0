"""Session database and its thread.

Every change is one transaction, on the disk when the call returns: WAL with `synchronous=FULL`
(https://www.sqlite.org/pragma.html#pragma_synchronous). SQLite before 3.51.3 can corrupt a WAL when
two connections write or checkpoint at the same time
(https://www.sqlite.org/wal.html#walresetbug), so writing, opening and closing happen under a lock
file next to the database.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from yourtool.errors import DamagedStoreError, FullDiskError, StoreError
from yourtool.foundation.files import path_exists
from yourtool.store.sqlite import health
from yourtool.store.sqlite.fulltext import stored_words
from yourtool.store.sqlite.reserve import Reserve
from yourtool.store.sqlite.schema import MIGRATIONS, Migrations

T = TypeVar("T")
_log = logging.getLogger(__name__)

_REASONS = {
    "SQLITE_READONLY": "it is read-only; make it and its directory writable",
    "SQLITE_CANTOPEN": "it cannot be opened; check the permissions of its directory",
    "SQLITE_IOERR": "reading or writing failed; check the disk and its free space",
    "SQLITE_BUSY": "another program has locked it; close that program and try again",
}
"""Explanations by the prefix of SQLite's error name."""

_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""SQLite's error names on a full disk."""


class Database:
    """A session database file; created or migrated on first use."""

    def __init__(
        self, path: Path, migrations: Migrations = MIGRATIONS, *, lock_timeout: float = 10.0
    ) -> None:
        """`lock_timeout`: seconds to wait for another process to finish its transaction."""
        self.path = path
        self._lock_timeout = lock_timeout
        self._migrations = migrations
        self._thread = ThreadPoolExecutor(1, "store")
        self._connection: sqlite3.Connection | None = None
        self._lock = -1
        self._opened: health.OpenFile | None = None
        self._damage: str | None = None
        self._daily_copy: health.DailyCopy | None = None
        self._is_copied = False
        self._reserve = Reserve(path)
        self._closed = False

    async def write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in a transaction; durable on return, rolled back if it raises.

        A cancelled write is committed or rolled back before the cancellation is raised. On a full
        disk, `function` runs a second time with the space of the reserve.

        Raises:
            DamagedStoreError: the file is damaged; nothing is written to it.
            FullDiskError: the disk is full; nothing was changed.
            StoreError: the database cannot be written; nothing was changed.
        """
        return await self._run(lambda: self._write(function))

    async def read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` on one consistent state of the database.

        Raises:
            StoreError: the database cannot be read.
        """
        return await self._run(lambda: self._read(function))

    def open_early(self) -> None:
        """Open the file in the thread; an error is raised by the first use, which tries again."""
        self._thread.submit(self._connect)

    async def close(self) -> None:
        """Close the file permanently; idempotent."""
        if not self._closed:
            self._closed = True
            await self._run(self._disconnect)
            self._thread.shutdown()

    async def _run(self, function: Callable[[], T]) -> T:
        future = asyncio.wrap_future(self._thread.submit(function))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait((future,))
            future.exception()  # of no interest: the caller gets the cancellation
            raise

    def _write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        with self._translate_errors():
            connection = self._connect()
            if self._damage is not None:
                raise damaged(self.path, self._damage)
            try:
                done = self._commit(connection, function)
            except sqlite3.OperationalError as error:
                if not (_is_full(error) and self._reserve.release()):
                    raise
                done = self._commit(connection, function)
            else:
                self._reserve.hold()
            if self._daily_copy is not None and not self._is_copied:
                self._is_copied = True
                self._daily_copy.start()
            return done

    def _commit(
        self, connection: sqlite3.Connection, function: Callable[[sqlite3.Connection], T]
    ) -> T:
        with self._exclusive_lock(), connection:
            connection.execute("BEGIN IMMEDIATE")
            return function(connection)

    def _read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        with self._translate_errors(), self._name_bad_rows():
            connection = self._connect()
            with connection:
                connection.execute("BEGIN")
                return function(connection)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        _make_directory(self.path.parent)
        if self._lock < 0:
            lock_path = self.path.with_name(f"{self.path.name}.lock")
            self._lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self._exclusive_lock():
            if _make_private(self.path):
                self._daily_copy = health.DailyCopy(self.path)
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        """Return a connection, which cannot write if the file is damaged."""
        if self._opened is None:
            self._opened = health.OpenFile(self.path)
        was_left_open = self._opened.was_left_open
        self._damage = health.find_damage(
            self.path, self._lock_timeout, was_left_open=was_left_open
        )
        if self._damage is not None:
            return self._open_to_read()
        connection = sqlite3.connect(self.path, timeout=self._lock_timeout, isolation_level=None)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_to_read(self) -> sqlite3.Connection:
        connection = health.connect_to_read(self.path, self._lock_timeout)
        connection.text_factory = _decode_text
        return connection

    def _stop_writing(self, error: sqlite3.Error) -> None:
        """Write nothing more to a file that turned out to be damaged."""
        writing, self._damage = self._connection, str(error)
        with contextlib.suppress(sqlite3.Error):
            # Only the last connection that is closed changes the file, and this one cannot.
            self._connection = self._open_to_read()
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            if writing is not None:
                writing.close()

    def _disconnect(self) -> None:
        with self._translate_errors():
            if self._daily_copy is not None:
                self._daily_copy.stop()
            if self._connection is not None:
                with self._exclusive_lock():
                    self._connection.close()
            if self._opened is not None:
                self._opened.close()
            if self._lock >= 0:
                os.close(self._lock)
            self._connection, self._opened, self._lock = None, None, -1

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.text_factory = _decode_text
        connection.create_function("stored_words", 1, stored_words, deterministic=True)
        if version == len(self._migrations):
            return
        if version > 0:
            self._back_up(connection, version)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for step in self._migrations[version:]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")

    def _version(self, connection: sqlite3.Connection) -> int:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > len(self._migrations):
            raise StoreError(
                f"`{self.path}` was written by a newer version of yourtool (format {version}; this"
                f" version supports up to {len(self._migrations)}); update yourtool, or choose"
                " another directory with `--session-dir`"
            )
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(
                f"`{self.path}` is a database of another program; choose another directory with"
                " `--session-dir`"
            )
        return version

    def _back_up(self, connection: sqlite3.Connection, version: int) -> None:
        """Copy the file atomically to `<name>.v<version>`."""
        with health.unfinished(self.path.with_name(f"{self.path.name}.v{version}")) as part:
            connection.execute("VACUUM INTO ?", (str(part),))

    @contextlib.contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Raise errors of SQLite and the operating system as `StoreError` with an explanation."""
        try:
            yield
        except sqlite3.Error as error:
            if health.is_damage(error):
                if self._damage is None:
                    self._stop_writing(error)
                raise damaged(self.path, str(error)) from error
            if _is_full(error):
                raise FullDiskError(
                    f"The session database `{self.path}`: the disk is full; free some space and"
                    " try again"
                ) from error
            name = _name_of(error)
            known = (text for start, text in _REASONS.items() if name.startswith(start))
            reason = next(known, error)
            raise StoreError(f"The session database `{self.path}`: {reason}") from error
        except OSError as error:
            raise StoreError(
                f"The session database `{self.path}` cannot be used: {error.strerror or error}"
            ) from error

    @contextlib.contextmanager
    def _name_bad_rows(self) -> Generator[None]:
        """Raise the errors of values that a damaged row has as `StoreError`."""
        try:
            yield
        except (ValueError, TypeError, OverflowError) as error:
            _log.exception("a row cannot be read")
            raise StoreError(
                f"The session database `{self.path}` has a row that cannot be read: {error};"
                " `yourtool sessions check` names damaged rows"
            ) from error

    @contextlib.contextmanager
    def _exclusive_lock(self) -> Generator[None]:
        """Block writes by every other process and every other `Database`."""
        deadline = time.monotonic() + self._lock_timeout
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"`{self.path}` has been locked by another yourtool for"
                        f" {self._lock_timeout:.0f} seconds; end that process and try again"
                    ) from None
                time.sleep(0.001)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _name_of(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")


def _is_full(error: sqlite3.Error) -> bool:
    return _name_of(error).startswith(_FULL)


def damaged(path: Path, reason: str) -> DamagedStoreError:
    """Return the error for a damaged database."""
    copies = health.copies_of(path)
    latest = f"; the latest copy is `{copies[0]}`" if copies else ""
    return DamagedStoreError(
        f"The session database `{path}` is damaged: {reason}. Nothing is written to it. `yourtool"
        f" sessions salvage` saves every row that can be read in a new database{latest}"
    )


_decode_text = partial(str, encoding="utf-8", errors="replace")
"""Text of a damaged file can have bytes that are not UTF-8."""


def _make_directory(path: Path) -> None:
    """Create a directory and its missing parents with mode 0700."""
    for directory in (*reversed(path.parents), path):
        if not path_exists(directory):
            directory.mkdir(0o700, exist_ok=True)


def _make_private(path: Path) -> bool:
    """Make sure that the file exists with mode 0600; SQLite gives its WAL the same mode.

    Returns whether it existed.

    An existing file is not opened: closing it would release the locks that another connection of
    this process has on it (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks).
    """
    if path_exists(path):
        with contextlib.suppress(PermissionError):
            path.chmod(0o600)
        return True
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return False
