import asyncio
import re
import subprocess
import threading
import time

import pytest

from tests.loop_watchdog import LIMIT, LoopBlockedError, fail_if_blocked


def burn(seconds: float) -> None:
    """Use the processor for some time, however busy the machine is."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_a_busy_loop_in_a_coroutine_is_found_with_its_stack():
    burn(LIMIT + 0.1)
    await asyncio.sleep(0)
    with pytest.raises(LoopBlockedError, match=r"(?s)blocked for \d+ ms, in\n.*in burn"):
        fail_if_blocked()


async def test_a_sleep_in_a_coroutine_is_found_with_its_stack():
    time.sleep(0.4)  # noqa: ASYNC251  # what the watchdog is for
    await asyncio.sleep(0)
    with pytest.raises(LoopBlockedError, match=r"(?s)blocked for \d+ ms, in\n.*time\.sleep\(0\.4"):
        fail_if_blocked()


@pytest.mark.remaining
async def test_a_call_that_holds_the_interpreter_lock_is_found():
    started, size = time.thread_time(), 24
    while time.thread_time() - started < LIMIT + 0.1:
        started, size = time.thread_time(), size + 1
        re.fullmatch("(a|a)*b", "a" * size)
    await asyncio.sleep(0)
    with pytest.raises(LoopBlockedError, match="blocked for"):
        fail_if_blocked()


async def test_waiting_and_work_in_small_parts_do_not_block():
    for _ in range(10):
        burn(0.03)
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    await asyncio.to_thread(time.sleep, 0.05)
    fail_if_blocked()


async def test_a_thread_that_gets_no_processor_does_not_block():
    class Late(threading.Thread):
        def _bootstrap(self) -> None:
            time.sleep(LIMIT + 0.2)
            super()._bootstrap()

    (late := Late(target=lambda: None)).start()
    await asyncio.sleep(0)
    fail_if_blocked()
    late.join()


async def test_a_program_that_a_test_runs_does_not_block():
    subprocess.run(["sleep", str(LIMIT + 0.2)], check=True)  # noqa: ASYNC221
    await asyncio.sleep(0)
    fail_if_blocked()


def test_a_loop_of_the_program_itself_is_watched():
    async def block() -> None:
        burn(LIMIT + 0.1)
        await asyncio.sleep(0)

    asyncio.run(block())
    with pytest.raises(LoopBlockedError, match="in burn"):
        fail_if_blocked()


def test_the_last_thing_that_a_loop_does_is_watched_and_what_follows_is_not():
    async def block(seconds: float) -> None:
        burn(seconds)

    with asyncio.Runner() as runner:
        runner.run(block(0.01))
        burn(LIMIT + 0.1)
        runner.run(block(0.01))
        fail_if_blocked()
        runner.run(block(LIMIT + 0.1))
        with pytest.raises(LoopBlockedError, match="in burn"):
            fail_if_blocked()
