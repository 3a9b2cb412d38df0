"""What was deleted: records without content, and the removal of a user's id.

A record is stored in the transaction of the removal, so each removal has exactly one.
"""

import hashlib
from datetime import datetime
from sqlite3 import Connection

from yourtool.messages.message import now
from yourtool.store.base import Removal, RemovalReason
from yourtool.store.sqlite.row_codec import from_microseconds, to_microseconds

_HAS_USER = """
    CASE WHEN json_valid(metadata_json) THEN json_extract(metadata_json, '$.user_id') END = ?
"""
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
    """Return the number of messages that have the id of a user."""
    query = f"SELECT count(*) FROM messages WHERE {_HAS_USER}"  # noqa: S608 - a constant
    [count] = connection.execute(query, (user_id,)).fetchone()
    return count


def forget_user(connection: Connection, user_id: str) -> int:
    """Remove the id of a user from all messages; return their number.

    Nothing else of the messages changes, and the freed space is overwritten.
    """
    connection.execute("PRAGMA secure_delete = ON")
    update = f"""
        UPDATE messages SET metadata_json = json_remove(metadata_json, '$.user_id')
        WHERE {_HAS_USER}
    """  # noqa: S608 - a constant
    count = connection.execute(update, (user_id,)).rowcount
    record_removal(connection, pseudonym(user_id), "forgotten", count)
    return count
