"""Parts of unfinished replies.

Each session has one row while a reply streams; the end of the reply removes it.
"""

import logging
from sqlite3 import Connection

import msgspec

from yourtool.events.codec import STORED_TYPES, from_stored, to_stored
from yourtool.events.model_calls import LlmCallFailed
from yourtool.store.sqlite.row_codec import DECODE_ERRORS

_log = logging.getLogger(__name__)
_KIND = STORED_TYPES[str(LlmCallFailed.__struct_config__.tag)]


def save_partial(connection: Connection, end: LlmCallFailed) -> None:
    """Store what would end the call of a session now, in place of what was stored before."""
    connection.execute(
        "INSERT OR REPLACE INTO partial_replies (session_id, fact_json) VALUES (?, ?)",
        (end.session_id, msgspec.json.encode(to_stored(end)).decode()),
    )


def read_partial(connection: Connection, session_id: str) -> LlmCallFailed | None:
    """Return the fact of the last checkpoint; None without one, and if it cannot be read."""
    row = connection.execute(
        "SELECT fact_json FROM partial_replies WHERE session_id = ?", (session_id,)
    ).fetchone()
    if row is None:
        return None
    try:
        fact = from_stored(msgspec.json.decode(row[0], type=_KIND))
    except DECODE_ERRORS as error:
        _log.warning("the checkpoint of `%s` cannot be read: %s", session_id, error)
        return None
    return fact if isinstance(fact, LlmCallFailed) else None


def remove_partial(connection: Connection, session_id: str) -> None:
    """Remove the checkpoint of a session, if there is one."""
    connection.execute("DELETE FROM partial_replies WHERE session_id = ?", (session_id,))
