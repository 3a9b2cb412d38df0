"""Databases of Attocode are imported, each session as its own (R-SEED-06; seeds.md 3.6)."""

import json
import sqlite3

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cli.test_sessions import run_sessions
from tests.strategies import examples
from yourtool.errors import UsageError
from yourtool.extensions.importers.attocode_database import is_database, read_sessions
from yourtool.extensions.importers.detection import read_transcript
from yourtool.extensions.importers.source import Source

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-SEED-06")]


def message(role, text):
    return {"role": role, "content": text}


def write_database(path):
    """A database with a session of checkpoints, one of entries and one without messages."""
    first = {"messages": [message("user", "rename f to g")]}
    last = {"messages": [*first["messages"], message("assistant", "Renamed.")]}
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE sessions (id TEXT, name TEXT);"
            "CREATE TABLE entries (id INTEGER PRIMARY KEY, session_id TEXT, timestamp TEXT,"
            " type TEXT, data TEXT);"
            "CREATE TABLE checkpoints (id TEXT, session_id TEXT, state_json TEXT, created_at TEXT);"
        )
        for name in ("session-a", "session-b", "session-c"):
            database.execute("INSERT INTO sessions (id) VALUES (?)", (name,))
        for at, state in enumerate((json.dumps(first), json.dumps(last), '{"messages": "tru')):
            row = (f"c{at}", "session-a", state, f"2026-01-05T10:00:0{at}.000Z")
            database.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?)", row)
        data = json.dumps(message("user", "older prompt"))
        row = ("session-b", "2026-01-05T09:00:00.000Z", "message", data)
        database.execute(
            "INSERT INTO entries (session_id, timestamp, type, data) VALUES (?, ?, ?, ?)", row
        )
    database.close()
    return path.read_bytes()


def test_each_session_is_imported_once(line, tmp_path):
    file = tmp_path / "sessions.db"
    write_database(file)
    out = run_sessions(line, "import", str(file), "--json").splitlines()
    outcomes = [json.loads(each) for each in out]
    assert [each["system"] for each in outcomes] == ["Attocode", "Attocode"]
    assert outcomes[0]["warnings"] == ["the last line, half written"]
    assert "Renamed." in run_sessions(line, "show", outcomes[0]["session_id"])
    assert "older prompt" in run_sessions(line, "show", outcomes[1]["session_id"])
    again = run_sessions(line, "import", str(file), "--json").splitlines()
    assert all(json.loads(each)["already_imported"] for each in again)


def test_other_database_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE sessions (id TEXT)")
    database.close()
    source = Source((tmp_path / "a.db").read_bytes())
    assert is_database(source)
    with pytest.raises(UsageError, match="without sessions"):
        read_sessions(source)


@settings(max_examples=examples(60), deadline=None)
@given(place=st.floats(0, 0.999), cut=st.integers(0, 9) | st.just(4_000), new=st.binary(max_size=9))
@example(place=0.23135514579706706, cut=9, new=b"\1\1\1\1\1\1\1\x80\0")  # a name of a column
def test_damaged_database_is_refused_or_read_in_part(place, cut, new, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "attocode.db"
    content = file.read_bytes() if file.exists() else write_database(file)
    at = int(place * len(content))
    source = Source(content[:at] + new + content[at + cut :])
    try:
        for name, lines in read_sessions(source) if is_database(source) else ():
            read_transcript(lines, name)
    except UsageError as error:
        assert str(error)
