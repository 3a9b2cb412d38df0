"""Databases of Attocode as JSON Lines.

Each session becomes the lines that the same program wrote before it had a database, so one importer
reads both. The bytes are opened in memory, or a copy is: the file is neither changed nor
locked.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from yourtool.errors import UsageError
from yourtool.extensions.importers import attocode_python
from yourtool.extensions.importers.source import Source, as_object, as_text, decode
from yourtool.foundation.files import is_file

_MAGIC = b"SQLite format 3\0"
_VERSIONS = slice(18, 20)
"""The bytes of the header for databases with or without a write-ahead log
(https://www.sqlite.org/fileformat2.html#file_format_version_numbers).
"""
_QUERIES = (
    "SELECT type, data, timestamp FROM entries WHERE session_id = ? ORDER BY rowid",
    "SELECT 'checkpoint', state_json, created_at FROM checkpoints WHERE session_id = ?"
    " ORDER BY created_at, rowid",
)
_UNREADABLE = b"{\n"
"""A line that the importer counts as lost."""
_MAX_SESSIONS = 1_000
_ATTEMPTS = 5
"""Times that a database is read which another program changes."""


def is_database(source: Source) -> bool:
    """Return whether a file is an SQLite database."""
    return source.content.startswith(_MAGIC)


def read_sessions(source: Source) -> list[tuple[str, Source]]:
    """Return the id and the lines of each session in a database, the oldest first.

    Raises:
        UsageError: it is damaged, or not a database of Attocode.
    """
    content = bytearray(source.content)
    content[_VERSIONS] = b"\1\1"  # what is only in the log is in another file
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.text_factory = _decode_text
            database.deserialize(bytes(content))
            read = _read_lines
            if attocode_python.is_database(database):
                attocode_python.require_version(database)
                read = attocode_python.read_session
            ids = database.execute(
                "SELECT id FROM sessions ORDER BY rowid LIMIT ?", (_MAX_SESSIONS,)
            ).fetchall()
            found = [(as_text(row[0]), read(database, row[0])) for row in ids]
    except (sqlite3.Error, OverflowError, MemoryError, UnicodeDecodeError) as error:
        # the last for names of columns, to which `text_factory` does not apply
        raise UsageError(f"it is no sound database of Attocode: {error}") from error
    sessions = [(name, Source(lines)) for name, lines in found if lines]
    if not sessions:
        raise UsageError("it is a database without sessions that have messages")
    return sessions


def with_log(source: Source, file: Path) -> Source:
    """Return a database with the changes in the log next to its file, if there is one.

    Raises:
        UsageError: they cannot be read together.
        OSError: the file or the log cannot be read.
    """
    log = file.with_name(f"{file.name}-wal")
    if not is_file(log):
        return source
    for _ in range(_ATTEMPTS):
        before = _describe(file), _describe(log)
        content, changes = file.read_bytes(), log.read_bytes()
        if (_describe(file), _describe(log)) == before:
            return Source(join_log(content, changes)) if changes else Source(content)
    raise UsageError("the program that has it open changes it all the time; close that one first")


def _describe(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def join_log(content: bytes, log: bytes) -> bytes:
    """Return a database with the changes that are only in the log (WAL) next to it.

    Raises:
        UsageError: the two do not belong together or are damaged.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "copy.db"
        path.write_bytes(content)
        path.with_name("copy.db-wal").write_bytes(log)
        try:
            with closing(sqlite3.connect(path)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise UsageError(f"it is no sound database of Attocode: {error}") from error
        return path.read_bytes()


def _read_lines(database: sqlite3.Connection, session_id: object) -> bytes:
    """Return the entries of a session and its checkpoints, of which the last one counts."""
    return b"".join(
        line for query in _QUERIES for line in _encode_rows(database.execute(query, (session_id,)))
    )


def _encode_rows(rows: sqlite3.Cursor) -> Iterator[bytes]:
    for kind, data, at in rows:
        try:
            value = decode(data) if isinstance(data, str) else None
        except (ValueError, RecursionError):
            value = None
        if not (fields := as_object(value)):
            yield _UNREADABLE
            continue
        line = {"type": as_text(kind), "data": fields, "timestamp": as_text(at)}
        yield msgspec.json.encode(line) + b"\n"


def _decode_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
