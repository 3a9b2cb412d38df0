"""A damaged database is reported, never written to, and salvaged row by row."""

import contextlib
import json
import shutil
import sqlite3
from itertools import chain

import pytest

from tests.store.sqlite.damage import FILES, damage_file, damage_rows, is_sound
from tests.store.turns import FactBuilder
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = [
    pytest.mark.usefixtures("own_logging"),
    pytest.mark.needs("extensions/repair"),
]
TURNS = 40
COMMANDS = (
    ("sessions", "list"),
    ("sessions", "search", "tide"),
    ("sessions", "check"),
    ("doctor",),
    ("-p", "go on"),
    ("-p", "go on", "--continue"),
)


@pytest.fixture
async def database(line):
    """A database with a session of some turns, without a log."""
    line.script(*[[{"say": "The tide is high."}]] * 40)
    path, builder = resolve_paths().database, FactBuilder()
    store = SqliteStore(Database(path))
    await store.append(builder.session_start(), *chain(*(builder.turn() for _ in range(TURNS))))
    await store.close()
    assert is_sound(path)
    return path


def content_of(path):
    """Return the bytes of a database and of its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


def run_all(line, database, show):
    """Run commands on a damaged database; nothing crashes, and a damaged file stays the same."""
    before, sound = content_of(database), is_sound(database)
    for command in (*COMMANDS, *show):
        code, out, err = line(*command)
        assert "internal error" not in out + err, (command, err)
        assert "Traceback" not in out + err
        assert code in (0, 1, 2, 3)
        if not sound:
            assert content_of(database) == before, command[0]
            assert command[0] != "-p" or code != 0


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.req("R-PER-04")
@pytest.mark.sample(6)
def test_damaged_file_is_reported_never_written_and_salvaged(line, database, kind, tmp_path):
    check_damaged_files(line, database, kind, range(3), tmp_path)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.reliability
@pytest.mark.timeout(3_600)
def test_many_damaged_files_are_reported_never_written_and_salvaged(
    line, database, kind, tmp_path, figures
):
    seeds = range(100, 134)
    check_damaged_files(line, database, kind, seeds, tmp_path)
    figures("damaged databases", f"{len(seeds)} files, 0 errors, 0 writes", part=kind)


def check_damaged_files(line, database, kind, seeds, tmp_path):
    """Check what every command does with databases that were damaged in some ways."""
    [session] = json.loads(line("sessions", "list", "--json")[1])
    original = tmp_path / "original.db"
    shutil.copy(database, original)
    for seed in seeds:
        shutil.copy(original, database)
        damage_file(database, kind, seed)
        if is_sound(database):
            continue
        run_all(line, database, [("sessions", "show", session["id"])])
        readable = readable_rows(database) & readable_rows(original)
        code, out, err = line("sessions", "salvage", "--json")
        assert "internal error" not in err
        if code != 0:
            assert not readable
            assert "Nothing can be read" in err
            database.unlink()
            continue
        assert is_sound(database)
        assert json.loads(out)["tables"]
        assert readable <= readable_rows(database)
        assert line("sessions", "list")[0] == 0
        assert line("-p", "go on")[0] == 0


def readable_rows(path):
    """Return the rows that a plain scan reads before the first damage, each with its table."""
    found = set()
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as source:
        source.text_factory = bytes
        for table in ("sessions", "messages", "events", "tool_calls", "file_changes"):
            with contextlib.suppress(sqlite3.Error):
                for row in source.execute(f"SELECT * FROM {table} NOT INDEXED"):
                    found.add((table, row))
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(4)
def test_damaged_rows_are_named_and_nothing_crashes(line, database, seed):
    [session] = json.loads(line("sessions", "list", "--json")[1])
    damage_rows(database, seed)
    run_all(line, database, [("sessions", "show", session["id"])])


def test_newer_database_is_refused_and_not_written(line, database):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = content_of(database)
    for command in (("-p", "go"), ("sessions", "list")):
        code, _, err = line(*command)
        assert code == 1
        assert "was written by a newer version of yourtool" in err
    assert content_of(database) == before


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("events", "payload_json", "{"),
        ("events", "type", "turn.from_the_future"),
        ("messages", "content_json", "{"),
        ("messages", "role", "oracle"),
    ],
)
def test_row_that_cannot_be_read_is_named_where_the_session_is_shown_or_continued(
    line, database, table, column, value
):
    [session] = json.loads(line("sessions", "list", "--json")[1])
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        picked = f"SELECT id FROM {table} ORDER BY id LIMIT 1 OFFSET 9"
        [row_id] = connection.execute(picked).fetchone()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (value, row_id))
    code, out, err = line("sessions", "show", session["id"])
    assert code == 1
    assert "done" in out
    assert f"`{row_id}`" in err and f"`yourtool sessions check {session['id']}`" in err
    code, _, err = line("-p", "go on", "--resume", session["id"])
    assert (code, f"`{row_id}`" in err) == (0, True)
    code, out, _ = line("sessions", "check", session["id"])
    assert code == 1
    assert row_id in out
