"""Salvage of a damaged database.

The damaged file is not changed; it is renamed when the new one is complete. A table is read in
ranges of row ids. A range that cannot be read is divided, down to single rows. Rows of sessions
whose own row is lost get it again from `session.created`.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.errors import DamagedStoreError, SessionBusyError
from yourtool.messages.message import SCHEMA_VERSION
from yourtool.store.sqlite import health
from yourtool.store.sqlite.fulltext import stored_words
from yourtool.store.sqlite.schema import MIGRATIONS

_TABLES = ("sessions", "messages", "events", "tool_calls", "file_changes", "removals")
_RANGE = 256
"""Rows that are read at a time."""
_ROWS_PER_PAGE = 64
"""More than a page has, to guess the last row id of a table that cannot be searched."""
_PAGE_BYTES = 4_096


class TableRows(Struct, frozen=True, kw_only=True):
    """What was saved of a table."""

    table: str
    saved: int
    lost: tuple[int, ...]
    """The row ids that exist and cannot be read, at most the first hundred."""
    lost_count: int


class Salvage(Struct, frozen=True, kw_only=True):
    """The result for a database."""

    damaged: str
    """Where the damaged file is now."""
    tables: tuple[TableRows, ...]
    restored_sessions: tuple[str, ...] = ()
    """Sessions whose own row was lost."""


_MAX_NAMED = 100


def salvage(path: Path) -> Salvage:
    """Replace a damaged database by a new one with every row that can be read.

    Raises:
        SessionBusyError: another process uses the database.
        DamagedStoreError: nothing of it can be read.
        OSError, sqlite3.Error: the new file cannot be written; nothing was changed.
    """
    opened = health.OpenFile(path)
    try:
        if not opened.is_alone:
            raise SessionBusyError(
                f"`{path}` is used by another yourtool; end that process and try again"
            )
        salvaged = path.with_name(f"{path.name}.salvaged")
        with health.unfinished(salvaged) as part:
            tables, restored = _save_rows(path, part)
        moved = _move_aside(path)
        salvaged.replace(path)
    finally:
        opened.close()
    return Salvage(damaged=str(moved), tables=tables, restored_sessions=restored)


def _save_rows(path: Path, part: Path) -> tuple[tuple[TableRows, ...], tuple[str, ...]]:
    with (
        contextlib.closing(health.connect_to_read(path, 10)) as source,
        contextlib.closing(sqlite3.connect(part, isolation_level=None)) as target,
    ):
        source.text_factory = bytes
        target.create_function("stored_words", 1, stored_words, deterministic=True)
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN")
        for step in MIGRATIONS:
            for statement in step:
                target.execute(statement)
        tables = tuple(_save_table(source, target, path, table) for table in _TABLES)
        if not any(each.saved for each in tables):
            raise DamagedStoreError(_explain_nothing(path))
        restored = tuple(_restore_sessions(target))
        target.execute(
            "INSERT INTO message_words (words, message_id)"
            " SELECT stored_words(content_json), id FROM messages ORDER BY rowid"
        )
        target.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        target.execute("COMMIT")
    return tables, restored


def _explain_nothing(path: Path) -> str:
    copies = health.copies_of(path)
    if copies:
        return (
            f"Nothing can be read of `{path}`. The latest copy is `{copies[0]}`: move the damaged"
            " file away and copy this one in its place"
        )
    return f"Nothing can be read of `{path}`, and there is no copy; move it away to start a new one"


def _save_table(
    source: sqlite3.Connection, target: sqlite3.Connection, path: Path, table: str
) -> TableRows:
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
    try:
        found = {row[1].decode() for row in source.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        found = set[str]()
    names = [each for each in columns if each in found]
    if not names:
        return TableRows(table=table, saved=0, lost=(), lost_count=0)
    listed, marks = ", ".join(names), ", ".join("?" * len(names))
    insert = f"INSERT OR IGNORE INTO {table} ({listed}) VALUES ({marks})"  # noqa: S608 - names of the schema
    query = f"SELECT rowid, {listed} FROM {table} NOT INDEXED"  # noqa: S608 - names of the schema
    saved, lost, seen = 0, list[int](), set[tuple[int, Any]]()
    for row in _read_rows(source, query, _last_row_id(source, path, table)):
        if isinstance(row, int):
            lost.append(row)
        elif row[:2] not in seen:  # a page of another table has rows with the same row ids
            seen.add(row[:2])
            saved += _insert(target, insert, row[1:])
    found_ids = {row_id for row_id, _ in seen}
    lost = [each for each in lost if each not in found_ids]
    return TableRows(table=table, saved=saved, lost=tuple(lost[:_MAX_NAMED]), lost_count=len(lost))


def _read_rows(
    source: sqlite3.Connection, query: str, last: int
) -> Iterator[tuple[Any, ...] | int]:
    """Yield all rows, some of them twice, and the ids of those that cannot be read.

    A scan also finds rows whose ids are out of order; after the first error, ranges find the rest.
    """
    try:
        yield from source.execute(query)
    except sqlite3.DatabaseError:
        for first in range(1, last + 1, _RANGE):
            yield from _read_range(source, query, first, first + _RANGE - 1)


def _last_row_id(source: sqlite3.Connection, path: Path, table: str) -> int:
    try:
        [last] = source.execute(f"SELECT max(rowid) FROM {table}").fetchone()  # noqa: S608 - a name of this module
    except sqlite3.DatabaseError:
        return path.stat().st_size // _PAGE_BYTES * _ROWS_PER_PAGE
    return last or 0


def _read_range(
    source: sqlite3.Connection, query: str, first: int, last: int
) -> Iterator[tuple[Any, ...] | int]:
    """Yield the rows of a range, and the ids of single rows that cannot be read."""
    try:
        rows = source.execute(f"{query} WHERE rowid BETWEEN ? AND ?", (first, last)).fetchall()
    except sqlite3.DatabaseError:
        if first == last:
            yield first
            return
        middle = (first + last) // 2
        yield from _read_range(source, query, first, middle)
        yield from _read_range(source, query, middle + 1, last)
    else:
        yield from rows


def _insert(target: sqlite3.Connection, insert: str, row: tuple[Any, ...]) -> int:
    """Insert a row whose texts are bytes; return 1, or 0 if the schema rejects it."""
    values = [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in row]
    try:
        return target.execute(insert, values).rowcount
    except sqlite3.IntegrityError:
        return 0


def _restore_sessions(target: sqlite3.Connection) -> Iterator[str]:
    """Insert the rows of sessions that have events but no row, and yield their ids."""
    lost = target.execute(
        "SELECT session_id, min(timestamp_us), max(timestamp_us) FROM events"
        " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"
    ).fetchall()
    for session_id, created, updated in lost:
        row = target.execute(
            "SELECT payload_json FROM events WHERE session_id = ? AND type = 'session.created'",
            (session_id,),
        ).fetchone()
        target.execute(
            "INSERT INTO sessions (id, workspace_path, schema_version, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (session_id, _workspace_of(row), SCHEMA_VERSION, created, updated),
        )
        yield session_id


def _workspace_of(row: tuple[str] | None) -> str:
    with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
        path = json.loads(row[0]).get("workspace_path") if row else None
        if isinstance(path, str):
            return path
    return os.sep


def _move_aside(path: Path) -> Path:
    """Rename a database with its log; return its new path."""
    moved = path.with_name(time.strftime(f"{path.name}.damaged-%Y%m%d-%H%M%S", time.gmtime()))
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(moved.with_name(moved.name + suffix))
    return moved
