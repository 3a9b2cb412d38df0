"""States of sessions."""

import json
from collections.abc import Iterable, Mapping
from sqlite3 import Connection

from yourtool.store.base import SessionActivity, SessionState

_SELECT_TURNS = """
    SELECT id,
        (SELECT max(id) FROM events WHERE session_id = sessions.id),
        (SELECT type FROM events WHERE session_id = sessions.id
            AND +type IN ('turn.started', 'turn.completed', 'turn.cancelled')
            ORDER BY id DESC LIMIT 1)
    FROM sessions WHERE worker_of IS NULL AND id IN (SELECT value FROM json_each(?))
"""
"""The last event of a session, and the last start or end of a turn."""


def find_activity(
    connection: Connection, held: Mapping[str, tuple[str, bool]], ids: Iterable[str]
) -> tuple[SessionActivity, ...]:
    """Return the states of sessions; see `SessionStore.find_activity`.

    `held`: process and waiting by session, as `leases.find_held` returns them.
    """
    wanted = json.dumps(list(dict.fromkeys((*held, *ids))))
    return tuple(
        SessionActivity(
            id=session_id,
            state=_get_state(held.get(session_id), is_running=turn == "turn.started"),
            process=held[session_id][0] if session_id in held else "",
            last_event=last or "",
        )
        for session_id, last, turn in connection.execute(_SELECT_TURNS, (wanted,))
    )


def _get_state(held: tuple[str, bool] | None, *, is_running: bool) -> SessionState:
    if held is None:
        return "stopped" if is_running else "done"
    if held[1]:
        return "waiting"
    return "running" if is_running else "open"
