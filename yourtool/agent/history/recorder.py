"""Records facts: completes the envelope, stores the fact, then applies and returns it."""

import asyncio
from typing import Protocol, TypeVar

from msgspec.structs import replace

from yourtool.agent.history.state import State
from yourtool.events.catalog import AnyFact
from yourtool.ids import new_id
from yourtool.messages.message import now

F = TypeVar("F", bound=AnyFact)


class FactLog(Protocol):
    """A log that stores facts."""

    async def append(self, *facts: AnyFact) -> None:
        """Store all facts durably, or raise and store none."""
        ...


class Recorder:
    """Records facts of one session; nothing else adds facts to it."""

    def __init__(self, log: FactLog, session_id: str, state: State) -> None:
        self._log = log
        self._session_id = session_id
        self._state = state
        self.turn_id: str | None = None
        """Set on every fact of the running turn."""

    async def __call__(self, fact: F, *, parent: str | None = None) -> F:
        """Store `fact` with the event id of its `parent`, apply it, and return it as stored.

        Raises:
            StoreError: the fact could not be stored; nothing changed.
        """
        stamped = replace(
            fact,
            id=new_id(),
            timestamp=now(),
            session_id=self._session_id,
            turn_id=self.turn_id,
            parent_event_id=parent,
        )
        writing = asyncio.ensure_future(self._log.append(stamped))
        try:
            await asyncio.shield(writing)
        finally:
            # Cancelling the caller does not stop the write, and the state must include every fact
            # that is stored.
            if not writing.done():
                await asyncio.wait([writing])
            if writing.exception() is None:
                self._state.apply(stamped)
        return stamped
