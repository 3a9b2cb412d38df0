"""A session of 100,000 messages in the interface, a search in it, and one of 5,000 messages opened.

Prints one JSON object. Goals: the end of the session is shown and a key is echoed within 3 s, the
program takes at most 150 MiB, a search takes less than 50 ms, and a session of 5,000 messages is
read in less than 300 ms.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from benchmarks.terminal import Terminal
from yourtool.agent.session.stored_facts import load_state
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.sessions import SessionCreated
from yourtool.extensions.importers.builder import build_facts
from yourtool.extensions.importers.transcript import (
    Call,
    Entry,
    Prompt,
    Reply,
    Result,
    Transcript,
    What,
)
from yourtool.messages.blocks import TextBlock
from yourtool.store.pages import read_page
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

LONG, SHORT = 100_000, 5_000
BATCH = 2_000
"""Facts that are stored at a time."""
QUERIES = {"one": "quokka", "many": "words", "prefix": "num", "none": "nowhere"}
ROUNDS = 11
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LAST = "The end of it."


def measure(messages: int = LONG) -> dict[str, float]:
    """Return seconds, milliseconds and MiB for a session of so many messages."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "work").mkdir()
        session_id = asyncio.run(_write(root, messages))
        found = asyncio.run(_measure_store(root, session_id))
        return {"messages": messages, **found, **_measure_screen(root, session_id)}


async def _write(root: Path, messages: int) -> str:
    """Store the session, and return its id."""
    database = Database(root / "data" / "sessions.db")
    session_id = await _store(SqliteStore(database), messages, root / "work")
    await database.close()
    return session_id


async def _store(store: SqliteStore, messages: int, workspace: Path) -> str:
    entries = list[Entry]()
    while len(entries) < messages:
        number, previous = len(entries), entries[-1].id if entries else ""
        for what in _build_turn(number, is_last=number + 4 >= messages):
            entry_id = str(len(entries))
            at = _START + timedelta(seconds=len(entries))
            entries.append(Entry(id=entry_id, parent=previous, at=at, what=what))
            previous = entry_id
    transcript = Transcript(system="x", format="x", source_id="x", created_at=_START)
    transcript.entries = entries
    facts = build_facts(transcript)
    created = facts[0]
    assert isinstance(created, SessionCreated)
    facts[0] = replace(created, workspace_path=str(workspace))
    for at in range(0, len(facts), BATCH):
        await store.append(*map(_without_source, facts[at : at + BATCH]))
    return created.session_id


def _without_source(fact: AnyFact) -> AnyFact:
    """Return a fact whose message has the metadata of one that was not imported."""
    message = message_of(fact)
    if message is None:
        return fact
    metadata = replace(message.metadata, import_source=None)
    changed: Any = {"message": replace(cast("Any", message), metadata=metadata)}
    return replace(fact, **changed)


def _build_turn(number: int, *, is_last: bool) -> tuple[What, ...]:
    """Return the four messages of a turn with a call."""
    call = Call(f"call {number}", "read_file", {"path": f"file{number}.py"})
    rare = " quokka" if number == SHORT else ""
    text = _LAST if is_last else f"Some words about it, {number}.{rare} " * 8
    return (
        Prompt(content=(TextBlock(f"what is number {number}?"),)),
        Reply(content=(TextBlock("I look."), call), model="demo:file"),
        Result(call=call.id, content=(TextBlock("a line of output\n" * 8),)),
        Reply(content=(TextBlock(text),), model="demo:file"),
    )


async def _measure_store(root: Path, session_id: str) -> dict[str, float]:
    store = SqliteStore(Database(root / "data" / "sessions.db"))
    found = dict[str, float]()
    for name, query in QUERIES.items():
        found[f"search_{name}_ms"] = await _median(lambda query=query: store.search(query))
    found["page_ms"] = await _median(lambda: read_page(store, session_id))
    short = await _store(store, SHORT, root / "work")
    found["open_5000_ms"] = await _median(lambda: load_state(store, short))
    found["open_5000_cpu_ms"] = await _measure_cpu(lambda: load_state(store, short))
    await store.close()
    return found


async def _median(work: Callable[[], Awaitable[object]]) -> float:
    taken = list[float]()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - started)
    return round(statistics.median(taken) * 1_000, 1)


async def _measure_cpu(work: Callable[[], Awaitable[object]]) -> float:
    """Return the milliseconds of CPU of the best round, which other processes change less."""
    taken = list[float]()
    for _ in range(ROUNDS):
        started = time.process_time()
        await work()
        taken.append(time.process_time() - started)
    return round(min(taken) * 1_000, 1)


def _measure_screen(root: Path, session_id: str) -> dict[str, float]:
    environment = {**os.environ, "YOURTOOL_HOME": str(root), "TERM": "xterm-256color"}
    command = (sys.executable, "-P", "-m", "yourtool", "--resume", session_id)
    terminal = Terminal(command, cwd=root / "work", env=environment)
    try:
        shown = terminal.wait_for([_LAST[:7]], 0, 60)
        since = terminal.mark
        terminal.send("q")
        echoed = terminal.wait_for(["q"], since, 60)
        first = terminal.memory()
        _wait_until_idle(terminal)
        return {
            "end_shown_s": round((shown or float("inf")) - terminal.began, 2),
            "key_echoed_s": round((echoed or float("inf")) - terminal.began, 2),
            "memory_shown_mib": round(first / 2**20, 1),
            "memory_complete_mib": round(terminal.memory() / 2**20, 1),
        }
    finally:
        terminal.close()


def _wait_until_idle(terminal: Terminal) -> None:
    """Wait until the program has read the whole session: until it needs no CPU."""
    used, deadline = -1.0, time.monotonic() + 120
    while time.monotonic() < deadline and terminal.cpu() - used > 0.1:
        used = terminal.cpu()
        time.sleep(3)


if __name__ == "__main__":
    print(json.dumps({"long_sessions": measure(int(sys.argv[1]) if sys.argv[1:] else LONG)}))
