"""The stored sessions: which there are, what they cost, where words stand, and who holds one."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from yourtool.amounts import Spending
from yourtool.errors import SessionNotFoundError, StoreError
from yourtool.messages import ContentBlock, Role
from yourtool.notation import decode_content, require_shallow
from yourtool.store.database import Database
from yourtool.store.fulltext import query_of, snippet, terms_of, title_of
from yourtool.store.leases import Lease
from yourtool.store.row_codec import UNREADABLE, microseconds, moment

_log = logging.getLogger(__name__)

_CANDIDATES = 5

_CALLS = """
    SELECT call.id, call.payload_json
    FROM events AS call
    WHERE call.type IN ('llm.call_completed', 'llm.call_failed')
      AND call.id > coalesce((SELECT copied_through FROM sessions WHERE id = call.session_id), '')
"""
"""Every request, and every attempt that failed. What a fork or an import brought along does not
count: it was paid for in another session.
"""

_FIND = """
    SELECT m.id, m.session_id, m.role, m.content_json, m.created_at, s.workspace_path
    FROM message_words AS w
    CROSS JOIN messages AS m ON m.id = w.message_id
    CROSS JOIN sessions AS s ON s.id = m.session_id
    WHERE w.words MATCH :query
      AND (:workspace IS NULL OR s.workspace_path = :workspace)
      AND NOT (
          m.id < coalesce(s.copied_through, '')
          AND coalesce(s.parent_session_id, '') IN (SELECT id FROM sessions)
      )
    ORDER BY w.rowid DESC LIMIT :limit
"""
"""What a fork repeats is found in the session that it was forked from. The joins are `CROSS` so
that the index, which gives the latest first, is read only as far as needed
(https://www.sqlite.org/optoverview.html#manual_control_of_query_plans_using_cross_join).
"""


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    id: str
    title: str
    """The first line of the first message; empty when nothing was said, or only shown."""
    workspace_path: str
    active_model: str | None
    """The model chosen for the session, if one was."""
    turn_count: int
    cost_usd: Decimal
    unpriced: bool = False
    """Some of its requests have no known price, so `cost_usd` is too low."""
    created_at: datetime
    updated_at: datetime


class ModelCost(Struct, frozen=True, kw_only=True):
    """What one model did in a session, and for how much."""

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    """Calls whose price nobody knows; they count as nothing in `cost_usd`."""


class Hit(Struct, frozen=True, kw_only=True):
    """A message in which everything was found that was looked for."""

    session_id: str
    message_id: str
    role: Role
    snippet: str
    """One line of the message, from a little before the first word that was found."""
    title: str
    """Of the session."""
    workspace_path: str
    created_at: datetime


class Sessions:
    """Questions about all sessions; facts are the business of `Log`."""

    def __init__(self, database: Database, locks_dir: Path) -> None:
        self._database = database
        self._locks_dir = locks_dir

    async def list(
        self, workspace: str | None = None, limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        """Return the sessions of a workspace, or of all, the latest used first.

        Sessions in which nothing was ever said are left out.
        """
        return await self._database.read(lambda connection: _list(connection, workspace, limit))

    async def search(
        self, text: str, workspace: str | None = None, limit: int = 100
    ) -> tuple[Hit, ...]:
        """Return the messages in which every word of `text` stands, the latest stored first.

        A word is found where one begins like it; upper and lower case and accents do not matter.
        A text without any word finds nothing.

        Raises:
            StoreError: the database cannot be read.
        """
        terms = terms_of(text)
        wanted = {"query": query_of(terms), "workspace": workspace, "limit": limit}
        return await self._database.read(
            lambda connection: _search(connection, terms, wanted) if terms else ()
        )

    async def last(self, *workspaces: str) -> str | None:
        """Return the session of these workspaces that was used last."""
        latest = await self._database.read(lambda connection: _used(connection, workspaces, 1))
        return latest[0][0] if latest else None

    async def find(self, prefix: str) -> str:
        """Return the one session whose id is, or begins with, `prefix`; `sess_` may be left out.

        Raises:
            SessionNotFoundError: there is none.
            StoreError: there are several; the text names some.
        """
        wanted = prefix.strip().removeprefix("sess_").upper()
        found = await self._database.read(
            lambda connection: connection.execute(
                "SELECT id FROM sessions WHERE substr(id, 6, length(?)) = ? ORDER BY id DESC",
                (wanted, wanted),
            ).fetchall()
        )
        ids = [row[0] for row in found if wanted]
        if not ids:
            raise SessionNotFoundError(
                f"There is no session `{prefix}`; `yourtool sessions list` shows those there are."
            )
        if len(ids) > 1:
            some = ", ".join(f"`{session_id}`" for session_id in ids[:_CANDIDATES])
            raise StoreError(f"`{prefix}` begins {len(ids)} session ids, such as {some}; add more.")
        return ids[0]

    async def spent_since(self, start: datetime) -> Spending:
        """Return what all requests since `start` cost, exactly."""
        report = await self._database.read(
            lambda connection: _report(connection, "call.timestamp_us >= ?", microseconds(start))
        )
        return Spending(
            cost_usd=_total(report),
            requests=sum(cost.calls for cost in report),
            unpriced_requests=sum(cost.unpriced_calls for cost in report),
        )

    async def cost_report(self, session_id: str) -> tuple[ModelCost, ...]:
        """Return what each model of a session used, the dearest first."""
        return await self._database.read(
            lambda connection: _report(connection, "call.session_id = ?", session_id)
        )

    def lease(self, session_id: str) -> Lease:
        """Take the right to write a session, until the lease is released or the process dies.

        Raises:
            SessionBusyError: another process has it; the text names that process.
        """
        return Lease(self._locks_dir, session_id)


class _Used(Struct, frozen=True):
    """The part of a request's fact that is counted."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None


_USED = msgspec.json.Decoder(_Used)


def _report(connection: Connection, which: str, value: str | int) -> tuple[ModelCost, ...]:
    costs: dict[str, ModelCost] = {}
    for event_id, payload in connection.execute(f"{_CALLS} AND {which}", (value,)):
        try:
            require_shallow(payload)
            used = _USED.decode(payload)
        except UNREADABLE as error:
            _log.warning("not counted: event `%s`: %s", event_id, error)
            continue
        if used.pricing_version is None:
            continue  # a failure that used nothing
        model = used.model
        costs[model] = _plus(costs.get(model) or ModelCost(model=model), used)
    return tuple(sorted(costs.values(), key=lambda cost: -cost.cost_usd))


def _total(report: Iterable[ModelCost]) -> Decimal:
    return sum((cost.cost_usd for cost in report), Decimal(0))


def _plus(cost: ModelCost, used: _Used) -> ModelCost:
    return ModelCost(
        model=cost.model,
        calls=cost.calls + 1,
        input_tokens=cost.input_tokens + used.input_tokens,
        output_tokens=cost.output_tokens + used.output_tokens,
        cached_input_tokens=cost.cached_input_tokens + used.cached_input_tokens,
        cache_creation_input_tokens=(
            cost.cache_creation_input_tokens + used.cache_creation_input_tokens
        ),
        cost_usd=cost.cost_usd + used.cost_usd,
        unpriced_calls=cost.unpriced_calls + (used.pricing_version == ""),
    )


def _used(
    connection: Connection, workspaces: tuple[str, ...], limit: int
) -> list[tuple[str, str, str | None, int, int]]:
    """Return the sessions in which something was said; no workspaces: those of all."""
    return connection.execute(
        "SELECT id, workspace_path, active_model, created_at, updated_at FROM sessions"
        " WHERE (NOT :count OR workspace_path IN (SELECT value FROM json_each(:workspaces)))"
        " AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)"
        " ORDER BY updated_at DESC, id DESC LIMIT :limit",
        {"count": len(workspaces), "workspaces": json.dumps(workspaces), "limit": limit},
    ).fetchall()


def _list(connection: Connection, workspace: str | None, limit: int) -> tuple[SessionSummary, ...]:
    found = list[SessionSummary]()
    for session_id, path, model, created, updated in _used(
        connection, (workspace,) if workspace else (), limit
    ):
        report = _report(connection, "call.session_id = ?", session_id)
        found.append(
            SessionSummary(
                id=session_id,
                title=_title(connection, session_id),
                workspace_path=path,
                active_model=model,
                turn_count=_turn_count(connection, session_id),
                cost_usd=_total(report),
                unpriced=any(cost.unpriced_calls for cost in report),
                created_at=moment(created),
                updated_at=moment(updated),
            )
        )
    return tuple(found)


def _search(
    connection: Connection, terms: Sequence[str], wanted: Mapping[str, object]
) -> tuple[Hit, ...]:
    hits = list[Hit]()
    for message_id, session_id, role, content, created, path in connection.execute(_FIND, wanted):
        blocks = _blocks(message_id, content)
        try:
            said, at = Role(role), moment(created)
        except UNREADABLE as error:
            _log.warning("skipped message `%s`: %s", message_id, error)
            continue
        hits.append(
            Hit(
                session_id=session_id,
                message_id=message_id,
                role=said,
                snippet=snippet(blocks, terms),
                title=_title(connection, session_id),
                workspace_path=path,
                created_at=at,
            )
        )
    return tuple(hits)


def _title(connection: Connection, session_id: str) -> str:
    row = connection.execute(
        "SELECT id, content_json FROM messages WHERE session_id = ? AND role = 'user'"
        " ORDER BY created_at, id LIMIT 1",
        (session_id,),
    ).fetchone()
    if row is None:
        return ""
    return title_of(_blocks(*row))


def _blocks(message_id: str, content: str) -> tuple[ContentBlock, ...]:
    """Return what a message holds; nothing if it cannot be read."""
    where = f"message `{message_id}`"
    try:
        return decode_content(content, where=where)
    except UNREADABLE as error:
        _log.warning("skipped %s: %s", where, error)
        return ()


def _turn_count(connection: Connection, session_id: str) -> int:
    [count] = connection.execute(
        "SELECT count(*) FROM events WHERE session_id = ? AND +type = 'turn.started'", (session_id,)
    ).fetchone()
    return count
