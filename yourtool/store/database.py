"""The session database: one file, one connection, one thread that owns both.

Every change is one transaction that is on the disk when the call returns: WAL with
`synchronous=FULL` (https://www.sqlite.org/pragma.html#pragma_synchronous). SQLite before 3.51.3 can
damage a WAL when two connections write or checkpoint at the same instant
(https://www.sqlite.org/wal.html#walresetbug), so all of that, opening and closing included, happens
under one lock file beside the database.
"""

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from yourtool.errors import StoreError
from yourtool.store.fulltext import stored_words
from yourtool.store.schema import STEPS, Steps

T = TypeVar("T")

_REASONS = {
    "SQLITE_FULL": "the disk is full; free some space and try again",
    "SQLITE_NOTADB": "it is not a database; move it away to begin a new one",
    "SQLITE_CORRUPT": "it is damaged; move it and its `-wal` file away to begin a new one",
    "SQLITE_READONLY": "it is read-only; make it and its directory writable",
    "SQLITE_CANTOPEN": "it cannot be opened; check the permissions of its directory",
    "SQLITE_IOERR": "reading or writing failed; check the disk and its free space",
    "SQLITE_BUSY": "another program holds it; close that program and try again",
}
"""By the beginning of SQLite's name of an error."""


class Database:
    """A file of sessions; it is made, or brought up to date, at the first use."""

    def __init__(self, path: Path, steps: Steps = STEPS, *, patience: float = 10.0) -> None:
        """`patience`: seconds to wait for another process to finish its transaction."""
        self.path = path
        self._patience = patience
        self._steps = steps
        self._thread = ThreadPoolExecutor(1, "store")
        self._connection: sqlite3.Connection | None = None
        self._lock = -1
        self._closed = False

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction of its own; durable on return, undone if it raises.

        A cancelled write still ends, one way or the other, before the cancellation goes on.

        Raises:
            StoreError: the database cannot be written; nothing was.
        """
        return await self._run(lambda: self._write(work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one consistent state of the database.

        Raises:
            StoreError: the database cannot be read.
        """
        return await self._run(lambda: self._read(work))

    async def close(self) -> None:
        """Let go of the file, for good; doing so twice is harmless."""
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
            raise

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with _explained(self.path):
            connection = self._connect()
            with self._alone(), connection:
                connection.execute("BEGIN IMMEDIATE")
                return work(connection)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with _explained(self.path):
            connection = self._connect()
            with connection:
                connection.execute("BEGIN")
                return work(connection)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        _make_directory(self.path.parent)
        if self._lock < 0:
            beside = self.path.with_name(f"{self.path.name}.lock")
            self._lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self._alone():
            _make_private(self.path)
            connection = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        with _explained(self.path):
            if self._connection is not None:
                with self._alone():
                    self._connection.close()
            if self._lock >= 0:
                os.close(self._lock)
            self._connection, self._lock = None, -1

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.create_function("stored_words", 1, stored_words, deterministic=True)
        if version == len(self._steps):
            return
        if version > 0:
            self._back_up(connection, version)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for step in self._steps[version:]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self._steps)}")

    def _version(self, connection: sqlite3.Connection) -> int:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > len(self._steps):
            raise StoreError(
                f"`{self.path}` was written by a newer version of yourtool (format {version}, this"
                f" one knows {len(self._steps)}); update yourtool, or choose another directory with"
                " `--session-dir`"
            )
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(
                f"`{self.path}` is a database of another program; choose another directory with"
                " `--session-dir`"
            )
        return version

    def _back_up(self, connection: sqlite3.Connection, version: int) -> None:
        """Keep the file as it was, whole or not at all, as `<name>.v<version>`."""
        backup = self.path.with_name(f"{self.path.name}.v{version}")
        unfinished = backup.with_name(f"{backup.name}.part")
        unfinished.unlink(missing_ok=True)
        unfinished.touch(0o600)
        try:
            connection.execute("VACUUM INTO ?", (str(unfinished),))
            unfinished.replace(backup)
        finally:
            unfinished.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _alone(self) -> Generator[None]:
        """Keep every other process, and every other `Database`, from writing meanwhile."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"`{self.path}` has been held by another yourtool for {self._patience:.0f}"
                        " seconds; end that process and try again"
                    ) from None
                time.sleep(0.001)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _make_directory(path: Path) -> None:
    """Make what is missing of a path, for the owner alone."""
    for directory in (*reversed(path.parents), path):
        if not directory.exists():
            directory.mkdir(0o700, exist_ok=True)


def _make_private(path: Path) -> None:
    """See to it that the file is there and the owner's alone; SQLite gives its WAL the same mode.

    A file that exists is not opened: closing it would end the locks that another connection of
    this process holds on it (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks).
    """
    if path.exists():
        with contextlib.suppress(PermissionError):
            path.chmod(0o600)
        return
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextlib.contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn what SQLite and the system say into words for the user."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        reason = next((text for start, text in _REASONS.items() if name.startswith(start)), error)
        raise StoreError(f"The session database `{path}`: {reason}") from error
    except OSError as error:
        raise StoreError(
            f"The session database `{path}` cannot be used: {error.strerror or error}"
        ) from error
