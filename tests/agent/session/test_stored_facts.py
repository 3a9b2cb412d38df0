"""Leases are acquired without the event loop, and a cancelled acquisition leaves none."""

import asyncio
import threading

import pytest

from yourtool.agent.session.stored_facts import acquire_lease
from yourtool.errors import SessionBusyError
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


@pytest.fixture
def store(tmp_path):
    return SqliteStore(Database(tmp_path / "sessions.db"))


class SlowStore:
    """A store on a disk that stalls until `resume` is set."""

    def __init__(self, store):
        self.store, self.resume, self.acquired = store, threading.Event(), threading.Event()

    def lease(self, session_id):
        self.resume.wait(10)
        lease = self.store.lease(session_id)
        self.acquired.set()
        return lease


async def test_a_stalled_disk_does_not_block_the_loop_while_a_lease_is_acquired(store):
    slow = SlowStore(store)
    acquiring = asyncio.create_task(acquire_lease(slow, "sess_1"))
    await asyncio.sleep(0.01)
    assert not acquiring.done()
    slow.resume.set()
    lease = await acquiring
    with pytest.raises(SessionBusyError):
        await acquire_lease(store, "sess_1")
    lease.release()


async def test_a_lease_that_nobody_waits_for_is_released(store):
    slow = SlowStore(store)
    acquiring = asyncio.create_task(acquire_lease(slow, "sess_1"))
    await asyncio.sleep(0.01)
    acquiring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await acquiring
    slow.resume.set()
    await asyncio.to_thread(slow.acquired.wait, 10)
    await asyncio.sleep(0.01)
    store.lease("sess_1").release()
