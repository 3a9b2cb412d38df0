"""The table of changed files, derived from facts."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from sqlite3 import Connection

import msgspec

from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.foundation.file_images import RecordedChange
from yourtool.store.journal import ChangeFilter, StoredChange
from yourtool.store.sqlite.row_codec import to_microseconds

_PROMPT = """
    SELECT id FROM messages WHERE session_id = ? AND id = (
        SELECT json_extract(payload_json, '$.message_id') FROM events
        WHERE session_id = ? AND type = 'turn.started' AND id < ?
        AND json_extract(payload_json, '$.message_id') IS NOT NULL
        ORDER BY id DESC LIMIT 1
    )
"""
_SELECT = """
    SELECT file_changes.event_id, file_changes.session_id, prompt_id, tool_use_id, timestamp_us,
        coalesce(file_changes.event_id <= sessions.copied_through, 0)
            OR sessions.worker_of IS NOT NULL,
        change_json
    FROM file_changes JOIN sessions ON sessions.id = file_changes.session_id
    WHERE (:path IS NULL OR path = :path)
        AND (:session IS NULL OR session_id = :session)
        AND (:prompt IS NULL OR prompt_id = :prompt)
        AND (:call IS NULL OR tool_use_id = :call)
        AND (:workspace IS NULL OR (
            workspace_path = :workspace
            AND (copied_through IS NULL OR file_changes.event_id > copied_through)
            AND worker_of IS NULL
        ))
    ORDER BY file_changes.event_id, file_changes.rowid
"""


def add_changes(connection: Connection, fact: FilesChanged) -> None:
    """Add the changes of a call."""
    session = fact.session_id
    row = connection.execute(_PROMPT, (session, session, fact.id)).fetchone()
    connection.executemany(
        "INSERT INTO file_changes (event_id, session_id, prompt_id, tool_use_id, timestamp_us,"
        " path, before_digest, after_digest, change_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                fact.id,
                session,
                "" if row is None else row[0],
                fact.tool_use_id,
                to_microseconds(fact.timestamp),
                each.path,
                each.before.digest,
                each.after.digest,
                msgspec.json.encode(each).decode(),
            )
            for each in fact.changes
        ],
    )


def remove_changes(connection: Connection, fact: FileChangeFailed) -> None:
    """Remove the changes of a fact that did not happen."""
    connection.execute("DELETE FROM file_changes WHERE event_id = ?", (fact.changed_event_id,))


def select_changes(connection: Connection, wanted: ChangeFilter) -> list[StoredChange]:
    """Return the changes that match, in order."""
    rows = connection.execute(
        _SELECT,
        {
            "path": wanted.path,
            "session": wanted.session_id,
            "prompt": wanted.prompt_id,
            "call": wanted.tool_use_id,
            "workspace": wanted.workspace,
        },
    )
    return [
        StoredChange(
            event_id=event,
            session_id=session,
            prompt_id=prompt,
            tool_use_id=call,
            timestamp=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time),
            is_copy=bool(is_copy),
            change=msgspec.json.decode(change, type=RecordedChange),
        )
        for event, session, prompt, call, time, is_copy, change in rows
    ]


def unused_contents(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Return the digests, out of `digests`, that no stored change refers to."""
    wanted = set(digests)
    rows = connection.execute(
        "SELECT value FROM json_each(?) WHERE value NOT IN"
        " (SELECT before_digest FROM file_changes UNION SELECT after_digest FROM file_changes)",
        (json.dumps(sorted(wanted)),),
    )
    return {row[0] for row in rows}
