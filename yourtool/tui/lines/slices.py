"""Slices of long work."""

import asyncio
import time

SLICE_SECONDS = 0.008
"""Seconds that one slice may take."""
PAUSE_SECONDS = 0.005
"""Seconds between two slices; Textual runs queued callbacks without a pause."""


class Slices:
    """Measures the slices of a coroutine, which awaits `pause` when one `is_over`.

    slices = Slices()
    for item in items:
        process(item)
        if slices.is_over:
            await slices.pause()
    """

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._pause_seconds = pause_seconds
        self._end = time.monotonic() + SLICE_SECONDS

    @property
    def is_over(self) -> bool:
        """Whether the current slice took its time."""
        return time.monotonic() > self._end

    async def pause(self) -> None:
        """Let the event loop handle other work, and start the next slice."""
        await asyncio.sleep(self._pause_seconds)
        self._end = time.monotonic() + SLICE_SECONDS
