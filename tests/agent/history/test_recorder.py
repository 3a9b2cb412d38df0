"""Deferred facts share a transaction with the next fact, and are shown when they are stored."""

import asyncio

import pytest
from msgspec.structs import replace

from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.errors import StoreError
from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.sessions import SessionModelSelected, SessionRenamed

TITLE, MODEL = SessionRenamed(title="a title"), SessionModelSelected(model="openai:gpt-5")
STARTED = LlmCallStarted(
    model="openai:gpt-5", provider="openai", estimated_input_tokens=1, request_id="r"
)


class Log:
    """Keeps what each transaction stored; fails while the disk is full."""

    def __init__(self) -> None:
        self.transactions = []
        self.is_full = False
        self.is_storing = False
        self.may_store = asyncio.Event()
        self.may_store.set()

    async def append(self, *facts):
        self.is_storing = True
        await self.may_store.wait()
        if self.is_full:
            raise StoreError("the disk is full")
        self.transactions.append(facts)


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def state():
    return State()


@pytest.fixture
def record(log, state):
    return Recorder(log, "sess", state)


async def test_deferred_fact_is_stored_before_the_next_one_in_its_transaction(record, log, state):
    title = record.defer(TITLE)
    assert state.title == "a title"
    assert log.transactions == []
    model = await record(MODEL, parent=title.id)
    assert log.transactions == [(title, model)]
    assert title.id < model.id
    assert state.facts == [title, model]


async def test_deferred_fact_is_returned_once_and_only_after_it_was_stored(record, log):
    title = record.defer(TITLE)
    await record(MODEL)
    assert await record.flush() == (title,)
    assert await record.flush() == ()
    again = record.defer(TITLE)
    assert await record.flush() == (again,)
    assert log.transactions[-1] == (again,)


async def test_flush_without_a_deferred_fact_stores_nothing(record, log):
    assert await record.flush() == ()
    assert log.transactions == []


async def test_deferred_facts_that_could_not_be_stored_are_stored_with_the_next_fact(
    record, log, state
):
    log.is_full = True
    title = record.defer(TITLE)
    with pytest.raises(StoreError):
        await record(MODEL)
    with pytest.raises(StoreError):
        await record.flush()
    assert state.model is None
    log.is_full = False
    model = await record(MODEL)
    assert log.transactions == [(title, model)]
    assert state.facts == [title, model]
    assert await record.flush() == (title,)


async def test_invalid_fact_is_not_deferred(record, log, state):
    with pytest.raises(StoreError):
        record.defer(replace(STARTED, estimated_input_tokens=-1))
    assert state.facts == []
    assert await record.flush() == ()


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def test_deferred_fact_is_stored_soon_if_no_other_fact_follows(record, log):
    title = record.defer(TITLE)
    await until(lambda: log.transactions)
    assert log.transactions == [(title,)]
    assert record.has_unshown
    assert await record.flush() == (title,)
    assert not record.has_unshown
    assert log.transactions == [(title,)]


async def test_fact_waits_for_a_late_write_that_still_runs(record, log, state):
    log.may_store.clear()
    title = record.defer(TITLE)
    await until(lambda: log.is_storing)
    storing = asyncio.create_task(record(MODEL))
    flushing = asyncio.create_task(record.flush())
    log.may_store.set()
    model = await storing
    assert log.transactions == [(title,), (model,)]
    assert state.facts == [title, model]
    assert await flushing == (title,)


async def test_late_write_that_fails_is_repeated_with_the_next_fact(record, log):
    log.is_full = True
    title = record.defer(TITLE)
    await until(lambda: log.is_storing)
    log.is_full = False
    model = await record(MODEL)
    assert log.transactions == [(title, model)]
    assert await record.flush() == (title,)
