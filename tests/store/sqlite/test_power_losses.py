"""A loss of power at any time loses no acknowledged fact and damages no database."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.store.disk_writes import (
    Acknowledged,
    Exists,
    Sync,
    Write,
    after_power_loss,
    needs_strace,
    record,
)
from tests.store.sqlite.test_crashes import has, sound
from tests.store.turns import FactBuilder
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parents[3]


async def check_images(tmp_path, count, turns):
    """Check the database on disks after a loss of power; return how many facts they had."""
    directory, place, chance = tmp_path / "recorded", tmp_path / "image", Random(count)
    directory.mkdir()
    command = [sys.executable, "-m", "tests.store.writer", "acknowledge"]
    steps = record([*command, str(directory / "sessions.db"), str(turns)], directory, ROOT)
    assert sum(isinstance(step, Sync) for step in steps) > 9 * turns
    facts = 0
    for _ in range(count):
        until = chance.randrange(len(steps) + 1)
        place.mkdir()
        for file, content in after_power_loss(steps[:until], chance).items():
            (place / file).write_bytes(content)
        lines = [step.line.split() for step in steps[:until] if isinstance(step, Acknowledged)]
        database = Database(place / "sessions.db")
        await sound(database)
        if lines:
            await has(SqliteStore(database), lines[0][0], [event_id for _, event_id in lines])
        await database.close()
        facts += len(lines)
        shutil.rmtree(place)
    return facts


@pytest.mark.remaining
@pytest.mark.blocks_loop
@pytest.mark.req("R-PER-02")
@needs_strace
async def test_a_loss_of_power_loses_no_acknowledged_fact(tmp_path):
    assert await check_images(tmp_path, 60, 2) > 100


@pytest.mark.reliability
@pytest.mark.timeout(7_200)
@pytest.mark.blocks_loop
@needs_strace
async def test_five_thousand_losses_of_power_lose_no_acknowledged_fact(tmp_path, figures):
    facts = await check_images(tmp_path, 5_000, 8)
    figures("power losses", f"5,000 disks, {facts:,} acknowledged facts, 0 lost, 0 damaged")


def test_disk_without_a_sync_can_lose_any_write():
    steps = [
        Exists("a.db", True),
        Sync(""),
        Write("a.db", 0, b"x" * 1024),
        Write("a.db", 512, b"y"),
    ]
    found = {bytes(after_power_loss(steps, Random(seed))["a.db"]) for seed in range(200)}
    assert {b"", b"x" * 1024, b"x" * 512 + b"y" + b"x" * 511, bytes(512) + b"y"} <= found
    assert any(content[:512] == bytes(512) and b"x" in content for content in found), "torn"


def test_disk_with_a_sync_has_every_write():
    steps = [Exists("a.db", True), Sync(""), Write("a.db", 0, b"xy"), Write("a.db", 1, None)]
    steps += [Sync("a.db")]
    assert {bytes(after_power_loss(steps, Random(seed))["a.db"]) for seed in range(50)} == {b"x"}


def test_file_can_be_missing_or_remain_without_a_sync_of_its_directory():
    made = [Exists("a.db", True), Write("a.db", 0, b"x"), Sync("a.db")]
    assert {len(after_power_loss(made, Random(seed))) for seed in range(50)} == {0, 1}
    removed = [*made, Sync(""), Exists("a.db", False)]
    assert {len(after_power_loss(removed, Random(seed))) for seed in range(50)} == {0, 1}


CREATION = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 2")
database.execute("BEGIN IMMEDIATE")
database.execute("CREATE TABLE t (x)")
database.executemany("INSERT INTO t VALUES (?)", [("x" * 4000,)] * 500)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def unfinished(tmp_path):
    """Return a database with the journal of a change that did not end."""
    path = tmp_path / "sessions.db"
    done = subprocess.run([sys.executable, "-c", CREATION, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert path.with_name("sessions.db-journal").stat().st_size > 0
    return path


async def test_database_whose_creation_lost_power_is_opened(unfinished):
    """A connection that cannot write does not undo the change in the journal."""
    database, builder = Database(unfinished), FactBuilder()
    await SqliteStore(database).append(builder.session_start())
    await sound(database)
    await database.close()
