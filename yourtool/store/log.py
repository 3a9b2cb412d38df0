"""The session log: appends facts, and reads them back unchanged."""

import json
from collections.abc import Callable, Iterable
from sqlite3 import Connection

from yourtool.errors import InvalidMessageError, SessionNotFoundError, StoreError
from yourtool.events import AnyFact, message_of
from yourtool.ids import is_ulid, new_id
from yourtool.invariants import count_problems, validate_message, value_problems
from yourtool.messages import Message
from yourtool.store.database import Database
from yourtool.store.derived_tables import index_message, project
from yourtool.store.row_codec import (
    INSERT_EVENT,
    SELECT_EVENTS,
    SELECT_MESSAGE,
    event_row,
    fact_from_row,
    message_from_row,
    message_row,
    to_storable,
)

_MAY_BE_NEGATIVE = ("`winner_index`", "`exit_code`")
_LAST_IDS = """
    SELECT max(id) FROM messages WHERE session_id = :session
    UNION ALL SELECT max(id) FROM events WHERE session_id = :session
    UNION ALL SELECT max(id) FROM tool_calls WHERE session_id = :session
"""


class Log:
    """Stores facts together with their projections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, *facts: AnyFact) -> None:
        """Store facts and update their projections, in one transaction.

        Characters that UTF-8 cannot encode are replaced with U+FFFD. When it raises, none of
        `facts` was stored.

        Raises:
            InvalidMessageError: a message breaks an invariant.
            SessionNotFoundError: the first fact of a session is not `session.created`.
            StoreError: a call has two results, or the database cannot be written.
        """
        await self._database.write(lambda connection: _append(connection, facts))

    async def read(self, session_id: str) -> tuple[AnyFact, ...]:
        """Return the facts of a session in the order of their ids, with their messages.

        Facts that this version cannot read are skipped with a warning in the log file. Ids
        generated afterwards are greater than every id in the session.

        Raises:
            SessionNotFoundError: the session does not exist.
            StoreError: the database cannot be read.
        """
        facts: list[AnyFact] = []
        await self.replay(session_id, facts.append)
        return tuple(facts)

    async def replay(self, session_id: str, callback: Callable[[AnyFact], object]) -> None:
        """Call `callback`, in the store's thread, with each fact that `read` would return.

        Only one fact is in memory at a time, unless `callback` stores it.

        Raises:
            SessionNotFoundError: the session does not exist.
            StoreError: the database cannot be read.
        """
        await self._database.read(lambda connection: _replay(connection, session_id, callback))

    async def provider_call_ids(self, session_id: str) -> tuple[tuple[str, str, str], ...]:
        """Return (our id, provider, the provider's id) of the calls that have a provider id."""
        query = (
            "SELECT id, provider, provider_id FROM tool_calls"
            " WHERE session_id = ? AND provider_id IS NOT NULL ORDER BY id"
        )
        return await self._database.read(
            lambda connection: tuple(connection.execute(query, (session_id,)))
        )

    async def pending_call_ids(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the calls that have no result yet."""
        query = "SELECT id FROM tool_calls WHERE session_id = ? AND status = 'pending' ORDER BY id"
        return await self._database.read(
            lambda connection: tuple(row[0] for row in connection.execute(query, (session_id,)))
        )

    async def has_any(self, ids: Iterable[str], session_id: str) -> bool:
        """Whether the session, or an event, message or call with one of the ids, is stored."""
        parameters = {"session": session_id, "ids": json.dumps(list(ids))}
        query = (
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = :session)"
            " OR EXISTS (SELECT 1 FROM events WHERE id IN (SELECT value FROM json_each(:ids)))"
            " OR EXISTS (SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(:ids)))"
            " OR EXISTS (SELECT 1 FROM tool_calls WHERE id IN (SELECT value FROM json_each(:ids)))"
        )
        [row] = await self._database.read(
            lambda connection: connection.execute(query, parameters).fetchall()
        )
        return bool(row[0])

    async def update_messages(self, *messages: Message) -> None:
        """Overwrite the rows of stored messages, in the current schema version.

        Reading upgrades older rows in memory only; this stores the upgrade. When it raises,
        nothing was written.

        Raises:
            InvalidMessageError: a message breaks an invariant.
            StoreError: a message is not stored yet.
        """
        await self._database.write(lambda connection: _update_messages(connection, messages))


def _append(connection: Connection, facts: Iterable[AnyFact]) -> None:
    for fact in facts:
        try:
            _append_fact(connection, fact)
        except UnicodeEncodeError:
            _append_fact(connection, to_storable(fact))


def _append_fact(connection: Connection, fact: AnyFact) -> None:
    if not is_ulid(fact.id):
        raise StoreError(f"A `{type(fact).__name__}` without an id was not stored.")
    problems = [p for p in count_problems("", fact) if not p.startswith(_MAY_BE_NEGATIVE)]
    if fact.timestamp.tzinfo is None:
        problems.append("`timestamp` has no time zone")
    if problems:
        raise StoreError(f"A `{type(fact).__name__}` was not stored: {'; '.join(problems)}")
    message = message_of(fact)
    row = event_row(fact, message)
    project(connection, fact, message)
    connection.execute(INSERT_EVENT, row)


def _replay(connection: Connection, session_id: str, callback: Callable[[AnyFact], object]) -> None:
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise SessionNotFoundError(f"There is no session `{session_id}`.")
    last = connection.execute(_LAST_IDS, {"session": session_id})
    _advance_ids(row[0] for row in last if isinstance(row[0], str))

    def message(message_id: str) -> Message | None:
        row = connection.execute(SELECT_MESSAGE, (message_id, session_id)).fetchone()
        return None if row is None else message_from_row(row)

    for row in connection.execute(SELECT_EVENTS, (session_id,)):
        if (fact := fact_from_row(row, message)) is not None:
            callback(fact)


def _advance_ids(ids: Iterable[str]) -> None:
    for ulid in (text.removeprefix("tu_") for text in ids):
        if is_ulid(ulid):
            new_id.advance(ulid)


def _update_messages(connection: Connection, messages: Iterable[Message]) -> None:
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
