"""`yourtool sessions check [--fix]` (cli.md)."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.cli.command_line import CommandLine
from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")


def start_session(line: CommandLine):
    line.script([{"call": "list_files", "input": {}}, {"say": "It waits."}])
    return line.result("-p", "why is it slow?")["session_id"]


def query(statement: str):
    with closing(sqlite3.connect(resolve_paths().database)) as connection, connection:
        return connection.execute(statement).fetchall()


def check(line: CommandLine, *words: str):
    code, out, err = line("sessions", "check", *words)
    assert err == ""
    return code, out


def test_check_of_sound_sessions_finds_nothing(line):
    session_id = start_session(line)
    assert check(line) == (0, "1 session checked, none with problems.\n")
    code, out = check(line, session_id[:20], "--json")
    assert (code, json.loads(out)) == (0, {"ok": True, "checked": 1, "sessions": []})


def test_check_names_what_is_damaged_and_exits_with_1(line):
    session_id = start_session(line)
    [(result,)] = query("SELECT id FROM messages WHERE role = 'tool'")
    query("UPDATE messages SET content_json = '[' WHERE role = 'tool'")
    code, out = check(line)
    assert code == 1
    assert session_id in out
    assert result in out
    assert "cannot be read" in out
    assert "has no result" in out
    code, out = check(line, session_id, "--json")
    [session] = json.loads(out)["sessions"]
    assert code == 1
    assert session["session_id"] == session_id
    assert {"row", "pairing"} <= {each["kind"] for each in session["problems"]}


def test_fix_writes_a_new_session_and_leaves_the_damaged_one_as_it_is(line):
    session_id = start_session(line)
    query("UPDATE messages SET content_json = '[' WHERE role = 'tool'")
    tables = ("events", "messages", "tool_calls")
    before = [query(f"SELECT * FROM {each} ORDER BY rowid") for each in tables]
    code, out = check(line, session_id, "--fix", "--json")
    [session] = json.loads(out)["sessions"]
    assert code == 0
    after = [query(f"SELECT * FROM {each} ORDER BY rowid") for each in tables]
    assert all(new[: len(old)] == old for old, new in zip(before, after, strict=True))
    assert check(line, session["copy_id"])[0] == 0
    again = json.loads(check(line, "--fix", "--json")[1])["sessions"]
    assert [each["copy_id"] for each in again] == [session["copy_id"]]
    line.script([{"say": "Still waiting."}])
    told = line.result("-p", "and now?", "--resume", session["copy_id"])
    assert told["result"] == "Still waiting."


def test_a_session_with_turns_after_its_copy_gets_another_one(line):
    session_id = start_session(line)
    query("UPDATE messages SET content_json = '[' WHERE role = 'tool'")
    copies = set()
    for reply in ("one", "two"):
        found = json.loads(check(line, session_id, "--fix", "--json")[1])["sessions"]
        copies.add(found[0]["copy_id"])
        line.script([{"say": reply}])
        line.result("-p", "more", "--resume", session_id)
    assert len(copies) == 2


def test_a_start_that_is_lost_is_replaced_by_one_in_this_directory(line):
    session_id = start_session(line)
    query("DELETE FROM events WHERE type = 'session.created'")
    code, out = check(line, session_id, "--fix")
    assert code == 0
    assert "A sound copy: yourtool --resume sess_" in out


def test_nothing_is_written_into_a_damaged_file(line):
    start_session(line)
    query("PRAGMA wal_checkpoint(TRUNCATE)")
    database = resolve_paths().database
    whole, damaged = database.read_bytes(), 0
    size = 4096
    for page in range(1, len(whole) // size, 6):
        content = bytearray(whole)
        content[page * size : page * size + 64] = b"\xff" * 64
        database.write_bytes(content)
        code, out, err = line("sessions", "check", "--fix")
        assert code in (0, 1)
        assert "internal error" not in err
        if "No copy was written" in out:
            damaged += 1
            assert database.read_bytes() == content
    assert damaged > 2
