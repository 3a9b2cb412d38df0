"""Fallback for an unavailable model.

The consent ends with the outage or the session. A model of another provider or vendor, which would
get the conversation, always needs an answer.
"""

import asyncio
from collections.abc import Iterator
from decimal import Decimal

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.state import State
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.effects import Confirmation, Verdict
from yourtool.errors import UnknownModelError
from yourtool.events.deltas import Notice
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.models import Model
from yourtool.routing.router import Candidate

_MOST_TRIED = 8
"""Models that are examined as fallbacks; each examination can process the entire history."""


class Fallbacks:
    """The fallbacks of one session, and the outages for which the user declined one."""

    def __init__(self, state: State, env: SessionEnvironment) -> None:
        self._state = state
        self._env = env
        self._declined: set[str] = set()

    def describe(self) -> str | None:
        """Return which model answers instead of the preferred one; None: there is no fallback."""
        routes = self._env.routes
        preferred = routes.expected_model(self._state).id
        fallback = routes.fallbacks.get(preferred)
        if fallback is None or routes.outage_reason(preferred) is None:
            return None
        return f"{fallback.model} answers while {preferred} is unavailable."

    async def settle(self, override: Model | None, interrupt: Interrupt, channel: Channel) -> None:
        """End fallbacks whose outage is over, and find one for the model of this turn."""
        routes, policy = self._env.routes, self._env.fallback.policy
        await channel.emit(*self._end(routes))
        if policy == "never" or self._env.is_worker:
            return
        decided = await asyncio.to_thread(routes.decide, override, self._state)
        wanted = decided.chosen_model
        if wanted is None or wanted in self._declined:
            return
        if (reason := routes.outage_reason(wanted)) is None:
            return
        await channel.emit(*self._env.user.new_notices(*self._describe_unknown()))
        target = await asyncio.to_thread(self._find_target, routes.catalogue.get(wanted))
        if target is None:
            return
        is_free = policy == "auto" and _get_recipient(target) == _get_recipient(
            routes.catalogue.get(wanted)
        )
        if not is_free and not await self._ask(
            f"Let {target.id} answer?",
            f"{reason}. {target.id} answers until {wanted} is available.",
            interrupt,
            channel,
        ):
            self._declined.add(wanted)
            return
        why = "`fallback.policy` is `auto`" if is_free else "you agreed"
        routes.fallbacks[wanted] = Candidate(target.id, f"{why}, while `{wanted}` is unavailable")
        text = f"`{target.id}` answers while {reason}."
        await channel.emit(Notice(level="warning", text=text))

    def _end(self, routes: Routes) -> Iterator[Notice]:
        self._declined = {each for each in self._declined if routes.outage_reason(each)}
        for model in [each for each in routes.fallbacks if not routes.outage_reason(each)]:
            del routes.fallbacks[model]
            yield Notice(level="info", text=f"`{model}` is available and answers again.")

    async def _ask(self, title: str, reason: str, interrupt: Interrupt, channel: Channel) -> bool:
        """Return whether the user agrees; a session without a user has no consent."""
        if not self._env.user.interactive:
            return False
        confirmation = Confirmation(id=new_id(), kind="fallback", title=title, reason=reason)
        await channel.wait_shown()
        try:
            decision = await interrupt.guard(self._env.user.confirm(confirmation))
        except Interrupted:
            return False  # the turn ends as stopped before its first request
        return decision.verdict is Verdict.ALLOW

    def _find_target(self, wanted: Model) -> Model | None:
        """Return the first model that can take the turn; can process the entire history."""
        for number, model in enumerate(self._list_candidates(wanted)):
            if number == _MOST_TRIED:
                break
            if self._env.routes.can_take(model.id, self._state):
                return model
        return None

    def _list_candidates(self, wanted: Model) -> list[Model]:
        routes, names = self._env.routes, self._env.fallback.models
        if names:
            return [each for each in map(self._resolve, names) if each and each.id != wanted.id]
        usable = (
            each
            for each in routes.catalogue.all()
            if each.known and not each.is_demo and each.id != wanted.id
        )
        available = (
            each
            for each in usable
            if routes.is_configured(each) and not routes.outage_reason(each.id)
        )
        return sorted(available, key=lambda each: _measure_distance(wanted, each))

    def _describe_unknown(self) -> Iterator[str]:
        for name in self._env.fallback.models:
            if self._resolve(name) is None:
                yield f"`fallback.models`: no model is called `{name}`."

    def _resolve(self, name: str) -> Model | None:
        try:
            return self._env.routes.catalogue.resolve(name)
        except UnknownModelError:
            return None


def _get_recipient(model: Model) -> tuple[str, str]:
    """Return who gets the requests to a model: its provider and its vendor."""
    provider, _, name = model.id.partition(":")
    vendor, slash, _ = name.partition("/")
    return provider, vendor if slash else provider


def _measure_distance(wanted: Model, other: Model) -> tuple[bool, bool, bool, Decimal]:
    """Return how unlike two models are: another provider, name, unknown price, another price."""
    is_elsewhere = _get_recipient(wanted) != _get_recipient(other)
    is_other = _get_plain_name(wanted) != _get_plain_name(other)
    if wanted.price is None or other.price is None:
        return is_elsewhere, is_other, True, Decimal(0)
    difference = wanted.price.input_per_mtok_usd - other.price.input_per_mtok_usd
    return is_elsewhere, is_other, False, abs(difference)


def _get_plain_name(model: Model) -> str:
    """Return the name of a model, which is the same at every provider."""
    return model.id.partition(":")[2].rpartition("/")[2].replace(".", "-")
