"""Problems with database rows."""

from collections.abc import Iterator
from sqlite3 import Connection
from typing import Any

import msgspec

from yourtool.messages.codec import require_shallow
from yourtool.messages.message import Message
from yourtool.store.base import Problem
from yourtool.store.sqlite.row_codec import (
    DECODE_ERRORS,
    SELECT_EVENTS,
    SELECT_MESSAGE,
    EventRow,
    MessageRow,
    decode_fact,
    decode_message,
)

_LONGEST_REASON = 200


class _Payload(msgspec.Struct):
    message_id: str | None = None


_MESSAGE_ID = msgspec.json.Decoder(_Payload)
_SELECT_MESSAGES = SELECT_MESSAGE.replace("id = ? AND session_id = ?", "session_id = ? ORDER BY id")
_LOST_CALLS = """
    SELECT id FROM tool_calls WHERE session_id = ? AND (
        message_id NOT IN (SELECT id FROM messages)
        OR result_message_id NOT IN (SELECT id FROM messages)
    )
"""
_LOST_CHANGES = """
    SELECT DISTINCT event_id FROM file_changes
    WHERE session_id = ? AND event_id NOT IN (SELECT id FROM events)
"""
_TABLES_OF_SESSIONS = ("events", "messages", "tool_calls", "file_changes")


def find_damage(connection: Connection, session_id: str | None) -> list[Problem]:
    """Return what is wrong with the rows of a session; see `SessionStore.find_damage`."""
    if session_id is None:
        return [*_find_damaged_pages(connection), *_find_rows_without_session(connection)]
    return [
        *_find_unreadable(connection, session_id),
        *_find_broken_references(connection, session_id),
    ]


def _find_damaged_pages(connection: Connection) -> Iterator[Problem]:
    """Yield the results of https://www.sqlite.org/pragma.html#pragma_quick_check."""
    for (text,) in connection.execute("PRAGMA quick_check"):
        if text != "ok":
            yield Problem(kind="file", id="", text=str(text))


def _find_rows_without_session(connection: Connection) -> Iterator[Problem]:
    for table in _TABLES_OF_SESSIONS:
        query = (
            f"SELECT session_id, count(*) FROM {table}"  # noqa: S608 - names of this module
            " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"
        )
        for session_id, count in connection.execute(query):
            text = f"{count} rows of `{table}` belong to a session that does not exist"
            yield Problem(kind="row", id=str(session_id), text=text)


def _find_unreadable(connection: Connection, session_id: str) -> Iterator[Problem]:
    found: dict[str, Message | None] = {}
    for row in connection.execute(_SELECT_MESSAGES, (session_id,)):
        message, problem = _read_message(row)
        found[row[0]] = message
        if problem is not None:
            yield problem
    used = set[str]()
    for row in connection.execute(SELECT_EVENTS, (session_id,)):
        message_id = _get_message_id(row)
        if message_id is not None:
            used.add(message_id)
        problem = _find_event_problem(row, message_id, found)
        if problem is not None:
            yield problem
    for message_id in found.keys() - used:
        yield Problem(kind="row", id=str(message_id), text="no event refers to this message")


def _read_message(row: MessageRow) -> tuple[Message | None, Problem | None]:
    try:
        message = decode_message(row)
    except DECODE_ERRORS as error:
        text = f"the message cannot be read: {_shorten(error)}"
        return None, Problem(kind="row", id=str(row[0]), text=text)
    unread = len(msgspec.json.decode(row[3], type=list[Any])) - len(message.content)
    if unread:
        text = f"{unread} blocks of the message are of unknown kinds"
        return message, Problem(kind="row", id=str(row[0]), text=text)
    return message, None


def _find_event_problem(
    row: EventRow, message_id: str | None, messages: dict[str, Message | None]
) -> Problem | None:
    event_id, kind = row[0], row[5]
    if message_id is not None and messages.get(message_id) is None:
        state = "cannot be read" if message_id in messages else "is missing"
        text = f"the message `{message_id}` of this `{kind}` {state}"
        return Problem(kind="row", id=str(event_id), text=text)
    try:
        decode_fact(row, messages.get)
    except DECODE_ERRORS as error:
        text = f"the event, a `{kind}`, cannot be read: {_shorten(error)}"
        return Problem(kind="row", id=str(event_id), text=text)
    return None


def _get_message_id(row: EventRow) -> str | None:
    try:
        require_shallow(row[8])
        return _MESSAGE_ID.decode(row[8]).message_id
    except DECODE_ERRORS:
        return None


def _find_broken_references(connection: Connection, session_id: str) -> Iterator[Problem]:
    for (call_id,) in connection.execute(_LOST_CALLS, (session_id,)):
        text = "the row of this call refers to a message that is missing"
        yield Problem(kind="row", id=str(call_id), text=text)
    for (event_id,) in connection.execute(_LOST_CHANGES, (session_id,)):
        text = "a row about changed files refers to this event, which is missing"
        yield Problem(kind="row", id=str(event_id), text=text)


def _shorten(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"
