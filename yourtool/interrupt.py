"""Interruption of a turn.

The pattern is that of `asyncio.timeout`: the waiting task is cancelled, and the guard undoes the
cancellation (`Task.uncancel`), so that the turn can store its end and yield its last events. A
cancellation from anywhere else passes through.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):  # noqa: N818 - a signal like CancelledError, not an error
    """The user stopped the turn during this wait, or before it."""


class Interrupt:
    """The stop request of one turn; `request` can be called from any task of the loop."""

    def __init__(self) -> None:
        self.requested = False
        self.is_leaving = False
        """True if the turn stops because the program ends, not because the user stopped it."""
        self.insisted = asyncio.Event()
        """Set by the second request."""
        self._waiting = set[asyncio.Task[object]]()

    def request(self, *, is_leaving: bool = False) -> bool:
        """Stop the turn; return False if it was requested already, which stops its workers too."""
        if self.requested:
            self.insisted.set()
            return False
        self.requested, self.is_leaving = True, is_leaving
        for task in self._waiting:
            task.cancel()
        return True

    async def wait_unless_insisted(self, work: Awaitable[object]) -> None:
        """Wait for `work`, or until the user asks a second time to stop; never cancels `work`."""
        insisted = asyncio.ensure_future(self.insisted.wait())
        try:
            waiting = {asyncio.ensure_future(work), insisted}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            insisted.cancel()

    def check(self) -> None:
        """Raise if the turn was stopped.

        Raises:
            Interrupted: the turn was stopped.
        """
        if self.requested:
            raise Interrupted

    async def guard(self, awaitable: Awaitable[T]) -> T:
        """Await `awaitable`, and cancel it if the turn is stopped first.

        Guards of one task do not nest.

        Raises:
            Interrupted: the turn was stopped.
        """
        task = asyncio.current_task()
        assert task is not None, "a guard needs a task"
        if self.requested:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()
            raise Interrupted
        self._waiting.add(task)
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self.requested and task.uncancel() == 0:
                raise Interrupted from None
            raise
        finally:
            self._waiting.discard(task)
