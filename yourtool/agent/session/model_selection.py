"""Selected model and reasoning effort.

The preflight of a swap changes nothing; a selection can be made without it.

A selection during a turn is stored after the turn, so that the facts of the turn stay contiguous.
"""

import asyncio
from collections.abc import Callable

from yourtool.agent.history.channel import Channel, shows_events
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.routes.route_records import find_advice
from yourtool.agent.session import preflight
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.errors import SwapRefusedError, UsageError
from yourtool.events.deltas import Notice
from yourtool.events.sessions import (
    SessionEffortSelected,
    SessionModelRefused,
    SessionModelSelected,
)
from yourtool.events.turns import PatternOverrideDismissed, PolicyEvaluation, RouteOverridden
from yourtool.messages.message import now
from yourtool.models import Effort
from yourtool.providers.base import FileRoots


class ModelSelection:
    """The selections of one session, including pending ones."""

    def __init__(
        self,
        state: State,
        record: Recorder,
        env: SessionEnvironment,
        is_busy: Callable[[], bool],
    ) -> None:
        """`is_busy`: whether a turn is running."""
        self._is_busy = is_busy
        self._state = state
        self.record = record
        self._env = env
        self._pending: list[SessionEffortSelected | SessionModelRefused] = []
        if (chosen := state.effort) is not None:
            env.requests.effort = chosen.effort

    async def examine(self, name: str) -> "preflight.Preflight":
        """Return what a swap to a model would change.

        Raises:
            UnknownModelError: no model, or more than one, has this name.
        """
        env = self._env
        await env.routes.load_description(env.routes.catalogue.resolve(name), refresh=True)
        means = env.requests.registry, env.routes, env.requests.estimates
        preflights = preflight.Preflights(self._state, *means)
        settings = preflight.PreflightSettings(
            places=FileRoots(env.place.blobs, env.place.workspace.root),
            effort=env.requests.effort,
            thinking_on_swap=env.requests.thinking_on_swap,
            retention=env.requests.cache_retention,
            make_room_at=env.requests.context.make_room_at,
        )
        return await asyncio.to_thread(preflights.examine, name, settings, now())

    @shows_events
    async def select_model(
        self, channel: Channel, name: str | None, *, use_placeholders: bool
    ) -> None:
        """Select a model; see `Session.select_model`.

        Raises:
            UnknownModelError: no model, or more than one, has this name.
            SwapRefusedError: the model cannot continue the session.
        """
        await self._select_model(channel, name, use_placeholders=use_placeholders)

    async def _select_model(
        self, channel: Channel, name: str | None, *, use_placeholders: bool
    ) -> None:
        model_id = None
        if name is not None:
            routes = self._env.routes
            await routes.load_description(routes.catalogue.resolve(name), refresh=True)
            try:
                target = await asyncio.to_thread(
                    routes.swap_target, name, self._state, use_placeholders=use_placeholders
                )
                model_id = target.id
            except SwapRefusedError as error:
                await self._record_refusal(error)
                raise
        use_placeholders = use_placeholders or bool(
            self._state.placeholders_through and model_id == self._state.model
        )
        self._state.pending_model, self._state.pending_placeholders = (
            model_id or "",
            use_placeholders,
        )
        if self._is_busy():
            text = f"Swap to {model_id} is pending; it applies to the next turn."
            if not model_id:
                text = "The default model is used from the next turn on."
            await channel.emit(Notice(level="info", text=text))
            return
        await self.store_if_idle(channel)

    @shows_events
    async def override_route(self, channel: Channel) -> None:
        """Select the model that past turns recommend instead of that of the last turn.

        Raises:
            UsageError: a turn is running, or there is no recommendation.
            SwapRefusedError: the model cannot continue the session.
        """
        chosen, advised = self._get_advice()
        recommended = advised.candidate_model or ""
        await self._select_model(channel, recommended, use_placeholders=False)
        await channel.emit(
            RouteOverridden(
                chosen_model=chosen,
                recommended_model=recommended,
                confidence=advised.confidence or 0.0,
            )
        )

    @shows_events
    async def dismiss_advice(self, channel: Channel) -> None:
        """Do not show the recommendation of the last turn in the session again.

        Raises:
            UsageError: a turn is running, or there is no recommendation.
        """
        chosen, advised = self._get_advice()
        await channel.emit(
            PatternOverrideDismissed(
                chosen_model=chosen, recommended_model=advised.candidate_model or ""
            )
        )

    def _get_advice(self) -> tuple[str, PolicyEvaluation]:
        """Return the model of the last turn, and the step that recommends another one."""
        if self._is_busy():
            raise UsageError("A turn is running; wait until it ends or stop it.")
        route = self._state.last_route
        advised = None if route is None else find_advice(route)
        if route is None or advised is None:
            raise UsageError("Past turns recommend no other model than that of the last turn.")
        return route.chosen_model or "", advised

    @shows_events
    async def select_effort(self, channel: Channel, level: Effort | None) -> None:
        """Select a reasoning effort; see `Session.select_effort`."""
        self._env.requests.effort = level
        self._pending.append(SessionEffortSelected(effort=level))
        await self.store_if_idle(channel)

    async def store_if_idle(self, channel: Channel) -> None:
        """Store pending selections unless a turn is running."""
        if not self._is_busy():
            await self.store_pending(channel)

    async def store_pending(self, channel: Channel) -> None:
        """Store pending selections."""
        while self._pending:
            await channel.emit(self._pending.pop(0))
        if (pending := self._state.pending_model) is not None:
            in_words = self._state.pending_placeholders
            await channel.emit(SessionModelSelected(model=pending or None, media_in_words=in_words))

    async def _record_refusal(self, error: SwapRefusedError) -> None:
        self._pending.append(
            SessionModelRefused(model=error.model, validation_failure=error.code, reason=str(error))
        )
        await self.store_if_idle(Channel(self.record))
