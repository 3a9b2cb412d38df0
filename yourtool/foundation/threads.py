"""Threads for blocking calls.

At its end, the event loop of asyncio waits until all calls in its threads have returned. A call
that reads a dead network disk never does.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import cast

SECONDS = 2.0
"""How long the end of the program waits for calls that still run."""


class BoundedThreads(ThreadPoolExecutor):
    """An executor whose end waits for a limited time."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads; with `wait`, wait up to `SECONDS` for the calls that they run."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        deadline = time.monotonic() + SECONDS
        for thread in cast("set[Thread]", self._threads) if wait else ():
            thread.join(max(0.0, deadline - time.monotonic()))


def use_bounded_threads() -> None:
    """Let the running event loop make its blocking calls in `BoundedThreads`."""
    asyncio.get_running_loop().set_default_executor(BoundedThreads(thread_name_prefix="calls"))
