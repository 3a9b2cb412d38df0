"""Sessions of Attocode's Python version.

The database `.attocode/sessions/sessions.db` is read as JSON Lines. The last checkpoint is the
conversation. Its messages have calls with ids, unless the user saved it by hand: then an older
checkpoint with the same texts has them. Threads are branches; they have texts only, and the first
messages of the thread that they left.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from yourtool.errors import UsageError
from yourtool.extensions.importers.parts import build_model
from yourtool.extensions.importers.source import (
    Object,
    as_list,
    as_object,
    as_text,
    as_time,
    decode,
)

_NEWEST = 2
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_CHECKPOINTS = """
    SELECT messages, created_at FROM checkpoints WHERE session_id = ?
    ORDER BY created_at, id
"""
_REPRESENTED = re.compile(r"\[(\w*Block\(|\{'type')")
"""How a content starts that was stored as the Python form of its blocks."""


def is_database(database: sqlite3.Connection) -> bool:
    """Whether a database of Attocode is one of the Python version."""
    columns = {row[1] for row in database.execute("PRAGMA table_info(checkpoints)")}
    return "messages" in columns and "state_json" not in columns


def require_version(database: sqlite3.Connection) -> None:
    """Check that the version of the format is supported.

    Raises:
        UsageError: a newer version wrote it.
    """
    try:
        [version] = database.execute("SELECT max(version) FROM schema_version").fetchone()
    except sqlite3.Error:
        return
    if isinstance(version, int) and version > _NEWEST:
        raise UsageError(f"version {version} of its format is newer than {_NEWEST}, the last known")


def read_session(database: sqlite3.Connection, session_id: object) -> bytes:
    """Return a session as lines, of which the last one counts; empty if it has no messages."""
    metadata, model = _read_row(database, session_id)
    checkpoints = list(_read_checkpoints(database, session_id))
    lines = [
        _encode({"messages": _with_calls(checkpoints[: at + 1]), "model": model}, time)
        for at, (_, time) in enumerate(checkpoints)
    ]
    manager = as_object(metadata.get("thread_manager"))
    threads = [
        {
            "id": as_text(thread.get("thread_id")),
            "label": as_text(thread.get("label")),
            "messages": [_to_message(as_object(each)) for each in as_list(thread.get("messages"))],
        }
        for thread in map(as_object, as_list(manager.get("threads")))
    ]
    if any(thread["messages"] for thread in threads):
        active = as_text(manager.get("active_thread_id"))
        data = {"threads": threads, "active": active, "model": model}
        lines.append(_encode(data, checkpoints[-1][1] if checkpoints else 0))
    return b"".join(lines)


def _encode(data: Mapping[str, Any], at: float) -> bytes:
    time = as_time(at, _NO_TIME).isoformat()
    return msgspec.json.encode({"type": "checkpoint", "data": data, "timestamp": time}) + b"\n"


def _read_checkpoints(
    database: sqlite3.Connection, session_id: object
) -> Iterator[tuple[list[dict[str, Any]], float]]:
    """Yield the messages of each checkpoint that can be read, in their order."""
    for text, at in database.execute(_CHECKPOINTS, (session_id,)):
        found = as_list(_decode(text))
        if found:
            time = at if isinstance(at, int | float) else 0
            yield [_to_message(as_object(each)) for each in found], time


def _read_row(database: sqlite3.Connection, session_id: object) -> tuple[Object, str]:
    """Return the metadata of a session and the model of its replies."""
    row = database.execute(
        "SELECT metadata, model FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    metadata, model = row or (None, None)
    try:
        query = "SELECT provider, model FROM usage_logs WHERE session_id = ? ORDER BY rowid DESC"
        last = database.execute(f"{query} LIMIT 1", (session_id,)).fetchone()
    except sqlite3.Error:
        last = None  # older versions have no such table
    provider, name = last or ("", model)
    return as_object(_decode(metadata)), build_model(as_text(provider), as_text(name or model))


def _decode(text: object) -> object:
    try:
        return decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _to_message(raw: Object) -> dict[str, Any]:
    """Return a message in the form of the older version."""
    message: dict[str, Any] = {"role": as_text(raw.get("role")), "content": raw.get("content", "")}
    content = message["content"]
    if isinstance(content, str) and _REPRESENTED.match(content):
        message["represented"] = True
    if calls := as_list(raw.get("tool_calls")):
        message["toolCalls"] = calls
    if call_id := as_text(raw.get("tool_call_id")):
        message["toolCallId"] = call_id
    return message


def _with_calls(
    checkpoints: Sequence[tuple[list[dict[str, Any]], float]],
) -> list[dict[str, Any]]:
    """Return the last messages, with the calls that an older checkpoint of the same texts has."""
    last = checkpoints[-1][0]
    if all(each.get("toolCallId") for each in last if each["role"] == "tool"):
        return last
    texts = [get_key(each) for each in last]
    for older, _ in reversed(checkpoints[:-1]):
        has_ids = any(each.get("toolCallId") for each in older)
        if has_ids and [get_key(each) for each in older] == texts[: len(older)]:
            return [*older, *last[len(older) :]]
    return last


def get_key(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is equal in messages that threads share."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content)
    return as_text(message.get("role")), text
