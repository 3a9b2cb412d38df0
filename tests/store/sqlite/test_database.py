import asyncio
import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.sqlite.damage import is_sound
from tests.store.turns import FactBuilder
from yourtool.errors import StoreError
from yourtool.store.sqlite import health
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.row_codec import INSERT_MESSAGE, message_row
from yourtool.store.sqlite.schema import MIGRATIONS
from yourtool.store.sqlite.store import SqliteStore

LATER = (*MIGRATIONS, ("ALTER TABLE sessions ADD COLUMN mood TEXT", "CREATE TABLE extra (id TEXT)"))


async def pragma(database: Database, name: str) -> object:
    return await database.read(
        lambda connection: connection.execute(f"PRAGMA {name}").fetchone()[0]
    )


@pytest.mark.req("R-PER-01")
async def test_tables_have_the_columns_and_indexes_of_the_schema(database, store, rows):
    await store.append(FactBuilder().session_start())
    columns = {
        table: " ".join(row[1] for row in rows(f"PRAGMA table_info({table})"))
        for table in ("sessions", "messages", "tool_calls", "events", "file_changes")
    }
    assert columns == {
        "sessions": "id workspace_path active_model routing_policy_json schema_version created_at"
        " updated_at parent_session_id copied_through worker_of",
        "messages": "id session_id role content_json metadata_json created_at schema_version",
        "tool_calls": "id session_id message_id result_message_id name status provider_id provider"
        " created_at completed_at",
        "events": "id timestamp_us session_id turn_id parent_event_id type actor sensitivity"
        " payload_json",
        "file_changes": "event_id session_id prompt_id tool_use_id timestamp_us path before_digest"
        " after_digest change_json",
    }
    indexes = {
        (table, tuple(row[2] for row in rows(f"PRAGMA index_info({index})")))
        for index, table in rows(
            "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        )
    }
    assert indexes == {
        ("messages", ("session_id", "created_at")),
        ("tool_calls", ("session_id", "status")),
        ("events", ("session_id", "id")),
        ("events", ("session_id",)),
        ("events", ("type", "timestamp_us")),
        ("events", ("turn_id",)),
        ("events", ("parent_event_id",)),
        ("sessions", ("updated_at", "id")),
        ("sessions", ("worker_of",)),
        ("file_changes", ("session_id", "event_id")),
        ("file_changes", ("path",)),
        ("file_changes", ("tool_use_id",)),
        ("file_changes", ("event_id",)),
    }


@pytest.mark.req("R-PER-01")
async def test_commits_are_durable_and_foreign_keys_are_enforced(database):
    assert await pragma(database, "journal_mode") == "wal"
    assert await pragma(database, "synchronous") == 2
    assert await pragma(database, "foreign_keys") == 1
    assert await pragma(database, "fullfsync") == 1
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await database.write(
            lambda connection: connection.execute(
                "INSERT INTO messages VALUES ('m', 'nobody', 'user', '[]', '{}', 0, 1)"
            )
        )


async def test_files_are_private_to_their_owner(database, store, path):
    before = os.umask(0)
    try:
        await store.append(FactBuilder().session_start())
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    endings = ("", "-wal", "-shm", ".lock", ".open", ".reserve")
    assert modes.keys() == {f"sessions.db{ending}" for ending in endings}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_permissions_of_a_readable_database_are_restricted(path):
    path.parent.mkdir()
    sqlite3.connect(path).close()
    path.touch()
    path.chmod(0o644)
    database = Database(path)
    await pragma(database, "user_version")
    await database.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_database_is_created_on_first_use(path):
    database = Database(path)
    await database.close()
    await database.close()
    assert not path.parent.exists()


async def test_database_that_is_opened_early_is_open_before_its_first_use(path):
    database = Database(path)
    database.open_early()
    while not path.exists():
        await asyncio.sleep(0.001)
    assert await pragma(database, "journal_mode") == "wal"
    await database.close()
    assert not path.with_name(f"{path.name}-wal").exists()


async def test_error_of_opening_early_is_raised_by_the_first_use(tmp_path):
    (path := tmp_path / "sessions.db").mkdir()
    database = Database(path)
    database.open_early()
    with pytest.raises(StoreError, match=str(path)):
        await pragma(database, "journal_mode")
    await database.close()


async def test_change_that_raises_is_rolled_back(database, rows):
    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO sessions (id, workspace_path, schema_version, created_at, updated_at)"
            " VALUES ('s', '/w', 1, 0, 0)"
        )
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.write(work)
    assert rows("SELECT * FROM sessions") == []


async def test_cancelled_append_ends_before_the_cancellation_is_raised(store, database, rows):
    builder = FactBuilder()
    await store.append(builder.session_start())
    task = asyncio.create_task(store.append(builder.turn_start()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rows("SELECT count(*) FROM messages") == [(1,)]


async def test_newer_file_is_rejected_and_unchanged(path):
    later = Database(path, LATER)
    await pragma(later, "user_version")
    await later.close()
    before = path.read_bytes()
    database = Database(path)
    with pytest.raises(
        StoreError, match=r"newer version of yourtool \(format 8; this version supports up to 7"
    ):
        await database.read(lambda connection: connection)
    await database.close()
    assert path.read_bytes() == before


async def test_upgrade_preserves_all_data_and_a_backup_of_the_old_file(path, tmp_path):
    builder = FactBuilder()
    first = Database(path)
    await SqliteStore(first).append(builder.session_start(), *builder.turn())
    facts = await SqliteStore(first).read(builder.session_id)
    await first.close()

    later = Database(path, LATER)
    assert await pragma(later, "user_version") == len(LATER)
    assert await SqliteStore(later).read(builder.session_id) == facts
    await later.close()

    backup = path.with_name(f"sessions.db.v{len(MIGRATIONS)}")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    restored = Database(backup)
    assert await pragma(restored, "user_version") == len(MIGRATIONS)
    assert await SqliteStore(restored).read(builder.session_id) == facts
    await restored.close()


@pytest.mark.req("R-PER-09")
async def test_messages_of_an_older_file_are_searchable_after_the_upgrade(path):
    old = Database(path, MIGRATIONS[:1])
    builder = FactBuilder()
    asked = builder.turn_start("wo steht der Schlüssel?")
    message = message_row(asked.message)
    await old.write(
        lambda connection: (
            connection.execute(
                "INSERT INTO sessions (id, workspace_path, schema_version, created_at, updated_at)"
                " VALUES (?, '/w', 1, 0, 0)",
                (builder.session_id,),
            ),
            connection.execute(INSERT_MESSAGE, message),
            connection.execute(INSERT_MESSAGE, ("broken", *message[1:3], "[{", *message[4:])),
        )
    )
    await old.close()
    later = Database(path)
    [hit] = await SqliteStore(later).search("schlussel")
    assert (hit.session_id, hit.message_id) == (builder.session_id, asked.message.id)
    await later.close()
    assert path.with_name("sessions.db.v1").exists()


async def test_failed_upgrade_changes_nothing(path):
    first = Database(path)
    await SqliteStore(first).append(FactBuilder().session_start())
    await first.close()
    broken = Database(path, (*MIGRATIONS, ("CREATE TABLE extra (id TEXT)", "nonsense")))
    with pytest.raises(StoreError, match="syntax error"):
        await pragma(broken, "user_version")
    await broken.close()
    again = Database(path)
    assert await pragma(again, "user_version") == len(MIGRATIONS)
    assert not await again.read(
        lambda connection: connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'extra'"
        ).fetchone()
    )
    await again.close()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"not a database, but long enough to be taken for one" * 20, "is not a database")],
)
async def test_file_that_is_not_a_database_is_named_and_unchanged(path, content, words):
    path.parent.mkdir()
    path.write_bytes(content)
    database = Database(path)
    with pytest.raises(StoreError, match=words) as caught:
        await pragma(database, "user_version")
    await database.close()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


async def test_database_of_another_program_is_rejected(path):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (id TEXT)")
    connection.close()
    database = Database(path)
    with pytest.raises(StoreError, match="of another program"):
        await pragma(database, "user_version")
    await database.close()


async def test_long_database_lock_is_reported(database, store, path):
    builder = FactBuilder()
    await store.append(builder.session_start())
    with path.with_name("sessions.db.lock").open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        impatient = Database(path, lock_timeout=0.01)
        with pytest.raises(StoreError, match="locked by another yourtool"):
            await SqliteStore(impatient).append(builder.turn_start())
    await SqliteStore(impatient).append(builder.turn_start())
    await impatient.close()


async def test_full_database_is_reported_and_works_once_there_is_space(database, store):
    builder = FactBuilder()
    await store.append(builder.session_start())
    [pages] = await database.read(lambda db: db.execute("PRAGMA page_count").fetchone())
    await database.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 5}"))
    facts, stored = builder.turn("x" * 90_000), 1
    with pytest.raises(StoreError, match="the disk is full"):
        for fact in facts:
            await store.append(fact)
            stored += 1
    assert len(await store.read(builder.session_id)) == stored
    await database.write(lambda db: db.execute("PRAGMA max_page_count = 100000"))
    await store.append(*facts[stored - 1 :])
    assert len(await store.read(builder.session_id)) == 1 + len(facts)


async def test_unwritable_directory_is_named(tmp_path):
    (tmp_path / "file").touch()
    database = Database(tmp_path / "file" / "sessions.db")
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        await pragma(database, "user_version")
    await database.close()


def test_importing_the_store_loads_no_network_or_interface_module():
    code = "import sys, yourtool.store.sqlite.store; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert {"textual", "rich", "httpx2", "anthropic", "openai"}.isdisjoint(loaded.stdout.split())


def test_unfinished_copy_of_a_dead_process_is_removed_and_that_of_another_stays(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    copy = path.with_name("copy.db")
    dead = subprocess.Popen(["true"])
    dead.wait()
    others = [path.with_name(f"copy.db.{name}.part") for name in (dead.pid, os.getppid(), "x")]
    for each in others:
        each.touch()
    with health.unfinished(copy) as part:
        part.write_bytes(b"whole")
    assert copy.read_bytes() == b"whole"
    assert [each.exists() for each in others] == [False, True, False]
    with pytest.raises(ValueError, match="no"), health.unfinished(copy) as part:
        part.write_bytes(b"half")
        raise ValueError("no")
    assert (copy.read_bytes(), part.exists()) == (b"whole", False)


async def test_database_is_copied_once_a_day_and_three_copies_stay(path):
    database = Database(path)
    await database.write(lambda connection: connection.execute("SELECT 1").fetchall())
    await database.close()
    copies = path.parent / "copies"
    assert not copies.exists()  # it was new
    copies.mkdir()
    for day in range(1, 6):
        (copies / f"sessions-2020010{day}.db").touch()
    copy = health.DailyCopy(path)
    copy.start()
    while len(names := sorted(each.name for each in copies.iterdir())) != 3:
        await asyncio.sleep(0.01)
    copy.stop()
    assert names[:2] == ["sessions-20200104.db", "sessions-20200105.db"]
    assert is_sound(copies / names[2])
    assert stat.S_IMODE((copies / names[2]).stat().st_mode) == 0o600
