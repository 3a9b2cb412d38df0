"""A turn waits for space on a full disk, and nothing of it is lost or stored twice."""

import asyncio

import pytest

from yourtool.agent.history import space
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.space import SpaceWait
from yourtool.agent.history.state import State
from yourtool.errors import FullDiskError
from yourtool.events.sessions import SessionRenamed

TITLE = SessionRenamed(title="a title")


class SmallLog:
    """Stores facts while there is space."""

    def __init__(self) -> None:
        self.stored = []
        self.is_full = True

    async def append(self, *facts):
        if self.is_full:
            raise FullDiskError("the disk is full")
        self.stored += facts


class Shown:
    """What the user saw of the waiting."""

    def __init__(self, wait) -> None:
        self.changes = []
        self.changed = asyncio.Event()
        wait.on_change = self

    def __call__(self, is_waiting):
        self.changes.append(is_waiting)
        self.changed.set()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(space, "RETRY_SECONDS", 0.01)


@pytest.fixture
def wait():
    return SpaceWait()


@pytest.fixture
def log():
    return SmallLog()


@pytest.fixture
def record(log, wait):
    record = Recorder(log, "sess", State(), wait)
    record.turn_id = "turn"
    return record


async def test_write_of_a_turn_waits_for_space_and_is_stored_once(record, log, wait):
    shown = Shown(wait)
    writing = asyncio.create_task(record(TITLE))
    await shown.changed.wait()
    await asyncio.sleep(0.05)
    assert not writing.done()
    log.is_full = False
    fact = await writing
    assert log.stored == [fact]
    assert shown.changes == [True, False]


async def test_two_waiting_turns_are_one_notice(log, wait):
    shown, records = Shown(wait), [Recorder(log, name, State(), wait) for name in ("a", "b")]
    for record in records:
        record.turn_id = "turn"
    writing = [asyncio.create_task(record(TITLE)) for record in records]
    await asyncio.sleep(0.05)
    log.is_full = False
    await asyncio.gather(*writing)
    assert shown.changes == [True, False]


async def test_deferred_fact_waits_for_space_and_keeps_its_place(record, log, wait):
    Shown(wait)
    deferred = record.defer(TITLE)
    await asyncio.sleep(0.05)
    writing = asyncio.create_task(record(TITLE))
    await asyncio.sleep(0.05)
    log.is_full = False
    assert log.stored == []
    fact = await writing
    assert log.stored == [deferred, fact]


async def test_stopped_turn_does_not_wait_until_a_write_succeeds(record, log, wait):
    shown = Shown(wait)
    writing = asyncio.create_task(record(TITLE))
    await shown.changed.wait()
    record.stop_waiting()
    with pytest.raises(FullDiskError):
        await writing
    with pytest.raises(FullDiskError):
        await record(TITLE)
    assert shown.changes == [True, False]
    log.is_full = False
    await record(TITLE)
    log.is_full = True
    shown.changed.clear()
    writing = asyncio.create_task(record(TITLE))
    await shown.changed.wait()
    log.is_full = False
    await writing


async def test_cancelled_write_does_not_wait(record, log, wait):
    shown = Shown(wait)
    writing = asyncio.create_task(record(TITLE))
    await shown.changed.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert log.stored == []


async def test_write_outside_of_a_turn_fails_at_once(record, wait):
    Shown(wait)
    record.turn_id = None
    with pytest.raises(FullDiskError):
        await record(TITLE)


async def test_write_fails_at_once_when_nothing_shows_the_reason(record):
    with pytest.raises(FullDiskError):
        await record(TITLE)
