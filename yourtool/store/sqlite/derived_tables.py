"""Updates of tables derived from facts.

These are sessions, messages, tool calls and the text index. Every function runs inside the
transaction that stores the fact; raising rolls it back.
"""

from collections.abc import Iterator, Mapping
from sqlite3 import Connection

from msgspec import UNSET

from yourtool.errors import SessionNotFoundError, StoreError, ToolFailure
from yourtool.events.facts import Fact
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, is_silent
from yourtool.events.sessions import (
    SessionCreated,
    SessionForked,
    SessionImported,
    SessionModelSelected,
    SessionRenamed,
    SessionResumed,
)
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import RoutingPolicyChanged
from yourtool.messages.blocks import canonical_json
from yourtool.messages.message import SCHEMA_VERSION, Message
from yourtool.store.sqlite.file_changes import add_changes, remove_changes
from yourtool.store.sqlite.fulltext import searchable_text
from yourtool.store.sqlite.partial_replies import remove_partial
from yourtool.store.sqlite.row_codec import INSERT_MESSAGE, message_row, to_microseconds
from yourtool.store.validation import require_valid_message

_SELECT_LATER = """
    SELECT 1 FROM messages WHERE session_id = :session AND id > :id AND id NOT IN (
        SELECT coalesce(json_extract(payload_json, '$.message_id'), '') FROM events
        WHERE session_id = :session AND id > :id
          AND type IN ('llm.call_completed', 'llm.call_failed')
          AND CASE WHEN json_valid(payload_json)
              THEN json_extract(payload_json, '$.purpose') END IS NOT NULL
    )
"""
"""Replies to silent calls are no part of the conversation; one can arrive before another reply."""


def project(connection: Connection, fact: Fact, message: Message | None) -> None:
    """Update sessions, messages, the text index and tool calls for a new fact.

    Raises:
        InvalidMessageError: the message breaks an invariant, or belongs to another session.
        SessionNotFoundError: the session was never created.
        StoreError: the call of a result is unknown, or already has a result.
    """
    if isinstance(fact, SessionCreated):
        _create(connection, fact)
    else:
        _touch(connection, fact)
    if message is not None:
        order = () if is_silent(fact) else _order_problems(connection, message)
        require_valid_message(fact, message, order)
        connection.execute(INSERT_MESSAGE, message_row(message))
        if not is_silent(fact):
            index_message(connection, message)
    match fact:
        case SessionModelSelected():
            connection.execute(
                "UPDATE sessions SET active_model = ? WHERE id = ?", (fact.model, fact.session_id)
            )
        case SessionResumed(workspace_path=str(path)):
            connection.execute(
                "UPDATE sessions SET workspace_path = ? WHERE id = ?", (path, fact.session_id)
            )
        case RoutingPolicyChanged(policy=policy):
            text = None if policy is UNSET else canonical_json(policy).decode()
            connection.execute(
                "UPDATE sessions SET routing_policy_json = ? WHERE id = ?", (text, fact.session_id)
            )
        case FilesChanged():
            add_changes(connection, fact)
        case FileChangeFailed():
            remove_changes(connection, fact)
        case SessionForked():
            _set_copy_source(connection, fact, fact.parent_session_id)
        case SessionImported():
            _set_copy_source(connection, fact, None)
        case LlmCallCompleted() | LlmCallFailed() if is_silent(fact):
            pass  # its calls are not run, and another reply can be arriving
        case LlmCallCompleted():
            remove_partial(connection, fact.session_id)
            _insert_calls(connection, fact.message, fact.provider, fact.provider_tool_ids)
        case LlmCallFailed(message=reply):
            remove_partial(connection, fact.session_id)
            if reply is not None:
                _insert_calls(connection, reply, fact.provider, {})
        case ToolCompleted():
            _close_call(connection, fact, "succeeded" if fact.success else "failed")
        case ToolFailed():
            cancelled = fact.error_class == ToolFailure.CANCELLED
            _close_call(connection, fact, "cancelled" if cancelled else "failed")
        case _:
            pass


def index_message(connection: Connection, message: Message) -> None:
    """Add the text of a new message to the full-text index."""
    if words := searchable_text(message.content):
        connection.execute(
            "INSERT INTO message_words (words, message_id) VALUES (?, ?)", (words, message.id)
        )


def _create(connection: Connection, fact: SessionCreated) -> None:
    created = to_microseconds(fact.timestamp)
    connection.execute(
        "INSERT INTO sessions"
        " (id, workspace_path, active_model, schema_version, created_at, updated_at, worker_of)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            fact.session_id,
            fact.workspace_path,
            fact.initial_active_model,
            SCHEMA_VERSION,
            created,
            created,
            None if fact.parent_session_id is UNSET else fact.parent_session_id,
        ),
    )


def _set_copy_source(connection: Connection, fact: Fact, parent: str | None) -> None:
    connection.execute(
        "UPDATE sessions SET parent_session_id = ?, copied_through = ? WHERE id = ?",
        (parent, fact.id, fact.session_id),
    )


def _touch(connection: Connection, fact: Fact) -> None:
    used_at = 0 if isinstance(fact, SessionRenamed) else to_microseconds(fact.timestamp)
    touched = connection.execute(
        "UPDATE sessions SET updated_at = max(updated_at, ?) WHERE id = ?",
        (used_at, fact.session_id),
    )
    if touched.rowcount == 0:
        raise SessionNotFoundError(f"There is no session `{fact.session_id}`.")


def _order_problems(connection: Connection, message: Message) -> Iterator[str]:
    """Yield violations of the message order and of unique ids in the session."""
    if connection.execute("SELECT 1 FROM messages WHERE id = ?", (message.id,)).fetchone():
        yield f"`id` is `{message.id}`, which is already used by a stored message"
    elif message.result is not None:  # results arrive in any order, with ids in call order
        call = connection.execute(
            "SELECT message_id FROM tool_calls WHERE id = ?", (message.result.tool_use_id,)
        ).fetchone()
        if call is not None and message.id < call[0]:
            yield f"`id` is `{message.id}`, before `{call[0]}`, which contains the call"
    else:
        last = connection.execute(
            "SELECT id FROM messages WHERE session_id = ? ORDER BY created_at DESC LIMIT 1",
            (message.session_id,),
        ).fetchone()
        if last is not None and message.id < last[0] and _find_later(connection, message):
            yield f"`id` is `{message.id}`, before `{last[0]}`, which is already stored"
    for call_id in {call.id for call in message.tool_uses}:
        if connection.execute("SELECT 1 FROM tool_calls WHERE id = ?", (call_id,)).fetchone():
            yield f"T3: the call id `{call_id}` is already used by a stored call"


def _find_later(connection: Connection, message: Message) -> bool:
    """True if a later message of the conversation is stored, and not only silent replies."""
    found = connection.execute(_SELECT_LATER, {"session": message.session_id, "id": message.id})
    return found.fetchone() is not None


def _insert_calls(
    connection: Connection, reply: Message, provider: str, provider_ids: Mapping[str, str]
) -> None:
    common = (reply.session_id, reply.id, provider, to_microseconds(reply.created_at))
    connection.executemany(
        "INSERT INTO tool_calls"
        " (id, name, provider_id, session_id, message_id, provider, created_at, status)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'pending')",
        [(call.id, call.name, provider_ids.get(call.id), *common) for call in reply.tool_uses],
    )


def _close_call(connection: Connection, fact: ToolCompleted | ToolFailed, status: str) -> None:
    closed = connection.execute(
        "UPDATE tool_calls SET status = ?, result_message_id = ?, completed_at = ?"
        " WHERE id = ? AND session_id = ? AND status = 'pending'",
        (
            status,
            fact.message.id,
            to_microseconds(fact.timestamp),
            fact.tool_use_id,
            fact.session_id,
        ),
    )
    if closed.rowcount == 0:
        raise StoreError(
            f"The result of call `{fact.tool_use_id}` was not stored: in session"
            f" `{fact.session_id}` the call does not exist or already has a result."
        )
