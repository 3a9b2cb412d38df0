"""A turn continues while its facts are stored, and nothing is shown before they are."""

import asyncio
from contextlib import aclosing

import pytest

from tests.agent.history.test_recorder import MODEL, TITLE, Log, until
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.history.storing_order import show_stored
from yourtool.errors import StoreError
from yourtool.events.deltas import TextDelta

DELTA = TextDelta(message_id="m", content_block_index=0, text="x")


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def record(log):
    return Recorder(log, "sess", State())


def showing(source, record, shown):
    """Start to collect the events of a source in `shown`."""

    async def collect():
        async with aclosing(show_stored(source, record)) as stored:
            async for event in stored:
                shown.append(event)

    return asyncio.create_task(collect())


async def test_source_continues_while_its_fact_is_stored_and_shows_nothing(record, log):
    shown, is_ahead = [], asyncio.Event()

    async def source():
        yield await record.begin(TITLE)
        yield DELTA
        is_ahead.set()
        await asyncio.Event().wait()

    log.may_store.clear()
    task = showing(source(), record, shown)
    await is_ahead.wait()
    assert shown == []
    log.may_store.set()
    await until(lambda: len(shown) == 2)
    assert [type(each).__name__ for each in shown] == ["SessionRenamed", "TextDelta"]
    task.cancel()
    await asyncio.wait([task])


async def test_events_keep_their_order_among_several_writes(record, log):
    shown, given = [], []

    async def source():
        for number in range(20):
            given.append(await record.begin(TITLE))
            yield given[-1]
            for fact in (
                TextDelta(message_id="m", content_block_index=number, text="a"),
                record.defer(MODEL),
            ):
                given.append(fact)
                yield fact
            if number % 5 == 4:
                given.append(await record(TITLE))
                yield given[-1]
            await asyncio.sleep(0.001 * (number % 3))

    await showing(source(), record, shown)
    assert shown == given
    assert record.is_stored
    stored = [fact for transaction in log.transactions for fact in transaction]
    assert stored == [each for each in given if not isinstance(each, TextDelta)]


async def test_fact_of_a_source_that_waits_is_shown_when_it_is_stored(record):
    shown = []

    async def source():
        yield record.defer(TITLE)
        await asyncio.Event().wait()

    task = showing(source(), record, shown)
    await until(lambda: shown)
    task.cancel()
    await asyncio.wait([task])


async def test_error_of_the_source_follows_its_events(record):
    shown = []

    async def source():
        yield record.defer(TITLE)
        yield DELTA
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await showing(source(), record, shown)
    assert len(shown) == 2


async def test_nothing_is_shown_if_the_fact_before_it_cannot_be_stored(record, log):
    shown, ended = [], asyncio.Event()

    async def source():
        try:
            yield await record.begin(TITLE)
            yield DELTA
            await asyncio.Event().wait()
        finally:
            ended.set()

    log.is_full = True
    with pytest.raises(StoreError):
        await showing(source(), record, shown)
    assert shown == []
    assert ended.is_set()


async def test_source_that_runs_ahead_is_stopped_with_the_consumer(record, log):
    reached, ended = asyncio.Event(), asyncio.Event()

    async def source():
        try:
            yield await record.begin(TITLE)
            reached.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    log.may_store.clear()
    task = showing(source(), record, [])
    await reached.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() and ended.is_set()
    log.may_store.set()
    await record.flush()
