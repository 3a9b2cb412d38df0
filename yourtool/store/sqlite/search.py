"""Message search."""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache
from sqlite3 import Connection
from typing import Any

from yourtool.messages.message import Role
from yourtool.store.base import SearchFilter, SearchHit
from yourtool.store.sqlite.fulltext import fts_query
from yourtool.store.sqlite.queries import decode_blocks, find_title, session_costs
from yourtool.store.sqlite.row_codec import DECODE_ERRORS, from_microseconds, to_microseconds
from yourtool.store.texts import search_terms, snippet

_REFERENCE = re.compile("sha256:([0-9a-f]{64})")
_log = logging.getLogger(__name__)

_SELECT = """
    SELECT m.id, m.session_id, m.role, m.content_json, m.created_at,
           CAST(s.workspace_path AS TEXT)
    FROM {source}
    CROSS JOIN sessions AS s ON s.id = m.session_id
    WHERE {condition}
      AND (NOT :count OR s.workspace_path IN (SELECT value FROM json_each(:workspaces)))
      AND (:since IS NULL OR m.created_at >= :since)
      AND (:until IS NULL OR m.created_at < :until)
      AND NOT (
          m.id < coalesce(s.copied_through, '')
          AND coalesce(s.parent_session_id, '') IN (SELECT id FROM sessions)
      )
      AND s.worker_of IS NULL
    ORDER BY {order} DESC
"""
"""Messages copied by a fork are found in the parent session only. `CROSS JOIN` makes SQLite scan
the index, newest messages first, only until the limit is reached
(https://www.sqlite.org/optoverview.html#manual_control_of_query_plans_using_cross_join).
"""
_SELECT_HITS = _SELECT.format(
    source="message_words AS w CROSS JOIN messages AS m ON m.id = w.message_id",
    condition="w.words MATCH :query",
    order="w.rowid",
)
_SELECT_PROMPTS = _SELECT.format(
    source="messages AS m", condition="m.role = 'user'", order="m.rowid"
)
_USES_MODEL = """
    SELECT 1 FROM events
    WHERE session_id = :session AND type = 'llm.call_completed' AND json_valid(payload_json)
      AND instr(lower(json_extract(payload_json, '$.model')), lower(:model)) LIMIT 1
"""
_CHANGES_FILE = """
    SELECT 1 FROM file_changes
    WHERE session_id = :session
      AND (path = :file OR substr(path, -length(:file) - 1) = '/' || :file
          OR (SELECT workspace_path FROM sessions WHERE id = :session) || '/' || path = :file)
    LIMIT 1
"""
_HAS_FAILED_CALL = """
    SELECT 1 FROM tool_calls WHERE session_id = :session AND status = 'failed' LIMIT 1
"""


def search_messages(
    connection: Connection,
    text: str,
    workspaces: tuple[str, ...],
    limit: int,
    wanted: SearchFilter,
    *,
    one_each: bool = False,
) -> tuple[SearchHit, ...]:
    """Return the messages that match, newest first; see `SessionStore.search`."""
    terms = search_terms(text)
    if not terms and wanted == SearchFilter():
        return ()
    parameters = {
        "query": fts_query(terms),
        "count": len(workspaces),
        "workspaces": json.dumps(workspaces),
        "since": None if wanted.since is None else to_microseconds(wanted.since),
        "until": None if wanted.until is None else to_microseconds(wanted.until),
    }

    @cache
    def is_wanted(session_id: str) -> bool:
        return _matches(connection, session_id, wanted)

    hits, found = list[SearchHit](), set[str]()
    for row in connection.execute(_SELECT_HITS if terms else _SELECT_PROMPTS, parameters):
        if len(hits) == limit:
            break
        if is_wanted(row[1]) and not (one_each and row[1] in found):
            hits.extend(_read_hit(connection, row, terms))
            found.add(row[1])
    return tuple(hits)


def unused_attachments(connection: Connection, names: Iterable[str]) -> set[str]:
    """Return the digests that no message refers to, also none that cannot be decoded."""
    unused = set(names)
    rows = connection.execute(
        "SELECT content_json FROM messages WHERE instr(content_json, 'sha256:')"
        " UNION ALL SELECT fact_json FROM partial_replies WHERE instr(fact_json, 'sha256:')"
    )
    for [text] in rows:
        unused.difference_update(_REFERENCE.findall(str(text)))
    return unused


def _matches(connection: Connection, session_id: str, wanted: SearchFilter) -> bool:
    """Return whether a session has what the filter asks for."""
    names = {"session": session_id, "model": wanted.model, "file": wanted.file}

    def has_row(query: str) -> bool:
        return connection.execute(query, names).fetchone() is not None

    if wanted.min_cost is not None:
        costs = session_costs(connection, session_id)
        if sum((each.cost_usd for each in costs), Decimal(0)) < wanted.min_cost:
            return False
    return (
        (not wanted.model or has_row(_USES_MODEL))
        and (not wanted.file or has_row(_CHANGES_FILE))
        and (not wanted.tool_failed or has_row(_HAS_FAILED_CALL))
    )


def _read_hit(
    connection: Connection, row: tuple[Any, ...], terms: tuple[str, ...]
) -> Iterator[SearchHit]:
    message_id, session_id, role, content, created, path = row
    try:
        hit_role, created_at = Role(role), from_microseconds(created)
    except DECODE_ERRORS as error:
        _log.warning("skipped message `%s`: %s", message_id, error)
        return
    yield SearchHit(
        session_id=session_id,
        message_id=message_id,
        role=hit_role,
        snippet=snippet(decode_blocks(message_id, content), terms),
        title=find_title(connection, session_id),
        workspace_path=path,
        created_at=created_at,
    )
