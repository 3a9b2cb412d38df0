"""Routing decision as a pure function.

It depends on data only: the rules, the turn, and the known facts about models. A stored decision is
made again with the same function.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from yourtool.models import Model
from yourtool.routing.policy import Policy, Rule
from yourtool.routing.predicates import TurnInput
from yourtool.routing.router import (
    Candidate,
    Needs,
    Preferences,
    Rejection,
    RejectionCode,
    RouteDecision,
    decide,
    find_rejection,
)

_MAX_REASON = 120


class ModelStatus(Struct, frozen=True):
    """A model, and what can exclude it."""

    model: Model
    unconfigured: str | None = None
    """Why its provider is not configured."""
    outage: str | None = None
    """Why it is unavailable."""
    ended: str | None = None
    """The reason why the provider no longer offers it."""


class Situation(Struct, frozen=True, kw_only=True):
    """What a decision depends on besides rules and models; models are canonical ids."""

    turn: TurnInput
    needs: Needs
    """Without the number of tokens, which depends on the model."""
    selected_needs: Needs | None = None
    """Those for `selected`; None: the same."""
    override: str | None = None
    selected: str | None = None
    """The model of the session."""
    retried: str | None = None
    """The model of the turn that the user retries."""
    delegate: str | None = None
    workspace_default: str | None = None
    """The default models of the settings; those of the rules precede them."""
    global_default: str | None = None
    fallbacks: Mapping[str, Candidate] = {}
    pattern: Candidate | None = None
    """The model that past turns recommend."""
    no_pattern: str = ""
    """Why they recommend none; empty: learned routing is off."""


def decide_turn(
    policy: Policy,
    situation: Situation,
    find_status: Callable[[str], ModelStatus],
    count_tokens: Callable[[str], int],
) -> RouteDecision:
    """Choose the model of a turn.

    `find_status` and `count_tokens` have to return the same for the same id; `count_tokens`: the
    estimated tokens of the request to a model.
    """
    is_explicit = situation.override is not None or situation.selected is not None
    rules = () if is_explicit else find_rules(policy, situation.turn, count_tokens)
    return decide_by_rules(rules, policy, situation, find_status, count_tokens)


def find_rules(
    policy: Policy, turn: TurnInput, count_tokens: Callable[[str], int]
) -> tuple[Rule, ...]:
    """Return the rules that hold; they are not needed if the user chose a model."""
    return tuple(policy.matching(turn, lambda each: partial(count_tokens, each)))


def decide_by_rules(
    rules: Iterable[Rule],
    policy: Policy,
    situation: Situation,
    find_status: Callable[[str], ModelStatus],
    count_tokens: Callable[[str], int],
) -> RouteDecision:
    """Choose the model of a turn for which `rules` hold.

    Does not depend on `situation.turn`, and on the tokens only if they exceed a context window.
    """
    explicit = (situation.override, situation.selected)

    def check(model: str, needs: Needs, *, despite_outage: bool) -> Rejection | None:
        if model == situation.selected and situation.selected_needs is not None:
            needs = situation.selected_needs
        return find_obstacle(
            find_status(model),
            replace(needs, input_tokens=count_tokens(model)),
            is_explicit=model in explicit,
            despite_outage=despite_outage,
        )

    return decide(
        _build_preferences(rules, policy, situation),
        situation.needs,
        partial(check, despite_outage=False),
        partial(check, despite_outage=True),
        requested={*explicit, situation.retried},
    )


def find_obstacle(
    status: ModelStatus, needs: Needs, *, is_explicit: bool, despite_outage: bool
) -> Rejection | None:
    """Return why a model cannot take a turn, or None if it can.

    Only a model that the user chose explicitly may lack support for tools, or may have ended: the
    date comes from others, and the provider decides.
    """
    if status.ended is not None and status.unconfigured is None and not is_explicit:
        return Rejection(RejectionCode.ENDED, status.ended)
    return find_rejection(
        status.model,
        replace(needs, tools=needs.tools and not is_explicit),
        configured=status.unconfigured,
        unavailable=None if despite_outage else status.outage,
    )


def _build_preferences(rules: Iterable[Rule], policy: Policy, situation: Situation) -> Preferences:
    return Preferences(
        override=situation.override,
        sticky=situation.selected,
        rules=tuple(Candidate(each.model, _shorten(each.condition), each.name) for each in rules),
        rule_count=len(policy.rules),
        pattern=situation.pattern,
        no_pattern=situation.no_pattern,
        delegate=situation.delegate,
        workspace_default=policy.workspace_default or situation.workspace_default,
        global_default=policy.global_default or situation.global_default,
        fallbacks=situation.fallbacks,
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1]}…"
