"""Records of deletions.

Records have no content. The module also removes the id of a user. A record is stored in the
transaction of the removal, so each removal has exactly one.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from sqlite3 import Connection
from typing import Any, cast

import msgspec

from yourtool.messages.blocks import canonical_json
from yourtool.messages.message import now
from yourtool.store.base import Removal, RemovalReason
from yourtool.store.sqlite.row_codec import from_microseconds, to_microseconds

_HAS_USER = """
    CASE WHEN json_valid(metadata_json) THEN json_extract(metadata_json, '$.user_id') END = ?
"""
_SELECT_EXTRA = """
    SELECT id, extra FROM (
        SELECT id, CASE WHEN json_valid(metadata_json)
            THEN json_extract(metadata_json, '$.import.extra') END AS extra
        FROM messages
    ) WHERE instr(extra, ?)
"""
_UPDATE_EXTRA = """
    UPDATE messages SET metadata_json = json_set(metadata_json, '$.import.extra', json(?))
    WHERE id = ?
"""
_SELECT_ENTRIES = """
    SELECT id, entry FROM (
        SELECT id, CASE WHEN json_valid(payload_json)
            THEN json_extract(payload_json, '$.text') END AS entry
        FROM events WHERE type = 'entry.imported'
    ) WHERE instr(entry, ?)
"""
_UPDATE_ENTRY = "UPDATE events SET payload_json = json_set(payload_json, '$.text', ?) WHERE id = ?"
_SELECT_UNUSED = """
    SELECT id FROM sessions AS s
    WHERE updated_at < ? AND worker_of IS NULL AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE session_id = s.id AND +type IN ('session.renamed', 'branch.labelled')
    )
    ORDER BY updated_at LIMIT ?
"""


def record_removal(
    connection: Connection, subject: str, reason: RemovalReason, messages: int
) -> None:
    """Store that the messages of a session, or those of a user, were removed now."""
    connection.execute(
        "INSERT INTO removals (removed_at, subject, reason, message_count) VALUES (?, ?, ?, ?)",
        (to_microseconds(now()), subject, reason, messages),
    )


def read_removals(connection: Connection) -> tuple[Removal, ...]:
    """Return all records, the latest first."""
    rows = connection.execute(
        "SELECT removed_at, CAST(subject AS TEXT), CAST(reason AS TEXT), message_count"
        " FROM removals ORDER BY rowid DESC"
    )
    return tuple(
        Removal(removed_at=from_microseconds(at), subject=subject, reason=reason, messages=count)
        for at, subject, reason, count in rows
    )


def find_unused(connection: Connection, before: datetime, limit: int) -> list[str]:
    """Return the sessions that `SessionStore.find_unused` describes."""
    rows = connection.execute(_SELECT_UNUSED, (to_microseconds(before), limit))
    return [row[0] for row in rows]


def pseudonym(user_id: str) -> str:
    """Return what the record has in place of the id of a user, as redacted exports do."""
    return f"redacted_{hashlib.sha256(user_id.encode()).hexdigest()[:12]}"


def count_user(connection: Connection, user_id: str) -> int:
    """Return the number of messages and of imported entries that have the id of a user."""
    query = f"SELECT id FROM messages WHERE {_HAS_USER}"  # noqa: S608 - a constant
    found = {row[0] for row in connection.execute(query, (user_id,))}
    for select in (_SELECT_EXTRA, _SELECT_ENTRIES):
        found |= {row_id for row_id, _ in _find_in_foreign(connection, select, user_id)}
    return len(found)


def forget_user(connection: Connection, user_id: str) -> int:
    """Remove the id of a user from all messages and imported entries; return their number.

    Nothing else of them changes, and the freed space is overwritten.
    """
    connection.execute("PRAGMA secure_delete = ON")
    count = count_user(connection, user_id)
    update = f"""
        UPDATE messages SET metadata_json = json_remove(metadata_json, '$.user_id')
        WHERE {_HAS_USER}
    """  # noqa: S608 - a constant
    connection.execute(update, (user_id,))
    for select, update in ((_SELECT_EXTRA, _UPDATE_EXTRA), (_SELECT_ENTRIES, _UPDATE_ENTRY)):
        for row_id, rest in list(_find_in_foreign(connection, select, user_id)):
            connection.execute(update, (rest, row_id))
    record_removal(connection, pseudonym(user_id), "forgotten", count)
    return count


def _find_in_foreign(
    connection: Connection, select: str, user_id: str
) -> Iterator[tuple[str, str]]:
    """Yield the rows whose JSON of another program has the id, with that JSON without it."""
    part = canonical_json(user_id)[1:-1].decode()
    for row_id, text in connection.execute(select, (part,)):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        rest = _without(value, user_id)
        if rest != value:
            yield row_id, canonical_json(rest).decode()


def _without(value: object, user_id: str) -> object:
    """Return a JSON value with null in place of every text that is the id."""
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            return {k: _without(each, user_id) for k, each in fields.items() if k != user_id}
        case list():
            return [_without(each, user_id) for each in cast("list[Any]", value)]
        case _:
            return None if value == user_id else value
