"""When the pages of a database are checked: a large file not at every start."""

import os
import shutil
import sqlite3
import time

import pytest

from tests.store.turns import FactBuilder
from yourtool.errors import DamagedStoreError
from yourtool.store.sqlite import health
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

PAGE = 4_096


@pytest.fixture
def large(tmp_path):
    """A closed database above the size that is checked at every start, checked a moment ago."""
    path = tmp_path / "large" / "sessions.db"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE filling (bytes BLOB)")
    connection.execute("INSERT INTO filling VALUES (zeroblob(?))", (health.SMALL_BYTES,))
    connection.execute("CREATE TABLE last (word TEXT)")
    connection.commit()
    connection.close()
    return path


def damage(path):
    """Destroy the page of the last table."""
    with sqlite3.connect(path) as connection:
        [[page]] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'last'")
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(b"\xff" * PAGE)


def find_damage(path, *, was_left_open):
    return health.find_damage(path, 1, was_left_open=was_left_open)


def test_large_file_is_checked_again_only_after_a_day_or_a_death(large):
    assert find_damage(large, was_left_open=False) is None
    damage(large)
    assert find_damage(large, was_left_open=False) is None, "it was checked a moment ago"
    assert find_damage(large, was_left_open=True) is not None
    yesterday = time.time() - 25 * 3_600
    os.utime(large.with_name("sessions.db.checked"), (yesterday, yesterday))
    assert find_damage(large, was_left_open=False) is not None


def test_small_file_is_checked_at_every_start(tmp_path):
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE last (word TEXT)")
    connection.close()
    assert find_damage(path, was_left_open=False) is None
    damage(path)
    assert find_damage(path, was_left_open=False) is not None


async def test_large_store_that_a_dead_process_left_is_checked_before_it_is_written(path, tmp_path):
    """A process that dies leaves the log of its last changes next to the file."""
    database = Database(path)
    await SqliteStore(database).append(FactBuilder().session_start())
    await database.write(_fill)
    await database.close()
    first = Database(path)  # checks the file, because nothing is known of it
    await first.read(lambda connection: connection.execute("SELECT 1").fetchall())
    await first.close()
    damage(path)
    unaware = Database(path)
    await SqliteStore(unaware).append(FactBuilder().session_start())
    left = tmp_path / "left"
    shutil.copytree(path.parent, left)  # as a death leaves it
    await unaware.close()
    log = left / f"{path.name}-wal"
    assert log.stat().st_size > 0
    before = (left / path.name).read_bytes()
    found = Database(left / path.name)
    with pytest.raises(DamagedStoreError):
        await SqliteStore(found).append(FactBuilder().session_start())
    await found.close()
    assert (left / path.name).read_bytes() == before


def _fill(connection):
    connection.execute("CREATE TABLE filling (bytes BLOB)")
    connection.execute("INSERT INTO filling VALUES (zeroblob(?))", (health.SMALL_BYTES,))
    connection.execute("CREATE TABLE last (word TEXT)")
