"""What the user chooses for a session: its model and its reasoning effort.

A choice that is made during a turn is stored after it, so that no fact stands between those of the
turn that it has nothing to do with.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

from msgspec.structs import replace

from yourtool.agent.environment import SessionEnvironment
from yourtool.agent.recorder import Recorder
from yourtool.agent.state import State
from yourtool.deltas import Notice
from yourtool.errors import SwapRefusedError
from yourtool.events import (
    Event,
    SessionEffortSelected,
    SessionModelRefused,
    SessionModelSelected,
)
from yourtool.models import Effort


class Choices:
    """The choices of one session, those that wait included."""

    def __init__(
        self,
        state: State,
        record: Recorder,
        around: SessionEnvironment,
        is_busy: Callable[[], bool],
    ) -> None:
        """`is_busy`: whether a turn is running."""
        self._is_busy = is_busy
        self._state = state
        self._record = record
        self._around = around
        self._waiting: list[SessionEffortSelected | SessionModelRefused] = []
        if (chosen := state.effort) is not None:
            around.settings = replace(around.settings, effort=chosen.effort)

    async def select_model(
        self, name: str | None, *, in_words: bool
    ) -> AsyncGenerator[Event, None]:
        """Choose a model; see `Session.select`.

        Raises:
            UnknownModelError: no model, or several, have this name.
            SwapRefusedError: the model cannot take the session.
        """
        model_id = None
        if name is not None:
            routes = self._around.routes
            await routes.learn(routes.catalogue.resolve(name), again=True)
            try:
                target = await asyncio.to_thread(
                    routes.swap_target, name, self._state, in_words=in_words
                )
                model_id = target.id
            except SwapRefusedError as error:
                await self._refuse(error)
                raise
        in_words = in_words or bool(self._state.in_words_to and model_id == self._state.model)
        self._state.pending_model, self._state.pending_in_words = model_id or "", in_words
        if self._is_busy():
            text = f"Swap to {model_id} is pending; it applies to the next turn."
            if not model_id:
                text = "The default model is used from the next turn on."
            yield Notice(level="info", text=text)
            return
        async for fact in self.store():
            yield fact

    async def select_effort(self, level: Effort | None) -> AsyncGenerator[Event, None]:
        """Choose an effort; see `Session.select_effort`."""
        self._around.settings = replace(self._around.settings, effort=level)
        self._waiting.append(SessionEffortSelected(effort=level))
        async for fact in self.store():
            yield fact

    async def store(self) -> AsyncGenerator[Event, None]:
        """Store what waits, unless a turn is running."""
        if not self._is_busy():
            async for fact in self.store_now():
                yield fact

    async def store_now(self) -> AsyncGenerator[Event, None]:
        """Store what waits."""
        while self._waiting:
            yield await self._record(self._waiting.pop(0))
        if (pending := self._state.pending_model) is not None:
            in_words = self._state.pending_in_words
            chosen = SessionModelSelected(model=pending or None, media_in_words=in_words)
            yield await self._record(chosen)

    async def _refuse(self, error: SwapRefusedError) -> None:
        self._waiting.append(
            SessionModelRefused(model=error.model, validation_failure=error.code, reason=str(error))
        )
        async for _ in self.store():
            pass
