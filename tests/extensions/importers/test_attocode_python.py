"""Databases of the Python version of Attocode are imported (R-SEED-06; seeds.md 3.7)."""

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest

from tests.cli.test_sessions import run_sessions
from yourtool.agent.history.state import State
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-SEED-06")]

TABLES = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, task TEXT, status TEXT, created_at REAL,
        updated_at REAL, model TEXT, metadata TEXT);
    CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, session_id TEXT, messages TEXT,
        metrics TEXT, created_at REAL);
    CREATE TABLE usage_logs (session_id TEXT, provider TEXT, model TEXT);
    CREATE TABLE schema_version (version INTEGER);
    INSERT INTO schema_version VALUES (2);
"""
ASKED = {"role": "user", "content": "which cats?"}
CALLED = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "ls", "arguments": {"at": "."}}]}
ANSWERED = {"role": "tool", "content": "tom.txt", "tool_call_id": "c1"}
DONE = {"role": "assistant", "content": "Tom."}


def without_calls(*messages):
    """Return messages as a save by hand stores them."""
    return [{"role": each["role"], "content": each.get("content", "")} for each in messages]


@pytest.fixture
def connect(tmp_path):
    """Return a function that opens the database, with a session of these checkpoints."""
    with sqlite3.connect(tmp_path / "sessions.db") as database:
        database.executescript(TABLES)

    def store(*checkpoints, threads=None, name="s1"):
        metadata = json.dumps({"thread_manager": threads} if threads else {})
        row = (name, "task", "active", 1.77e9, 1.77e9, "gpt-x", metadata)
        database.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        database.execute("DELETE FROM checkpoints WHERE session_id = ?", (name,))
        for at, messages in enumerate(checkpoints):
            values = (name, json.dumps(messages), "{}", 1.77e9 + at)
            database.execute(
                "INSERT INTO checkpoints (session_id, messages, metrics, created_at)"
                " VALUES (?, ?, ?, ?)",
                values,
            )
        database.execute("INSERT INTO usage_logs VALUES (?, 'openai', 'gpt-y')", (name,))
        database.commit()
        return tmp_path / "sessions.db"

    with closing(database):
        yield store


def import_all(line, file):
    return [
        json.loads(each) for each in run_sessions(line, "import", str(file), "--json").splitlines()
    ]


def read_state(session_id):
    async def read():
        store, state = SqliteStore(Database(resolve_paths().database)), State()
        await store.replay(session_id, state.apply)
        await store.close()
        return state

    return asyncio.run(read())


def texts(state):
    return [each.text for each in state.messages]


def test_last_checkpoint_is_the_conversation_with_its_model(line, connect):
    file = connect([ASKED], [ASKED, CALLED, ANSWERED, DONE])
    [outcome] = import_all(line, file)
    state = read_state(outcome["session_id"])
    assert texts(state) == ["which cats?", "", "", "Tom."]
    assert state.messages[1].tool_uses[0].input == {"at": "."}
    assert state.last_model == "openai:gpt-y" and outcome["system"] == "Attocode"
    again = connect([ASKED], [ASKED, CALLED, ANSWERED, DONE])
    assert import_all(line, again)[0]["already_imported"]
    more = {"role": "user", "content": "and dogs?"}
    grown = connect([ASKED], [ASKED, CALLED, ANSWERED, DONE], [ASKED, CALLED, ANSWERED, DONE, more])
    [added] = import_all(line, grown)
    assert (added["session_id"], added["added"]) == (outcome["session_id"], 1)


def test_calls_that_a_save_by_hand_lost_are_those_of_the_checkpoint_before(line, connect):
    whole = [ASKED, CALLED, ANSWERED]
    file = connect(whole, [*without_calls(*whole, DONE)])
    state = read_state(import_all(line, file)[0]["session_id"])
    assert [call.name for each in state.messages for call in each.tool_uses] == ["ls"]
    assert texts(state)[-1] == "Tom."


def test_result_without_a_call_is_a_text_and_counted(line, connect):
    [outcome] = import_all(line, connect(without_calls(ASKED, ANSWERED, DONE)))
    assert any("the call of a result" in loss for loss in outcome["warnings"])
    assert "tom.txt" in json.dumps(json.loads(
        run_sessions(line, "show", outcome["session_id"], "--json")
    ))  # fmt: skip


def test_threads_are_branches_that_share_their_start(line, connect):
    other = {"role": "assistant", "content": "Felix."}
    threads = {
        "active_thread_id": "fork-1",
        "threads": [
            {"thread_id": "main", "messages": [ASKED, DONE]},
            {"thread_id": "fork-1", "label": "try", "fork_point": 1, "messages": [ASKED, other]},
        ],
    }
    [outcome] = import_all(line, connect([ASKED], [ASKED, DONE], threads=threads))
    state = read_state(outcome["session_id"])
    assert texts(state) == ["which cats?", "Felix."]
    found = [each.text for each in state.tree.iterate_messages()]
    assert sorted(found) == ["Felix.", "Tom.", "which cats?"]
    assert list(state.labels.values()) == ["try"]


def test_newer_version_is_refused_and_a_text_of_blocks_is_counted(line, connect, tmp_path):
    [outcome] = import_all(line, connect([{**ASKED, "content": "[TextBlock(text='hi')]"}]))
    assert any("stored as a text" in loss for loss in outcome["warnings"])
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as database:
        database.execute("INSERT INTO schema_version VALUES (3)")
        database.commit()
    code, _, err = line("sessions", "import", str(tmp_path / "sessions.db"))
    assert code == 2 and "version 3 of its format is newer" in err


def test_what_is_only_in_the_log_is_imported_and_the_files_stay_as_they_are(line, tmp_path):
    file = tmp_path / "sessions.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.executescript(TABLES)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("INSERT INTO sessions (id, model) VALUES ('s1', 'm')")
        row = (json.dumps([ASKED, DONE]),)
        database.execute(
            "INSERT INTO checkpoints (session_id, messages, created_at) VALUES ('s1', ?, 1.7e9)",
            row,
        )
        log = file.with_name("sessions.db-wal")
        before = file.read_bytes(), log.read_bytes()
        assert before[1]
        [outcome] = import_all(line, file)
        assert (file.read_bytes(), log.read_bytes()) == before
    assert texts(read_state(outcome["session_id"])) == ["which cats?", "Tom."]


def test_damaged_log_is_ignored_or_refused(line, connect, tmp_path):
    file = connect([ASKED, DONE])
    file.with_name("sessions.db-wal").write_bytes(b"not a log" * 1000)
    code, _, err = line("sessions", "import", str(file), "--json")
    assert code == 0 or "no sound database" in err
