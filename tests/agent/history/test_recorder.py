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


async def test_facts_are_stored_in_their_order_if_a_late_write_begins_when_another_ends(
    record, log
):
    title = record.defer(TITLE)
    record._store_late()
    await asyncio.sleep(0)
    assert log.transactions == [(title,)]
    started = record.defer(STARTED)
    record._store_late()
    await asyncio.sleep(
        0
    )  # the first late write is over for all, and the second one does not run yet
    model = await record(MODEL)
    assert log.transactions == [(title,), (started,), (model,)]


async def test_deferred_fact_is_stored_before_the_next_one_in_its_transaction(record, log, state):
    title = record.defer(TITLE)
    assert state.title == "a title"
    assert log.transactions == []
    model = await record(MODEL, parent=title.id)
    assert log.transactions == [(title, model)]
    assert title.id < model.id
    assert state.facts == [title, model]


async def test_flush_stores_what_is_deferred(record, log):
    title = record.defer(TITLE)
    assert not record.is_stored
    await record.flush()
    assert record.is_stored
    assert log.transactions == [(title,)]
    await record.flush()
    assert log.transactions == [(title,)]


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
    assert record.is_stored


async def test_invalid_fact_is_not_deferred(record, log, state):
    with pytest.raises(StoreError):
        record.defer(replace(STARTED, estimated_input_tokens=-1))
    assert state.facts == []
    await record.flush()
    assert log.transactions == []


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def test_deferred_fact_is_stored_soon_if_no_other_fact_follows(record, log):
    title = record.defer(TITLE)
    await until(lambda: log.transactions)
    assert log.transactions == [(title,)]
    assert record.is_stored


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
    await flushing
    assert record.is_stored


async def test_late_write_that_fails_is_repeated_with_the_next_fact(record, log):
    log.is_full = True
    title = record.defer(TITLE)
    await until(lambda: log.is_storing)
    log.is_full = False
    model = await record(MODEL)
    assert log.transactions == [(title, model)]
    assert record.is_stored


async def test_begun_fact_is_stored_at_once_with_those_before_it(record, log, state):
    log.may_store.clear()
    title = record.defer(TITLE)
    model = await record.begin(MODEL)
    assert state.facts == [title, model]
    await until(lambda: log.is_storing)
    assert not record.is_stored
    log.may_store.set()
    await until(lambda: record.is_stored)
    assert log.transactions == [(title, model)]


async def test_only_one_begun_fact_is_stored_at_a_time(record, log):
    log.may_store.clear()
    title = await record.begin(TITLE)
    beginning = asyncio.create_task(record.begin(MODEL))
    await until(lambda: log.is_storing)
    assert not beginning.done()
    log.may_store.set()
    model = await beginning
    await until(lambda: record.is_stored)
    assert log.transactions == [(title,), (model,)]


async def test_begun_fact_that_cannot_be_stored_fails_the_next_one(record, log):
    log.is_full = True
    title = await record.begin(TITLE)
    await until(lambda: record.has_failed)
    with pytest.raises(StoreError):
        await record.begin(MODEL)
    log.is_full = False
    model = await record.begin(MODEL)
    await record.flush()
    assert log.transactions == [(title,), (model,)]
