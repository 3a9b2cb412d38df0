"""Facts of a session in SQLite.

The log appends facts with their derived tables, and reads them back unchanged.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from sqlite3 import Connection

from yourtool.errors import InvalidMessageError, SessionNotFoundError, StoreError
from yourtool.events.catalog import AnyFact, message_of
from yourtool.ids import is_ulid, new_id
from yourtool.messages.codec import intern_value
from yourtool.messages.invariants import validate_message, value_problems
from yourtool.messages.message import Message
from yourtool.store.base import RemovalReason
from yourtool.store.sqlite.derived_tables import index_message, project
from yourtool.store.sqlite.queries import find_family
from yourtool.store.sqlite.removals import record_removal
from yourtool.store.sqlite.row_codec import (
    COUNT_EVENTS_OF_TYPES,
    INSERT_EVENT,
    SCAN_EVENTS_OF_TYPES,
    SELECT_EVENTS,
    SELECT_EVENTS_OF_TYPES,
    SELECT_MESSAGE,
    SELECT_MESSAGES,
    MessageRow,
    event_row,
    fact_from_row,
    message_from_row,
    message_row,
)
from yourtool.store.texts import to_storable
from yourtool.store.validation import require_valid_fact

_LAST_IDS = """
    SELECT max(id) FROM messages WHERE session_id = :session
    UNION ALL SELECT max(id) FROM events WHERE session_id = :session
    UNION ALL SELECT max(id) FROM tool_calls WHERE session_id = :session
"""

_SORTED_SHARE = 10
"""Of all events; fewer than one of so many are sorted rather than found by a pass over all."""
_AFTER_ALL_IDS = "~"
_MESSAGES_AT_A_TIME = 64
_FIRST_OF_END = """
    SELECT id FROM events WHERE session_id = :session AND id < :before
    ORDER BY id DESC LIMIT 1 OFFSET :skipped
"""
_START_OF_TURN = """
    SELECT id FROM events WHERE session_id = :session AND id <= :first AND type = 'turn.started'
    ORDER BY id DESC LIMIT 1
"""
_SELECT_END = SELECT_EVENTS.replace(
    "WHERE session_id = ?", "WHERE session_id = :session AND id >= :first AND id < :before"
)


def append(connection: Connection, facts: Iterable[AnyFact]) -> None:
    """Store facts and update the derived tables; see `SessionStore.append`."""
    for fact in facts:
        try:
            _append_fact(connection, fact)
        except UnicodeEncodeError:
            _append_fact(connection, to_storable(fact))


def replay(
    connection: Connection, session_id: str, callback: Callable[[AnyFact], object]
) -> tuple[str, ...]:
    """Call `callback` with each fact of a session; see `SessionStore.replay`."""
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise SessionNotFoundError(f"There is no session `{session_id}`.")
    last = connection.execute(_LAST_IDS, {"session": session_id})
    _advance_ids(row[0] for row in last if isinstance(row[0], str))
    unread, messages = list[str](), _MessagesInOrder(connection, session_id)

    def find_message(message_id: str) -> Message | None:
        if (message := messages.find(message_id)) is None:
            unread.append(message_id)
        return message

    for row in connection.execute(SELECT_EVENTS, (session_id,)):
        if (fact := fact_from_row(row, find_message)) is None:
            unread.append(str(row[0]))
        else:
            callback(fact)
    return tuple(unread)


def read_end(
    connection: Connection, session_id: str, count: int, before: str = ""
) -> Sequence[AnyFact]:
    """Return the last facts of a session, from the start of a turn on; see `SessionStore`."""
    names = {"session": session_id, "before": before or _AFTER_ALL_IDS, "skipped": count - 1}
    first = connection.execute(_FIRST_OF_END, names).fetchone()
    names["first"] = "" if first is None else first[0]
    start = connection.execute(_START_OF_TURN, names).fetchone()
    names["first"] = "" if start is None else start[0]
    rows = connection.execute(_SELECT_END, names)
    find_message = partial(_find_message, connection, session_id=session_id)
    return [fact for row in rows if (fact := fact_from_row(row, find_message)) is not None]


def read_kinds(
    connection: Connection,
    kinds: Iterable[type[AnyFact]],
    callback: Callable[[AnyFact], object],
) -> None:
    """Call `callback` with the facts of these kinds; see `SessionStore.read_kinds`."""
    names = json.dumps([kind.__struct_config__.tag for kind in kinds])
    [[found, all_events]] = connection.execute(COUNT_EVENTS_OF_TYPES, (names,))
    is_sorted = found * _SORTED_SHARE < all_events
    query = SELECT_EVENTS_OF_TYPES if is_sorted else SCAN_EVENTS_OF_TYPES
    for row in connection.execute(query, (names,)):
        fact = fact_from_row(row, lambda key, owner=row[2]: _find_message(connection, key, owner))
        if fact is not None:
            callback(fact)


def provider_call_ids(connection: Connection, session_id: str) -> list[tuple[str, str, str]]:
    """Return (our id, provider, the provider's id) of the calls that have a provider id."""
    rows = connection.execute(
        "SELECT id, provider, provider_id FROM tool_calls"
        " WHERE session_id = ? AND provider_id IS NOT NULL ORDER BY id",
        (session_id,),
    )
    return [(call_id, intern_value(provider), wire_id) for call_id, provider, wire_id in rows]


def pending_call_ids(connection: Connection, session_id: str) -> list[str]:
    """Return the ids of the calls that have no result yet."""
    query = "SELECT id FROM tool_calls WHERE session_id = ? AND status = 'pending' ORDER BY id"
    return [row[0] for row in connection.execute(query, (session_id,))]


def find_workspace(connection: Connection, session_id: str) -> str:
    """Return the path of the directory of a session.

    Raises:
        SessionNotFoundError: no session has this id.
    """
    row = connection.execute(
        "SELECT CAST(workspace_path AS TEXT) FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    if row is None:
        raise SessionNotFoundError(f"There is no session `{session_id}`.")
    return str(row[0])


def has_any(connection: Connection, ids: Iterable[str], session_id: str) -> bool:
    """Return whether the session, or an event, message or call with one of the ids, is stored."""
    [row] = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = :session)"
        " OR EXISTS (SELECT 1 FROM events WHERE id IN (SELECT value FROM json_each(:ids)))"
        " OR EXISTS (SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(:ids)))"
        " OR EXISTS (SELECT 1 FROM tool_calls WHERE id IN (SELECT value FROM json_each(:ids)))",
        {"session": session_id, "ids": json.dumps(list(ids))},
    )
    return bool(row[0])


def update_messages(connection: Connection, messages: Iterable[Message]) -> None:
    """Overwrite the rows of stored messages, in the current schema version."""
    for message in messages:
        if problems := [*validate_message(message), *value_problems(message)]:
            raise InvalidMessageError(f"`{message.id}` was not saved: {'; '.join(problems)}")
        message_id, session_id, _, content, metadata, _, version = message_row(message)
        updated = connection.execute(
            "UPDATE messages SET content_json = ?, metadata_json = ?, schema_version = ?"
            " WHERE id = ? AND session_id = ?",
            (content, metadata, version, message_id, session_id),
        )
        if updated.rowcount == 0:
            raise StoreError(f"There is no message `{message_id}` in session `{session_id}`.")
        connection.execute("DELETE FROM message_words WHERE message_id = ?", (message_id,))
        index_message(connection, message)


class _MessagesInOrder:
    """Finds messages quickly if they are asked for in about the order of their times."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection, self._session_id = connection, session_id
        self._rows = connection.execute(SELECT_MESSAGES, (session_id,))
        self._next: dict[str, MessageRow] = {}

    def find(self, message_id: str) -> Message | None:
        """Return a message; None if it is not stored or this version cannot read it."""
        if message_id not in self._next:
            self._next = {row[0]: row for row in self._rows.fetchmany(_MESSAGES_AT_A_TIME)}
        if (row := self._next.pop(message_id, None)) is not None:
            return message_from_row(row)
        return _find_message(self._connection, message_id, self._session_id)


def _find_message(connection: Connection, message_id: str, session_id: str) -> Message | None:
    row = connection.execute(SELECT_MESSAGE, (message_id, session_id)).fetchone()
    return None if row is None else message_from_row(row)


def _append_fact(connection: Connection, fact: AnyFact) -> None:
    require_valid_fact(fact)
    message = message_of(fact)
    row = event_row(fact, message)
    project(connection, fact, message)
    connection.execute(INSERT_EVENT, row)


def _advance_ids(ids: Iterable[str]) -> None:
    for ulid in (text.removeprefix("tu_") for text in ids):
        if is_ulid(ulid):
            new_id.advance(ulid)


def delete(connection: Connection, session_id: str, reason: RemovalReason) -> None:
    """Delete the rows of a session and its workers, record it, and overwrite the freed space.

    Deleted words remain in the text index until it is optimised:
    https://www.sqlite.org/fts5.html#the_optimize_command.

    Raises:
        SessionNotFoundError: the session does not exist.
    """
    connection.execute("PRAGMA secure_delete = ON")
    family = find_family(connection, session_id)
    for each in family:
        connection.execute(
            "DELETE FROM message_words WHERE message_id IN"
            " (SELECT id FROM messages WHERE session_id = ?)",
            (each,),
        )
    connection.execute("INSERT INTO message_words (message_words) VALUES ('optimize')")
    for each in family:
        counts = dict[str, int]()
        for table in ("events", "file_changes", "tool_calls", "messages", "partial_replies"):
            found = connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (each,))  # noqa: S608 - names of this function
            counts[table] = found.rowcount
        if not connection.execute("DELETE FROM sessions WHERE id = ?", (each,)).rowcount:
            raise SessionNotFoundError(f"There is no session `{session_id}`.")
        record_removal(connection, each, reason, counts["messages"])
