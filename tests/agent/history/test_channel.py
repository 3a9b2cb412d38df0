"""A coroutine continues while its facts are stored, and nothing is shown before they are."""

import asyncio
from contextlib import aclosing

import pytest

from tests.agent.history.test_recorder import MODEL, TITLE, Log, until
from yourtool.agent.history.channel import MAX_WAITING, Channel
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.errors import StoreError
from yourtool.events.deltas import TextDelta, ToolOutputDelta

DELTA = TextDelta(message_id="m", content_block_index=0, text="x")
OUTPUT = ToolOutputDelta(tool_use_id="t", text="x")


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def record(log):
    return Recorder(log, "sess", State())


@pytest.fixture
def channel(record):
    return Channel(record)


async def collect(channel, work, shown):
    """Collect what a coroutine emits in `shown`."""
    async with aclosing(channel.run(work)) as events:
        async for event in events:
            shown.append(event)


def showing(channel, work, shown):
    """Start to collect what a coroutine emits in `shown`."""
    return asyncio.create_task(collect(channel, work, shown))


async def test_source_continues_while_its_fact_is_stored_and_shows_nothing(channel, log):
    shown, is_ahead = [], asyncio.Event()

    async def work():
        await channel.begin(TITLE)
        await channel.emit(*[DELTA] * 2 * MAX_WAITING)
        is_ahead.set()
        await asyncio.Event().wait()

    log.may_store.clear()
    task = showing(channel, work, shown)
    await is_ahead.wait()
    assert shown == []
    log.may_store.set()
    await until(lambda: len(shown) == 1 + 2 * MAX_WAITING)
    assert [type(each).__name__ for each in shown[:2]] == ["SessionRenamed", "TextDelta"]
    task.cancel()
    await asyncio.wait([task])


async def test_events_keep_their_order_among_several_writes(channel, record, log):
    shown, given = [], []

    async def work():
        for number in range(20):
            given.append(await channel.begin(TITLE))
            delta = TextDelta(message_id="m", content_block_index=number, text="a")
            given.append(delta)
            await channel.emit(delta)
            given.append(await channel.defer(MODEL))
            if number % 5 == 4:
                given.append(await channel.record(TITLE))
            await asyncio.sleep(0.001 * (number % 3))

    await collect(channel, work, shown)
    assert shown == given
    assert record.is_stored
    stored = [fact for transaction in log.transactions for fact in transaction]
    assert stored == [each for each in given if not isinstance(each, TextDelta)]


async def test_fact_of_a_source_that_waits_is_shown_when_it_is_stored(channel):
    shown = []

    async def work():
        await channel.defer(TITLE)
        await asyncio.Event().wait()

    task = showing(channel, work, shown)
    await until(lambda: shown)
    task.cancel()
    await asyncio.wait([task])


async def test_error_of_the_source_follows_its_events(channel):
    shown = []

    async def work():
        await channel.defer(TITLE)
        await channel.emit(DELTA)
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await collect(channel, work, shown)
    assert len(shown) == 2


async def test_nothing_is_shown_if_the_fact_before_it_cannot_be_stored(channel, log):
    shown, ended = [], asyncio.Event()

    async def work():
        try:
            await channel.begin(TITLE)
            await channel.emit(DELTA)
            await asyncio.Event().wait()
        finally:
            ended.set()

    log.is_full = True
    with pytest.raises(StoreError):
        await collect(channel, work, shown)
    assert shown == []
    assert ended.is_set()


async def test_source_that_runs_ahead_is_stopped_with_the_consumer(channel, record, log):
    reached, ended = asyncio.Event(), asyncio.Event()

    async def work():
        try:
            await channel.begin(TITLE)
            reached.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    log.may_store.clear()
    task = showing(channel, work, [])
    await reached.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() and ended.is_set()
    log.may_store.set()
    await record.flush()


async def test_closing_the_stream_stops_the_source_and_waits_for_its_end(channel):
    ended = []

    async def work():
        try:
            while True:
                await channel.emit(DELTA)
        finally:
            await asyncio.sleep(0.01)
            await channel.emit(*[DELTA] * 2 * MAX_WAITING)  # no one reads them
            ended.append(True)

    async with aclosing(channel.run(work)) as events:
        assert await anext(events) == DELTA
    assert ended


async def test_error_while_a_closed_source_ends_is_raised(channel):
    async def work():
        try:
            await channel.emit(DELTA, DELTA)
            await asyncio.Event().wait()
        finally:
            raise ValueError("a bug")

    events = channel.run(work)
    await anext(events)
    with pytest.raises(ValueError, match="a bug"):
        await events.aclose()


async def test_error_of_a_source_is_raised_if_its_events_cannot_be_stored(channel, log):
    async def work():
        await channel.defer(TITLE)
        raise ValueError("a bug")

    log.is_full = True
    with pytest.raises(ValueError, match="a bug") as caught:
        await collect(channel, work, [])
    assert isinstance(caught.value.__context__, StoreError)


async def test_source_waits_for_a_slow_front_end(channel):
    emitted = []

    async def work():
        for number in range(5 * MAX_WAITING):
            await channel.emit(DELTA)
            emitted.append(number)

    taken = 0
    async with aclosing(channel.run(work)) as events:
        async for _ in events:
            taken += 1
            await asyncio.sleep(0)
            assert len(emitted) <= taken + MAX_WAITING
    assert taken == len(emitted) == 5 * MAX_WAITING


async def test_several_tasks_emit_to_one_channel(channel):
    shown = []

    async def work():
        async def emit(name):
            for number in range(3 * MAX_WAITING):
                channel.post(ToolOutputDelta(tool_use_id=name, text=str(number)))
                await channel.emit(ToolOutputDelta(tool_use_id=name, text=str(number)))

        await asyncio.gather(emit("a"), emit("b"))

    await collect(channel, work, shown)
    for name in "ab":
        texts = [int(each.text) for each in shown if each.tool_use_id == name]
        assert texts == sorted([*range(3 * MAX_WAITING)] * 2)


async def test_question_waits_until_everything_is_shown(channel):
    shown, asked = [], []

    async def work():
        await channel.defer(TITLE)
        await channel.emit(DELTA)
        await channel.wait_shown()
        asked.append(list(shown))

    async with aclosing(channel.run(work)) as events:
        async for event in events:
            await asyncio.sleep(0.002)
            shown.append(event)
    assert asked == [shown]
    assert len(shown) == 2


async def test_channel_that_nothing_reads_stores_and_shows_nothing(channel, log):
    channel.post(OUTPUT)
    title = await channel.record(TITLE)
    await channel.emit(*[DELTA] * 2 * MAX_WAITING, MODEL)
    await channel.wait_shown()
    shown = []

    async def work():
        await channel.emit(DELTA)

    await collect(channel, work, shown)
    assert shown == [DELTA]
    assert [len(each) for each in log.transactions] == [1, 1]
    assert log.transactions[0] == (title,)
