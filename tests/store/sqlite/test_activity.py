"""States of sessions that processes have open."""

import os
import subprocess
import sys
import threading

import pytest

from tests.store.turns import FactBuilder
from yourtool.errors import SessionBusyError
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.leases import FileLease, find_held
from yourtool.store.sqlite.store import SqliteStore


@pytest.fixture
async def store(tmp_path):
    made = SqliteStore(Database(tmp_path / "sessions.db"))
    yield made
    await made.close()


async def fill(store, name, *, is_open_turn):
    builder = FactBuilder(name)
    await store.append(builder.session_start())
    await store.append(*([builder.turn_start()] if is_open_turn else builder.turn()))


async def states(store, *ids):
    return {each.id: each.state for each in await store.find_activity(ids)}


async def test_state_is_known_from_the_lease_and_the_last_turn(store):
    await fill(store, "sess_a", is_open_turn=True)
    await fill(store, "sess_b", is_open_turn=False)
    assert await states(store) == {}
    assert await states(store, "sess_a", "sess_b") == {"sess_a": "stopped", "sess_b": "done"}
    with store.lease("sess_a") as lease, store.lease("sess_b"):
        assert await states(store) == {"sess_a": "running", "sess_b": "open"}
        lease.set_waiting(True)
        [found] = [each for each in await store.find_activity() if each.id == "sess_a"]
        assert (found.state, found.process) == ("waiting", str(os.getpid()))
        lease.set_waiting(False)
        assert (await states(store))["sess_a"] == "running"
        with pytest.raises(SessionBusyError, match=f"process {os.getpid()}"):
            store.lease("sess_a")


def test_lock_file_of_a_dead_process_is_not_held(tmp_path):
    program = (
        "import os, sys; from pathlib import Path;"
        "from yourtool.store.sqlite.leases import FileLease;"
        "FileLease(Path(sys.argv[1]), 'sess_1').set_waiting(True); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert find_held(tmp_path) == {}
    FileLease(tmp_path, "sess_1").release()


def test_looking_at_leases_never_makes_a_session_busy(tmp_path):
    is_over = threading.Event()

    def look():
        while not is_over.is_set():
            find_held(tmp_path)

    (tmp_path / "sess_1.lock").write_text("1")
    looker = threading.Thread(target=look)
    looker.start()
    try:
        for _ in range(300):
            FileLease(tmp_path, "sess_1").release()
            (tmp_path / "sess_1.lock").write_text("1")
    finally:
        is_over.set()
        looker.join()
