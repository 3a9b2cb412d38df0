import asyncio

import pytest

from yourtool.interrupt import Interrupt, Interrupted


async def test_a_stopped_turn_stops_waiting_and_continues():
    interrupt, cleaned = Interrupt(), []

    async def wait():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    async def turn():
        with pytest.raises(Interrupted):
            await interrupt.guard(wait())
        await asyncio.sleep(0)
        return "books closed"

    task = asyncio.create_task(turn())
    await asyncio.sleep(0)
    assert interrupt.request()
    assert await task == "books closed"
    assert cleaned == [True]
    assert task.cancelling() == 0


async def test_a_turn_is_stopped_once():
    interrupt = Interrupt()
    assert [interrupt.request(), interrupt.request()] == [True, False]
    with pytest.raises(Interrupted):
        interrupt.check()


async def test_nothing_starts_after_the_stop():
    interrupt, begun = Interrupt(), []

    async def work():
        begun.append(True)

    interrupt.request()
    with pytest.raises(Interrupted):
        await interrupt.guard(work())
    assert begun == []


async def test_a_wait_that_ends_normally_returns_its_value_or_raises_its_error():
    interrupt = Interrupt()
    assert await interrupt.guard(asyncio.sleep(0, "value")) == "value"

    async def failing():
        raise ValueError("own error")

    with pytest.raises(ValueError, match="own error"):
        await interrupt.guard(failing())
    interrupt.check()


async def test_a_stop_between_two_waits_interrupts_the_next():
    interrupt = Interrupt()
    await interrupt.guard(asyncio.sleep(0))
    interrupt.request()
    with pytest.raises(Interrupted):
        await interrupt.guard(asyncio.sleep(0))


async def test_a_cancellation_from_elsewhere_passes_through():
    interrupt = Interrupt()
    task = asyncio.create_task(interrupt.guard(asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_together_with_a_stop_wins():
    interrupt = Interrupt()
    task = asyncio.create_task(interrupt.guard(asyncio.Event().wait()))
    await asyncio.sleep(0)
    interrupt.request()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stop_at_the_moment_of_the_result_is_a_stop():
    interrupt, result = Interrupt(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(interrupt.guard(result))
    await asyncio.sleep(0)
    result.set_result("value")
    interrupt.request()
    with pytest.raises(Interrupted):
        await task
    assert task.cancelling() == 0
