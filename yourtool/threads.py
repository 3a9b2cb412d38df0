"""Threads for blocking calls, of which one that never returns does not keep the program open.

The event loop of asyncio waits at its end until all its threads have returned. One that reads a
dead network file system would keep it waiting for ever.
"""

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
