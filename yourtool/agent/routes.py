"""Routing for a session: what the pure router needs, gathered; what it says, put in words."""

import time
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from yourtool.agent.state import State
from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError, ErrorClass, UsageError
from yourtool.events import ProviderRecovered, ProviderUnavailable, RouteDecided
from yourtool.messages import ImageBlock, Message, RoutingDecisionRecord, ToolResultBlock
from yourtool.models import Model
from yourtool.providers.catalogue import Catalogue
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.registry import ProviderRow, Registry
from yourtool.routing.availability import Availability
from yourtool.routing.router import (
    Failure,
    Needs,
    Preferences,
    Rejection,
    decide,
    explain,
    mode_of,
    obstacle,
    swap_refusal,
)


class Defaults(Struct, frozen=True):
    """Which model answers where nobody chose one: canonical ids."""

    workspace: str | None
    everywhere: str


class Routes:
    """Decides for one workspace; availability is shared by all sessions of the process."""

    def __init__(
        self,
        catalogue: Catalogue,
        registry: Registry,
        availability: Availability,
        tools: Sequence[ToolDefinition],
        system: Sequence[Message],
        defaults: Defaults,
    ) -> None:
        """`tools` and `system` are what every request of the workspace carries."""
        self.catalogue = catalogue
        self._registry = registry
        self._availability = availability
        self._tools = tools
        self._system = system
        self._defaults = defaults

    def estimate(self, messages: Sequence[Message]) -> int:
        """Guess the size of a request with these messages, in tokens."""
        return estimate_tokens((*self._system, *messages), self._tools)

    def needs(self, messages: Sequence[Message]) -> Needs:
        """Say what a model must be able to take if these messages are to be sent to it."""
        return Needs(
            images=any(_has_image(message) for message in messages),
            input_tokens=self.estimate(messages),
            tools=bool(self._tools),
            system_prompt=True,
        )

    def decide(self, override: Model | None, state: State) -> RouteDecided:
        """Choose the model of a turn whose user message is in `state` already."""
        started = time.perf_counter()
        decided = decide(
            self._preferences(override, state.model), self.needs(state.messages), self._check
        )
        return RouteDecided(
            chosen_model=decided.chosen,
            winner_index=decided.winner_index,
            elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
            chain=decided.chain,
        )

    def expected(self, state: State) -> Model:
        """Return the model the next turn would go to by preference, whether it can or not."""
        return self.catalogue.get(
            state.model or self._defaults.workspace or self._defaults.everywhere
        )

    async def learn(self, model: Model) -> None:
        """Ask the server of a model that nobody described what it is, if that server needs no key.

        A server that does not answer changes nothing here: the request to it will say so.
        """
        rows = [row for row in self._registry.providers() if row.name == model.provider]
        if model.known or not rows or rows[0].needs_key:
            return
        with suppress(AdapterError):
            self.catalogue.learn(await self._registry.own_models(model.provider))

    def swap_target(self, name: str, state: State) -> Model:
        """Return the model that `name` means, if it can take the session as it stands.

        Raises:
            UnknownModelError: no model, or several, have this name.
            UsageError: it cannot; the text says why and that the active model did not change.
        """
        model = self.catalogue.resolve(name)
        if (rejection := self._check(model.id, self.needs(state.messages))) is not None:
            raise UsageError(
                swap_refusal(
                    model,
                    rejection,
                    where=_first_image(state.messages)
                    if rejection.code is Failure.NO_VISION_SUPPORT
                    else None,
                )
            )
        return model

    def explain(self, state: State) -> list[str]:
        """Say which model is active and what every slot said on the last turn."""
        active = self.expected(state).id
        pending = f"; pending: {state.pending_model}" if state.pending_model else ""
        lines = [f"Active model: {active}{pending}"]
        if state.last_route is None:
            return [*lines, "No turn has been routed yet."]
        return [*lines, *explain(state.last_route.chain)]

    def why_none(self, route: RouteDecided) -> list[str]:
        """Say what was tried for a turn that no model could take, and what to do."""
        tried = [each for each in route.chain if each.verdict == "rejected"]
        lines = ["No model can take this turn; nothing was sent."]
        lines += [f"  {each.candidate_model}: {each.reason}" for each in tried]
        usable = [row.name for row in self._registry.providers() if self._usable(row)]
        if usable:
            lines.append(f"Configured: {', '.join(usable)}. Choose one with /model.")
        else:
            lines.append("No provider is configured: /key enters an API key.")
        return lines

    def outcome(
        self, model: Model, error_class: str | None
    ) -> Sequence[ProviderUnavailable | ProviderRecovered]:
        """Take the end of a request into account; return what changed for routing, if anything."""
        if error_class is None:
            return self._availability.succeeded(model.id)
        return self._availability.failed(model.id, ErrorClass(error_class))

    def sweep(self) -> Sequence[ProviderRecovered]:
        """Return what became usable again because nobody tried it for a while."""
        return self._availability.sweep()

    def _usable(self, row: ProviderRow) -> bool:
        return row.needs_key and self._registry.why_not(row.name) is None

    def _preferences(self, override: Model | None, sticky: str | None) -> Preferences:
        return Preferences(
            override=override.id if override else None,
            sticky=sticky,
            workspace_default=self._defaults.workspace,
            global_default=self._defaults.everywhere,
        )

    def _check(self, model_id: str, needs: Needs) -> Rejection | None:
        model = self.catalogue.get(model_id)
        return obstacle(
            model,
            needs,
            configured=self._registry.why_not(model.provider),
            unavailable=self._availability.reason(model.id),
        )


def record_of(route: RouteDecided) -> RoutingDecisionRecord:
    """Project a decision on what is kept on every assistant message.

    The route must have chosen a model.
    """
    assert route.chosen_model is not None, "only a routed turn has a record"
    winner = route.chain[route.winner_index]
    return RoutingDecisionRecord(
        mode=mode_of(winner.policy),
        chosen_model=route.chosen_model,
        reason=winner.reason,
        rule_name=winner.rule_name,
        confidence=winner.confidence,
        alternatives_considered=tuple(
            each.candidate_model
            for each in route.chain
            if each.candidate_model and each.candidate_model != route.chosen_model
        ),
    )


def _has_image(message: Message) -> bool:
    return any(
        isinstance(block, ImageBlock)
        or (
            isinstance(block, ToolResultBlock)
            and any(isinstance(part, ImageBlock) for part in block.content)
        )
        for block in message.content
    )


def _first_image(messages: Sequence[Message]) -> str:
    number = next(index for index, message in enumerate(messages, 1) if _has_image(message))
    return f"The first image is in message {number} of {len(messages)}."
