"""Recorder of facts."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

from msgspec.structs import replace

from yourtool.agent.history.space import SpaceWait
from yourtool.agent.history.state import State
from yourtool.errors import StoreError
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import LlmCallFailed
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.store.validation import require_valid_fact, require_valid_message

F = TypeVar("F", bound=AnyFact)

DEFERRED_SECONDS = 0.02
"""Time after which a deferred fact is stored, if no other fact follows it."""


class FactLog(Protocol):
    """A log that stores facts."""

    async def append(self, *facts: AnyFact) -> None:
        """Store all facts durably, or raise and store none."""
        ...

    async def save_partial(self, end: LlmCallFailed) -> None:
        """Store the part of a reply that has arrived, as the fact that would end its call now."""
        ...

    async def replay(self, session_id: str, callback: Callable[[AnyFact], object]) -> object:
        """Call `callback` with each stored fact of a session, possibly in another thread."""
        ...


class Recorder:
    """Records facts of one session; nothing else adds facts to it.

    Each transaction of the log waits for the disk. A fact that need not be stored at once is
    deferred: it is stored in the transaction of the next one, but at most 20 ms later. `begin`
    starts to store a fact while the turn continues, but only one such write runs at a time.
    A `Channel` holds back what follows these facts. On a full disk, a write of a turn waits for
    space until `stop_waiting`.
    """

    def __init__(
        self, log: FactLog, session_id: str, state: State, space: SpaceWait | None = None
    ) -> None:
        """Without `space`, a write fails at once on a full disk."""
        self._log = log
        self.session_id = session_id
        self._state = state
        self._space = space
        self._stopped = asyncio.Event()
        self._deferred: tuple[AnyFact, ...] = ()
        self._failed: tuple[AnyFact, ...] = ()
        """Deferred facts that could not be stored; older than all others."""
        self.deferred = self.stored = 0
        """How many facts were deferred, and how many of these are stored."""
        self._written = asyncio.Event()
        """Set, and replaced, after each write of deferred facts, if it succeeded or not."""
        self._timer: asyncio.TimerHandle | None = None
        self._late: asyncio.Task[None] | None = None
        """Stores what was deferred when its time is over."""
        self.turn_id: str | None = None
        """Set on every fact of the running turn."""

    async def __call__(self, fact: F, *, parent: str | None = None) -> F:
        """Store `fact` with the event id of its `parent`, apply it, and return it as stored.

        Deferred facts are stored with it, all or none.

        Raises:
            StoreError: the fact could not be stored; nothing changed.
        """
        stamped = self._stamp(fact, parent)
        await self._store(stamped)
        return stamped

    def defer(self, fact: F, *, parent: str | None = None) -> F:
        """Apply `fact`, store it with the next one or soon, and return it as it will be stored.

        It must not be shown before it is stored. If it cannot be stored, it stays deferred.

        Raises:
            StoreError: the fact is invalid; nothing changed.
        """
        stamped = self._stamp(fact, parent)
        require_valid_fact(stamped)
        if (message := message_of(stamped)) is not None:
            require_valid_message(stamped, message, ())
        self._deferred += (stamped,)
        self.deferred += 1
        self._state.apply(stamped)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DEFERRED_SECONDS, self._store_late)
        return stamped

    async def begin(self, fact: F, *, parent: str | None = None) -> F:
        """As `defer`, but start to store it at once, after a write that still runs.

        Raises:
            StoreError: the fact is invalid, or the last facts could not be stored.
        """
        while self._late is not None:
            await asyncio.wait([self._late])
        if self._failed:
            await self._store()
        stamped = self.defer(fact, parent=parent)
        if self._timer is not None:
            self._timer.cancel()
        self._store_late()
        return stamped

    async def checkpoint(self, end: LlmCallFailed) -> None:
        """Store the part of a reply that has arrived; without space it is not stored."""
        with suppress(StoreError):
            await self._log.save_partial(self._stamp(end, None))

    async def replay(self, callback: Callable[[AnyFact], object]) -> None:
        """Call `callback` with each stored fact of the session, possibly in another thread."""
        await self._log.replay(self.session_id, callback)

    def stop_waiting(self) -> None:
        """Let a write that waits for space fail, and the next ones too until one succeeds."""
        self._stopped.set()

    @property
    def is_stored(self) -> bool:
        """Whether all deferred facts are stored."""
        return self.stored == self.deferred

    @property
    def has_failed(self) -> bool:
        """Whether deferred facts could not be stored."""
        return bool(self._failed)

    async def wait_stored(self, count: int) -> None:
        """Wait until the first `count` facts that were deferred are stored.

        Raises:
            StoreError: they could not be stored, not even by a second write.
        """
        while self.stored < count:
            if self.has_failed:
                await self._store()
            else:
                await self._written.wait()

    async def flush(self) -> None:
        """Store what is deferred.

        Raises:
            StoreError: the facts could not be stored.
        """
        if not self.is_stored:
            await self._store()

    def _stamp(self, fact: F, parent: str | None) -> F:
        return replace(
            fact,
            id=new_id(),
            timestamp=now(),
            session_id=self.session_id,
            turn_id=self.turn_id,
            parent_event_id=parent,
        )

    def _store_late(self) -> None:
        self._timer = None
        self._late = self._start_writing()
        self._late.add_done_callback(self._end_late)

    def _end_late(self, late: asyncio.Task[None]) -> None:
        if self._late is late:  # the next one can be running, and what follows waits for that
            self._late = None
        if not late.cancelled():
            late.exception()  # of no interest: the next fact is stored with them, or reports it

    async def _store(self, *facts: AnyFact) -> None:
        writing = self._start_writing(*facts)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            self.stop_waiting()
            raise
        finally:
            # Cancelling the caller does not stop the write, and the state must include every fact
            # that is stored.
            if not writing.done():
                await asyncio.wait([writing])

    def _start_writing(self, *facts: AnyFact) -> asyncio.Task[None]:
        """Start to store what is deferred, then `facts`, after a late write that still runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deferred, self._deferred = self._deferred, ()
        return asyncio.create_task(self._write(self._late, deferred, facts))

    async def _write(
        self,
        late: asyncio.Task[None] | None,
        deferred: tuple[AnyFact, ...],
        facts: tuple[AnyFact, ...],
    ) -> None:
        if late is not None:
            await asyncio.wait([late])
        deferred, self._failed = self._failed + deferred, ()
        try:
            if deferred or facts:
                await self._append(*deferred, *facts)
        except BaseException:
            self._failed = deferred + self._failed
            raise
        else:
            self.stored += len(deferred)
            for fact in facts:
                self._state.apply(fact)
        finally:
            if deferred:
                self._written.set()
                self._written = asyncio.Event()

    async def _append(self, *facts: AnyFact) -> None:
        if self._space is None or self.turn_id is None:
            await self._log.append(*facts)
        else:
            await self._space.write(partial(self._log.append, *facts), self._stopped)
        self._stopped.clear()
