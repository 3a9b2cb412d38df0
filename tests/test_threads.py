"""A call that never returns does not keep the program open."""

import asyncio
import threading
import time

from yourtool import threads
from yourtool.threads import BoundedThreads


def test_the_event_loop_ends_although_a_call_never_returns(monkeypatch):
    monkeypatch.setattr(threads, "SECONDS", 0.1)
    stuck = threading.Event()

    async def run():
        asyncio.get_running_loop().set_default_executor(BoundedThreads())
        with stuck_call():
            await asyncio.sleep(0.01)

    def stuck_call():
        call = asyncio.ensure_future(asyncio.to_thread(stuck.wait, 30))
        return _Cancelled(call)

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 10
    stuck.set()


class _Cancelled:
    def __init__(self, call):
        self.call = call

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call.cancel()


def test_a_call_that_returns_soon_is_awaited():
    done = list[str]()

    async def run():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(BoundedThreads())
        loop.run_in_executor(None, lambda: (time.sleep(0.05), done.append("written")))

    asyncio.run(run())
    assert done == ["written"]
