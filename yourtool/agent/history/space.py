"""Waiting for space on a full disk.

A turn pauses with its data in memory, and continues when there is space.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from yourtool.errors import FullDiskError

RETRY_SECONDS = 1.0


class SpaceWait:
    """Repeats writes until there is space for them; shared by the sessions of a runtime."""

    def __init__(self) -> None:
        self.on_change: Callable[[bool], object] | None = None
        """Called with True when the first write waits, and with False when none does.

        Without it, nothing shows the reason, and writes fail at once.
        """
        self._waiting: set[asyncio.Event] = set()

    async def write(self, write: Callable[[], Awaitable[None]], stopped: asyncio.Event) -> None:
        """Call `write` until the disk has space for it, or until `stopped` is set.

        Raises:
            FullDiskError: the disk is full, and `stopped` is set or nothing shows the reason.
        """
        try:
            while True:
                try:
                    return await write()
                except FullDiskError:
                    if stopped.is_set() or self.on_change is None:
                        raise
                    self._start_waiting(stopped, self.on_change)
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_SECONDS):
                        await stopped.wait()
        finally:
            self._stop_waiting(stopped)

    def _start_waiting(self, stopped: asyncio.Event, show: Callable[[bool], object]) -> None:
        if not self._waiting:
            show(True)
        self._waiting.add(stopped)

    def _stop_waiting(self, stopped: asyncio.Event) -> None:
        if stopped in self._waiting:
            self._waiting.remove(stopped)
            if not self._waiting and self.on_change is not None:
                self.on_change(False)
