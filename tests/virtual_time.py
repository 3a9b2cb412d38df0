"""An event loop whose clock jumps to the next timer whenever nothing else is left to do.

Hours of pauses take seconds, and the order of timers is that of a machine without load.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from textual import _time

from tests.tui.pilot_helpers import threads_work

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Advances the time instead of waiting, unless a thread has something to deliver."""

    now = 0.0
    STEP_SECONDS = 1e-5
    """Time that a round of callbacks takes."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        self.now += self.STEP_SECONDS
        if found or (timeout is not None and timeout <= 0):
            return found
        if timeout is None or threads_work():
            return super().select(0.001)
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time` is virtual."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._jumping.now


def run_in_virtual_time(monkeypatch: pytest.MonkeyPatch, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; also Textual's timers use the virtual time."""
    loop = VirtualLoop()
    monkeypatch.setattr(_time, "get_time", loop.time)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
