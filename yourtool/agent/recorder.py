"""Writes facts down: stamps the envelope, stores, and only then lets anybody see."""

import asyncio
from typing import Protocol, TypeVar

from msgspec.structs import replace

from yourtool.agent.state import State
from yourtool.events import AnyFact
from yourtool.ids import new_id
from yourtool.messages import now

F = TypeVar("F", bound=AnyFact)


class FactLog(Protocol):
    """Where facts are stored."""

    async def append(self, *facts: AnyFact) -> None:
        """Store durably, or raise and store nothing."""
        ...


class Recorder:
    """The one way a fact comes into a session."""

    def __init__(self, log: FactLog, session_id: str, state: State) -> None:
        self._log = log
        self._session_id = session_id
        self._state = state
        self.turn_id: str | None = None
        """Stamped on every fact of the running turn."""

    async def __call__(self, fact: F, *, parent: str | None = None) -> F:
        """Store `fact` under `parent` (an event id), apply it, and return it as stored.

        Raises:
            StoreError: it could not be stored; nothing changed.
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
            # A write that has begun will end whether or not anybody still waits for it, and what
            # is stored must be in the state.
            if not writing.done():
                await asyncio.wait([writing])
            if writing.exception() is None:
                self._state.apply(stamped)
        return stamped
