"""A full disk takes one more write, with the space of the reserve."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.store.turns import FactBuilder
from yourtool.errors import FullDiskError
from yourtool.store.sqlite import reserve
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.reserve import RESERVE_BYTES, Reserve
from yourtool.store.sqlite.store import SqliteStore


@pytest.fixture
def disk(tmp_path):
    """Mount a disk of 40 MiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("a small disk can only be mounted by root")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=40m", "tmpfs", mounted], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    yield mounted
    subprocess.run([umount, "-l", mounted], check=True)


def fill(directory: Path) -> Path:
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file:
        block = bytes(1024 * 1024)
        try:
            while file.write(block) == len(block):
                pass
        except OSError:
            pass
    return ballast


@pytest.mark.req("R-PER-02")
async def test_full_disk_takes_one_more_reply(disk):
    database, builder = Database(disk / "sessions.db"), FactBuilder()
    store = SqliteStore(database)
    await store.append(builder.session_start())
    assert (disk / "sessions.db.reserve").stat().st_blocks * 512 >= RESERVE_BYTES
    fill(disk)
    start, *facts = builder.turn("x" * 200_000)
    await store.append(start, *facts)
    assert not (disk / "sessions.db.reserve").exists()
    with pytest.raises(FullDiskError, match="the disk is full"):
        for _ in range(20):
            await store.append(*builder.turn("x" * 200_000))
    (disk / "ballast").unlink()
    await store.append(*builder.turn("x"))
    await database.close()


def test_reserve_is_made_again_some_time_after_it_was_used(tmp_path, monkeypatch):
    held = Reserve(tmp_path / "sessions.db")
    held.hold()
    file = tmp_path / "sessions.db.reserve"
    assert file.exists()
    assert held.release()
    assert not file.exists()
    held.hold()
    assert not file.exists(), "the space is still needed"
    now = reserve.time.monotonic() + 60
    monkeypatch.setattr(reserve.time, "monotonic", lambda: now)
    held.hold()
    assert file.exists()


def test_nearly_full_disk_gets_no_reserve(tmp_path, monkeypatch):
    space = os.statvfs(tmp_path)
    few = os.statvfs_result((*space[:4], 10, *space[5:]))
    monkeypatch.setattr(reserve.os, "statvfs", lambda path: few)
    held = Reserve(tmp_path / "sessions.db")
    held.hold()
    assert not held.release()
    assert list(tmp_path.iterdir()) == []


def test_reserve_in_a_directory_that_cannot_be_written_is_left_out(tmp_path):
    held = Reserve(tmp_path / "missing" / "sessions.db")
    held.hold()
    assert not held.release()
