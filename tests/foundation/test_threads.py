"""A call that never returns does not keep the program open."""

import asyncio
import threading
import time

from yourtool.foundation import threads
from yourtool.foundation.threads import use_bounded_threads


def test_the_event_loop_ends_although_a_call_never_returns(monkeypatch):
    monkeypatch.setattr(threads, "SECONDS", 0.1)
    stuck = threading.Event()

    async def run():
        use_bounded_threads()
        call = asyncio.ensure_future(asyncio.to_thread(stuck.wait, 30))
        await asyncio.sleep(0.01)
        call.cancel()

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 10
    stuck.set()


def test_a_call_that_returns_soon_is_awaited():
    done = list[str]()

    async def run():
        use_bounded_threads()
        asyncio.get_running_loop().run_in_executor(
            None, lambda: (time.sleep(0.05), done.append("written"))
        )

    asyncio.run(run())
    assert done == ["written"]
