"""Cache of repeated routing decisions.

Stored decisions on models are made again, and equal ones only once. Most turns under the same
settings differ in their prompts and tokens only. A prompt decides which rules hold, and tokens
matter only if they exceed a context window.
"""

import math
from collections.abc import Callable, Hashable

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.routes.route_records import restore_situation, restore_statuses
from yourtool.events.facts import UNSTAMPED
from yourtool.events.turns import RouteInputs, RoutingSnapshot
from yourtool.models import Model
from yourtool.routing.policy import Policy
from yourtool.routing.predicates import TurnInput
from yourtool.routing.router import RouteDecision
from yourtool.routing.situation import ModelStatus, decide_by_rules, find_rules

_MAX_REMEMBERED = 20_000
"""Decisions, of which sessions of several years need a few thousand."""


class LoadedRules:
    """The rules of a decision; equal to nothing else, so that a key with it is quick."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.predicates = policy.predicates


class StoredSettings:
    """The settings of decisions; equal to nothing else."""

    def __init__(self, snapshot: RoutingSnapshot) -> None:
        self.snapshot = snapshot
        self.statuses = restore_statuses(snapshot)


class _Remembered(Struct, frozen=True):
    decision: RouteDecision
    most_tokens: float
    """The smallest context window that the decision tested."""


class RouteMaker:
    """Makes stored decisions again."""

    def __init__(
        self,
        find_status: Callable[[str], ModelStatus],
        find_model: Callable[[str], Model] | None = None,
    ) -> None:
        """Take the functions of `ReplaySettings`."""
        self._find_status, self._find_model = find_status, find_model
        self._settings: dict[RoutingSnapshot, StoredSettings] = {}
        self._remembered: dict[Hashable, _Remembered] = {}

    def load(self, snapshot: RoutingSnapshot) -> StoredSettings:
        """Return the settings, the same object for equal ones of all sessions."""
        content = replace(
            snapshot, id="", timestamp=UNSTAMPED, session_id="", turn_id=None, parent_event_id=None
        )
        if (found := self._settings.get(content)) is None:
            found = self._settings[content] = StoredSettings(content)
        return found

    def decide(
        self, rules: LoadedRules, settings: StoredSettings, inputs: RouteInputs, turn: TurnInput
    ) -> RouteDecision:
        """Choose the model of a turn; `turn`: what its rules test."""
        tokens = inputs.tokens
        most = max(tokens.values(), default=0)

        def count_tokens(model: str) -> int:
            return tokens.get(model, most)

        is_explicit = inputs.override is not None or inputs.selected is not None
        held = () if is_explicit else find_rules(rules.policy, turn, count_tokens)
        key = (rules, settings, *map(id, held), *_list_others(inputs))
        found = self._remembered.get(key)
        if found is not None and most <= found.most_tokens:
            return found.decision
        smallest = math.inf

        def find_status(model: str) -> ModelStatus:
            nonlocal smallest
            status = self._get_status(model, settings, inputs)
            smallest = min(smallest, status.model.window or math.inf)
            return status

        situation = restore_situation(inputs, settings.snapshot, turn.text)
        decision = decide_by_rules(held, rules.policy, situation, find_status, count_tokens)
        if most <= smallest:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = _Remembered(decision, smallest)
        return decision

    def _get_status(self, model: str, settings: StoredSettings, inputs: RouteInputs) -> ModelStatus:
        status = settings.statuses.get(model) or self._find_status(model)
        if self._find_model is not None:
            status = replace(status, model=self._find_model(model))
        return replace(status, outage=inputs.outages.get(model))


def _list_others(inputs: RouteInputs) -> tuple[Hashable, ...]:
    """Return what a decision depends on besides rules, settings and tokens."""
    return (
        inputs.override,
        inputs.selected,
        inputs.retried,
        inputs.needs,
        inputs.selected_needs,
        inputs.pattern,
        inputs.no_pattern,
        tuple(inputs.fallbacks.items()),
        tuple(inputs.outages.items()),
    )
