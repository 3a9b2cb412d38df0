"""Queries over all stored sessions: listing and costs."""

import json
import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import islice
from sqlite3 import Connection
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.foundation.amounts import Spending
from yourtool.messages.blocks import ContentBlock
from yourtool.messages.codec import decode_content, require_shallow
from yourtool.messages.message import Role
from yourtool.store.base import MessageExcerpt, SessionSummary
from yourtool.store.sqlite.row_codec import DECODE_ERRORS, from_microseconds, to_microseconds
from yourtool.store.texts import excerpt, message_title

_log = logging.getLogger(__name__)

_SELECT_CALLS = """
    SELECT call.id, call.payload_json
    FROM events AS call
    WHERE call.type IN ('llm.call_completed', 'llm.call_failed')
      AND call.id > coalesce((SELECT copied_through FROM sessions WHERE id = call.session_id), '')
"""
"""Every request and every failed attempt, without those copied by a fork or an import, which were
paid for in another session.
"""

_SELECT_FAMILY = """
    WITH RECURSIVE family(id) AS (
        SELECT ?
        UNION
        SELECT worker.id FROM sessions AS worker JOIN family ON worker.worker_of = family.id
    )
    SELECT id FROM family
"""
"""A session and its workers, with the workers of these."""

_SELECT_LAST_MESSAGES = """
    SELECT coalesce(m.id, e.id), m.role, m.content_json,
        CASE WHEN e.type = 'branch.selected' AND json_valid(e.payload_json)
            THEN json_extract(e.payload_json, '$.leaf') END
    FROM events AS e
    LEFT JOIN messages AS m ON m.id = CASE WHEN json_valid(e.payload_json)
        THEN json_extract(e.payload_json, '$.message_id') END
    WHERE e.session_id = :session
      AND +e.type IN ('turn.started', 'llm.call_completed', 'branch.selected')
      AND CASE WHEN json_valid(e.payload_json)
          THEN json_extract(e.payload_json, '$.purpose') END IS NULL
      AND (e.type = 'branch.selected'
          OR m.role IN ('user', 'assistant') AND length(m.content_json) < 1000000)
    ORDER BY e.id DESC
"""
"""The prompts and replies of a session, last first, without the replies to silent calls.

Between them are the places where branches begin, with the messages that they follow.
"""
_MAX_EXCERPT_ROWS = 100
"""Messages that are searched for text; a reply can have tool calls only."""


class ModelCost(Struct, frozen=True, kw_only=True):
    """Usage and cost of one model in a session."""

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    """Calls without a known price; they add nothing to `cost_usd`."""


class _CallUsage(Struct, frozen=True):
    """The usage fields in the payload of a request's fact."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None


class _Title(Struct, frozen=True):
    """The title in the payload of `session.renamed`."""

    title: str


_RENAMED = msgspec.json.Decoder(_Title)
_CALL_USAGE = msgspec.json.Decoder(_CallUsage)

_FIRST_PROMPT = """
    SELECT messages.id, content_json FROM events
    JOIN messages ON messages.id =
        json_extract(CASE WHEN json_valid(payload_json) THEN payload_json END, '$.message_id')
    WHERE events.session_id = ? AND role = 'user' ORDER BY events.id LIMIT 1
"""
"""The first in the order of the session: the clock of the machine can step back."""


def find_family(connection: Connection, session_id: str) -> list[str]:
    """Return a session and its workers, with the workers of these; the session is the first."""
    return [row[0] for row in connection.execute(_SELECT_FAMILY, (session_id,))]


def spending_since(connection: Connection, start: datetime) -> Spending:
    """Return the exact cost of all requests since `start`, without those in copies."""
    report = _sum_by_model(connection, "call.timestamp_us >= ?", to_microseconds(start))
    return Spending(
        cost_usd=_total(report),
        requests=sum(cost.calls for cost in report),
        unpriced_requests=sum(cost.unpriced_calls for cost in report),
    )


def session_costs(connection: Connection, session_id: str) -> tuple[ModelCost, ...]:
    """Return usage and cost of each model of a session and its workers, most expensive first."""
    return _sum_by_model(connection, f"call.session_id IN ({_SELECT_FAMILY})", session_id)


def find_ids(connection: Connection, prefix: str) -> list[str]:
    """Return the ids of the sessions that start with `prefix`, newest first."""
    query = "SELECT id FROM sessions WHERE substr(id, 1, length(?)) = ? ORDER BY id DESC"
    return [row[0] for row in connection.execute(query, (prefix, prefix))]


def last_used(connection: Connection, workspaces: tuple[str, ...]) -> str | None:
    """Return the id of the last used session of these workspaces that has messages."""
    latest = _recent_sessions(connection, workspaces, 1)
    return latest[0][0] if latest else None


def _sum_by_model(
    connection: Connection, condition: str, value: str | int
) -> tuple[ModelCost, ...]:
    costs: dict[str, ModelCost] = {}
    for event_id, payload in connection.execute(f"{_SELECT_CALLS} AND {condition}", (value,)):
        try:
            require_shallow(payload)
            usage = _CALL_USAGE.decode(payload)
        except DECODE_ERRORS as error:
            _log.warning("not counted: event `%s`: %s", event_id, error)
            continue
        if usage.pricing_version is None:
            continue  # a failed attempt without usage
        model = usage.model
        costs[model] = _add_call(costs.get(model) or ModelCost(model=model), usage)
    return tuple(sorted(costs.values(), key=lambda cost: -cost.cost_usd))


def _total(report: Iterable[ModelCost]) -> Decimal:
    return sum((cost.cost_usd for cost in report), Decimal(0))


def _add_call(cost: ModelCost, usage: _CallUsage) -> ModelCost:
    return ModelCost(
        model=cost.model,
        calls=cost.calls + 1,
        input_tokens=cost.input_tokens + usage.input_tokens,
        output_tokens=cost.output_tokens + usage.output_tokens,
        cached_input_tokens=cost.cached_input_tokens + usage.cached_input_tokens,
        cache_creation_input_tokens=(
            cost.cache_creation_input_tokens + usage.cache_creation_input_tokens
        ),
        cost_usd=cost.cost_usd + usage.cost_usd,
        unpriced_calls=cost.unpriced_calls + (usage.pricing_version == ""),
    )


def _recent_sessions(
    connection: Connection,
    workspaces: tuple[str, ...],
    limit: int,
    after: SessionSummary | None = None,
    *,
    workers: bool = False,
) -> list[tuple[str, str, str | None, int, int]]:
    """Return sessions with messages, last used first; without `workspaces`, from everywhere."""
    return connection.execute(
        "SELECT id, CAST(workspace_path AS TEXT), CAST(active_model AS TEXT),"
        " created_at, updated_at FROM sessions"
        " WHERE (:after IS NULL OR (updated_at, id) < (:used_at, :after))"
        " AND (NOT :count OR workspace_path IN (SELECT value FROM json_each(:workspaces)))"
        " AND (:workers OR worker_of IS NULL)"
        " AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)"
        " ORDER BY updated_at DESC, id DESC LIMIT :limit",
        {
            "after": after and after.id,
            "used_at": after and to_microseconds(after.updated_at),
            "count": len(workspaces),
            "workspaces": json.dumps(workspaces),
            "limit": limit,
            "workers": workers,
        },
    ).fetchall()


def list_sessions(
    connection: Connection,
    workspaces: tuple[str, ...],
    limit: int,
    after: SessionSummary | None = None,
    *,
    workers: bool = False,
) -> tuple[SessionSummary, ...]:
    """Return a page of sessions, last used first; see `SessionStore.list`."""
    found = list[SessionSummary]()
    for session_id, path, model, created, updated in _recent_sessions(
        connection, workspaces, limit, after, workers=workers
    ):
        try:
            created_at, updated_at = from_microseconds(created), from_microseconds(updated)
        except DECODE_ERRORS as error:
            _log.warning("skipped session `%s`: %s", session_id, error)
            continue
        report = session_costs(connection, session_id)
        found.append(
            SessionSummary(
                id=session_id,
                title=find_title(connection, session_id),
                workspace_path=path,
                active_model=model,
                turn_count=_turn_count(connection, session_id),
                cost_usd=_total(report),
                unpriced=any(cost.unpriced_calls for cost in report),
                created_at=created_at,
                updated_at=updated_at,
            )
        )
    return tuple(found)


def last_texts(connection: Connection, session_id: str, limit: int) -> tuple[MessageExcerpt, ...]:
    """Return the last prompts and replies of its branch that have text, oldest first."""
    rows = _follow_branch(connection.execute(_SELECT_LAST_MESSAGES, {"session": session_id}))
    found = list[MessageExcerpt]()
    for message_id, role, content in islice(rows, _MAX_EXCERPT_ROWS):
        if text := excerpt(decode_blocks(message_id, content)):
            found.append(MessageExcerpt(role=Role(role), text=text))
        if len(found) == limit:
            break
    return tuple(reversed(found))


def _follow_branch(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, str, str]]:
    """Yield the messages of the last branch among rows of `_SELECT_LAST_MESSAGES`."""
    end: str | None = None
    for row_id, role, content, leaf in rows:
        if end is not None and row_id > end:
            continue  # it follows a message from which this branch leads elsewhere
        if role is None:
            end = leaf
        else:
            yield row_id, role, content


def find_title(connection: Connection, session_id: str) -> str:
    """Return the title that the user chose, or else the start of the first message."""
    return _chosen_title(connection, session_id) or _first_title(connection, session_id)


def _chosen_title(connection: Connection, session_id: str) -> str:
    row = connection.execute(
        "SELECT id, payload_json FROM events WHERE session_id = ? AND type = 'session.renamed'"
        " ORDER BY id DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    if row is None:
        return ""
    try:
        require_shallow(row[1])
        return _RENAMED.decode(row[1]).title
    except DECODE_ERRORS as error:
        _log.warning("skipped event `%s`: %s", row[0], error)
        return ""


def _first_title(connection: Connection, session_id: str) -> str:
    row = connection.execute(_FIRST_PROMPT, (session_id,)).fetchone()
    return message_title(decode_blocks(*row)) if row is not None else ""


def decode_blocks(message_id: str, content: str) -> tuple[ContentBlock, ...]:
    """Return the content of a message; empty if it cannot be decoded."""
    label = f"message `{message_id}`"
    try:
        return decode_content(content, where=label)
    except DECODE_ERRORS as error:
        _log.warning("skipped %s: %s", label, error)
        return ()


def _turn_count(connection: Connection, session_id: str) -> int:
    [count] = connection.execute(
        "SELECT count(*) FROM events WHERE session_id = ? AND type = 'turn.started'", (session_id,)
    ).fetchone()
    return count
