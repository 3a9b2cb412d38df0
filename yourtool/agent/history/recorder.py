"""Records facts: completes the envelope, stores the fact, then applies and returns it."""

import asyncio
from collections.abc import Sequence
from typing import Protocol, TypeVar

from msgspec.structs import replace

from yourtool.agent.history.state import State
from yourtool.events.catalog import AnyFact, message_of
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.store.validation import require_valid_fact, require_valid_message

F = TypeVar("F", bound=AnyFact)


class FactLog(Protocol):
    """A log that stores facts."""

    async def append(self, *facts: AnyFact) -> None:
        """Store all facts durably, or raise and store none."""
        ...


class Recorder:
    """Records facts of one session; nothing else adds facts to it.

    Each transaction of the log waits for the disk. A fact that need not be stored at once is
    deferred: it is stored in the transaction of the next one, and shown after that.
    """

    def __init__(self, log: FactLog, session_id: str, state: State) -> None:
        self._log = log
        self._session_id = session_id
        self._state = state
        self._deferred: tuple[AnyFact, ...] = ()
        self._unshown: tuple[AnyFact, ...] = ()
        """Facts that were deferred and are stored now."""
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
        """Apply `fact`, store it with the next one, and return it as it will be stored.

        It is not shown before `flush` returns it. If it cannot be stored, it stays deferred.

        Raises:
            StoreError: the fact is invalid; nothing changed.
        """
        stamped = self._stamp(fact, parent)
        require_valid_fact(stamped)
        if (message := message_of(stamped)) is not None:
            require_valid_message(stamped, message, ())
        self._deferred += (stamped,)
        self._state.apply(stamped)
        return stamped

    @property
    def has_deferred(self) -> bool:
        """Whether a fact waits for the next one."""
        return bool(self._deferred)

    async def flush(self) -> Sequence[AnyFact]:
        """Store what is deferred, and return what was deferred and stored since the last call.

        Raises:
            StoreError: the facts could not be stored.
        """
        if self._deferred:
            await self._store()
        unshown, self._unshown = self._unshown, ()
        return unshown

    def _stamp(self, fact: F, parent: str | None) -> F:
        return replace(
            fact,
            id=new_id(),
            timestamp=now(),
            session_id=self._session_id,
            turn_id=self.turn_id,
            parent_event_id=parent,
        )

    async def _store(self, *facts: AnyFact) -> None:
        deferred, self._deferred = self._deferred, ()
        writing = asyncio.ensure_future(self._log.append(*deferred, *facts))
        try:
            await asyncio.shield(writing)
        finally:
            # Cancelling the caller does not stop the write, and the state must include every fact
            # that is stored.
            if not writing.done():
                await asyncio.wait([writing])
            if writing.exception() is None:
                self._unshown += deferred
                for fact in facts:
                    self._state.apply(fact)
            else:
                self._deferred = deferred + self._deferred
