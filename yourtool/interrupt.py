"""Stopping a turn: one request that reaches whatever the turn is waiting for.

The pattern is that of `asyncio.timeout`: the waiting task is cancelled, and the cancellation is
taken back (`Task.uncancel`) where the wait was guarded, so that the turn can close its books and
go on yielding. A cancellation from anywhere else passes through untouched.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):  # noqa: N818 - a signal like CancelledError, not an error
    """The user stopped the turn while this wait was in progress, or before it began."""


class Interrupt:
    """One per turn. `request` may be called from any task of the loop, at any moment."""

    def __init__(self) -> None:
        self.requested = False
        self._waiting: asyncio.Task[object] | None = None

    def request(self) -> bool:
        """Stop the turn; False if that was asked for already."""
        if self.requested:
            return False
        self.requested = True
        if self._waiting is not None:
            self._waiting.cancel()
        return True

    def check(self) -> None:
        """Raise if the turn was stopped.

        Raises:
            Interrupted: it was.
        """
        if self.requested:
            raise Interrupted

    async def guard(self, awaitable: Awaitable[T]) -> T:
        """Await `awaitable`, unless the turn is stopped first; it is cancelled then.

        Guards do not nest: one task waits for one thing.

        Raises:
            Interrupted: the turn was stopped.
        """
        task = asyncio.current_task()
        assert task is not None, "a guard is awaited inside a task"
        if self.requested:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()
            raise Interrupted
        self._waiting = task
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self.requested and task.uncancel() == 0:
                raise Interrupted from None
            raise
        finally:
            self._waiting = None
