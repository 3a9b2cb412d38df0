"""The time until a fact is durable, compared with plain SQLite on the same disk.

The floor is one `INSERT` with its commit, in WAL with `synchronous=FULL`, of a row as large as the
fact's. Both are measured alternately, so that a busy disk slows both. Prints JSON; times are
milliseconds, ratios are ours to the floor's.
"""

import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.sessions import SessionCreated
from yourtool.events.turns import TurnStarted
from yourtool.ids import new_id, new_session_id
from yourtool.messages.blocks import TextBlock, canonical_json
from yourtool.messages.message import PromptMessage
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

_WORDS = "A message of a usual length, which is some hundreds of characters. " * 8


def measure(appends: int = 300, replayed: int = 10_000) -> dict[str, Any]:
    """Return latencies of `appends` facts and the time to read `replayed` facts back."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_measure(Path(directory), appends, replayed))


async def _measure(directory: Path, appends: int, replayed: int) -> dict[str, Any]:
    floor = _Floor(directory / "floor.db")
    database, session_id = Database(directory / "sessions.db"), new_session_id()
    store = SqliteStore(database)
    began = time.perf_counter()
    await store.append(_fact(SessionCreated, session_id, workspace_path="/w", workspace_hash=""))
    opened = time.perf_counter() - began

    ours, bare = list[float](), list[float]()
    for _ in range(appends):
        began = time.perf_counter()
        await store.append(_call(session_id))
        ours.append(time.perf_counter() - began)
        bare.append(floor.commit())

    floor.close()
    for _ in range(replayed // 100):
        await store.append(*(make(session_id) for make in (_turn, _call) * 50))
    await database.close()
    database = Database(database.path)
    began = time.perf_counter()
    facts = await SqliteStore(database).read(session_id)
    replay = time.perf_counter() - began
    await database.close()
    return {
        "open_ms": _round(opened),
        "append_ms": {"p50": _round(_p(50, ours)), "p95": _round(_p(95, ours))},
        "floor_ms": {"p50": _round(_p(50, bare)), "p95": _round(_p(95, bare))},
        "append_to_floor": {
            "p50": round(_p(50, ours) / _p(50, bare), 2),
            "p95": round(_p(95, ours) / _p(95, bare), 2),
        },
        "replay": {"events": len(facts), "ms": _round(replay)},
        "sqlite": sqlite3.sqlite_version,
    }


class _Floor:
    """A table in plain SQLite."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, data TEXT)")
        self._data = canonical_json(_call("sess")).decode()

    def commit(self) -> float:
        """Store one row and return the time in seconds."""
        began = time.perf_counter()
        self._connection.execute("INSERT INTO rows VALUES (?, ?)", (new_id(), self._data))
        return time.perf_counter() - began

    def close(self) -> None:
        self._connection.close()


def _call(session_id: str) -> LlmCallStarted:
    return _fact(
        LlmCallStarted,
        session_id,
        model="anthropic:claude-sonnet-4-6",
        provider="anthropic",
        estimated_input_tokens=1000,
        request_id=new_id(),
    )


def _turn(session_id: str) -> TurnStarted:
    message = PromptMessage(
        id=new_id(),
        session_id=session_id,
        content=(TextBlock(_WORDS),),
        created_at=datetime.now(UTC),
    )
    return _fact(
        TurnStarted,
        session_id,
        user_message_hash="",
        estimated_input_tokens=100,
        has_images=False,
        has_tool_calls_in_history=False,
        message=message,
    )


def _fact(kind: Callable[..., Any], session_id: str, **fields: Any) -> Any:
    return kind(id=new_id(), timestamp=datetime.now(UTC), session_id=session_id, **fields)


def _p(percent: int, values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[percent - 1]


def _round(seconds: float) -> float:
    return round(seconds * 1000, 3)


if __name__ == "__main__":
    print(json.dumps(measure()))
