"""Databases of Attocode, `.agent/sessions/sessions.db`: the sessions in them as JSON Lines.

Each session becomes the lines that the same program wrote before it had a database, so one importer
reads both. The bytes are opened in memory: the file is neither changed nor locked.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec

from yourtool.errors import UsageError
from yourtool.store.importers.source import Source, as_object, as_text, decode

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
            ids = database.execute(
                "SELECT id FROM sessions ORDER BY rowid LIMIT ?", (_MAX_SESSIONS,)
            ).fetchall()
            found = [(as_text(row[0]), _read_lines(database, row[0])) for row in ids]
    except (sqlite3.Error, OverflowError, MemoryError) as error:
        raise UsageError(f"it is no sound database of Attocode: {error}") from error
    sessions = [(name, Source(lines)) for name, lines in found if lines]
    if not sessions:
        raise UsageError("it is a database without sessions that have messages")
    return sessions


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
