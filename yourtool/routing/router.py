"""Routing chain.

All functions are pure. The first slot with a valid candidate wins, and the recorded chain ends with
it; each slot has a verdict and a reason. The two explicit slots never fall through: the turn is
refused if a model that the user named cannot be used.

An outage excludes a model from automatic choices only. A model that the user requested is tried
anyway, and so is the first candidate if no other model is available.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import UNSET, Struct

from yourtool.events.turns import PatternAlternative, PolicyEvaluation
from yourtool.messages.metadata import RoutingMode
from yourtool.models import Model


class Slot(StrEnum):
    """The steps of the routing chain, in order."""

    PER_MESSAGE_OVERRIDE = "per_message_override"
    MANUAL_STICKY = "manual_sticky"
    RULE = "rule"
    PATTERN = "pattern"
    DELEGATE_REQUEST = "delegate_request"
    WORKSPACE_DEFAULT = "workspace_default"
    GLOBAL_DEFAULT = "global_default"

    @property
    def is_explicit(self) -> bool:
        """Whether the user named the model for this turn or session."""
        return self in (Slot.PER_MESSAGE_OVERRIDE, Slot.MANUAL_STICKY)


class RejectionCode(StrEnum):
    """Reasons to reject a candidate, in the order of the checks."""

    NOT_CONFIGURED = "not_configured"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    NO_VISION_SUPPORT = "no_vision_support"
    NO_AUDIO_SUPPORT = "no_audio_support"
    NO_DOCUMENT_SUPPORT = "no_document_support"
    EXCEEDS_CONTEXT_WINDOW = "exceeds_context_window"
    NO_TOOL_SUPPORT = "no_tool_support"
    NO_SYSTEM_PROMPT_SUPPORT = "no_system_prompt_support"
    NO_STRUCTURED_OUTPUT_SUPPORT = "no_structured_output_support"
    ENDED = "ended"
    """`find_obstacle` finds it, because it does not exclude what the user names."""


class Rejection(Struct, frozen=True):
    """Why a candidate is rejected."""

    code: RejectionCode
    reason: str


class Candidate(Struct, frozen=True):
    """A model that a slot proposes."""

    model: str
    """Its canonical id."""
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    """Of a learned choice, from 0 to 1."""
    alternatives: tuple[PatternAlternative, ...] = ()
    """The models that a learned choice compared, the best one first."""


class Preferences(Struct, frozen=True, kw_only=True):
    """The candidate of each slot, mostly as a canonical id."""

    override: str | None = None
    sticky: str | None = None
    rules: tuple[Candidate, ...] = ()
    """Those of the rules that hold, in order."""
    rule_count: int = 0
    """Of the rules that were tested."""
    pattern: Candidate | None = None
    no_pattern: str = ""
    """Why past turns recommend no model; empty: learned routing is off."""
    delegate: str | None = None
    workspace_default: str | None = None
    global_default: str | None = None
    fallbacks: Mapping[str, Candidate] = {}
    """By model: the one that the user agreed to while that model is unavailable."""


class Needs(Struct, frozen=True, kw_only=True):
    """The capabilities that a turn requires of a model."""

    images: bool = False
    audio: bool = False
    documents: bool = False
    input_tokens: int = 0
    tools: bool = False
    system_prompt: bool = False
    structured_output: bool = False


class RouteDecision(Struct, frozen=True, kw_only=True):
    """The outcome of one decision."""

    chosen: str | None
    winner_index: int
    """The step of the chain that decided, counted from 0; -1: no model is available."""
    chain: tuple[PolicyEvaluation, ...]
    """The evaluated slots, ending with the one that decided; one step for each rule that held."""
    explicit: bool
    """Whether the user named the model, chosen or rejected."""


ModelCheck: TypeAlias = Callable[[str, Needs], Rejection | None]
"""Returns why a model cannot be used; None: it can."""

_NOT_APPLICABLE = {
    Slot.PER_MESSAGE_OVERRIDE: "the message names no model",
    Slot.MANUAL_STICKY: "no model was chosen for the session",
    Slot.RULE: "there are no rules",
    Slot.PATTERN: "learned routing is off",
    Slot.DELEGATE_REQUEST: "this is not a delegated task",
    Slot.WORKSPACE_DEFAULT: "this directory has no default",
    Slot.GLOBAL_DEFAULT: "there is no default",
}
_CHOICE_REASONS = {
    Slot.PER_MESSAGE_OVERRIDE: "named in the message",
    Slot.MANUAL_STICKY: "chosen by the user for the session",
    Slot.DELEGATE_REQUEST: "asked for by the delegating turn",
    Slot.WORKSPACE_DEFAULT: "workspace default",
    Slot.GLOBAL_DEFAULT: "global default",
}
_SLOT_NAMES = {
    Slot.PER_MESSAGE_OVERRIDE: "`@model` in this message",
    Slot.MANUAL_STICKY: "chosen for the session",
    Slot.RULE: "rule",
    Slot.PATTERN: "learned routing",
    Slot.DELEGATE_REQUEST: "delegated task",
    Slot.WORKSPACE_DEFAULT: "workspace default",
    Slot.GLOBAL_DEFAULT: "global default",
}
_VERDICT_NAMES = {
    "chose": "used",
    "rejected": "rejected",
    "not_applicable": "not used",
    "deferred": "advised",
}
_SHOWN_RULES = 3
_TRIED_AS_REQUESTED = "tried because you asked"
_TRIED_AS_LAST_RESORT = "tried because no other model is available"
_MODES = {
    Slot.PER_MESSAGE_OVERRIDE: RoutingMode.OVERRIDE,
    Slot.MANUAL_STICKY: RoutingMode.MANUAL,
    Slot.RULE: RoutingMode.RULE,
    Slot.PATTERN: RoutingMode.PATTERN,
    Slot.DELEGATE_REQUEST: RoutingMode.DELEGATE,
    Slot.WORKSPACE_DEFAULT: RoutingMode.DEFAULT,
    Slot.GLOBAL_DEFAULT: RoutingMode.DEFAULT,
}


def decide(
    preferences: Preferences,
    needs: Needs,
    check: ModelCheck,
    check_despite_outage: ModelCheck | None = None,
    requested: Collection[str | None] = (),
) -> RouteDecision:
    """Choose the model of a turn; deterministic.

    `check_despite_outage` is `check` without the outages. It applies to the models in `requested`,
    and to all models if none passes `check`. None: outages exclude every model.
    """
    if check_despite_outage is None:
        return _first_usable(preferences, needs, check, check, {})
    asked = {
        each: _TRIED_AS_REQUESTED
        for each in requested
        if each is not None and each not in preferences.fallbacks
    }
    decided = _first_usable(preferences, needs, check, check_despite_outage, asked)
    if decided.chosen is not None:
        return decided
    candidates = [each.model for _, proposed in _proposals(preferences) for each in proposed]
    anyway = {each: asked.get(each, _TRIED_AS_LAST_RESORT) for each in candidates}
    last_resort = _first_usable(preferences, needs, check, check_despite_outage, anyway)
    return decided if last_resort.chosen is None else last_resort


def _first_usable(
    preferences: Preferences,
    needs: Needs,
    check: ModelCheck,
    check_despite_outage: ModelCheck,
    tried_anyway: Mapping[str, str],
) -> RouteDecision:
    """Evaluate the slots in order; `tried_anyway`: why a model is tried despite an outage."""
    chain: list[PolicyEvaluation] = []
    for slot, proposed in _proposals(preferences):
        if not proposed:
            reason = _explain_nothing(slot, preferences)
            chain.append(PolicyEvaluation(policy=slot, verdict="not_applicable", reason=reason))
        for candidate in proposed:
            step = _evaluate(slot, candidate, needs, check, check_despite_outage, tried_anyway)
            chain.append(step)
            fallback = preferences.fallbacks.get(candidate.model)
            if step.validation_failure == RejectionCode.PROVIDER_UNAVAILABLE and fallback:
                step = _evaluate(slot, fallback, needs, check, check_despite_outage, tried_anyway)
                chain.append(step)
            if step.verdict == "chose":
                return RouteDecision(
                    chosen=step.candidate_model,
                    winner_index=len(chain) - 1,
                    chain=tuple(chain),
                    explicit=slot.is_explicit,
                )
            if slot.is_explicit:
                return RouteDecision(
                    chosen=None, winner_index=-1, chain=tuple(chain), explicit=True
                )
    return RouteDecision(chosen=None, winner_index=-1, chain=tuple(chain), explicit=False)


def _evaluate(
    slot: Slot,
    candidate: Candidate,
    needs: Needs,
    check: ModelCheck,
    check_despite_outage: ModelCheck,
    tried_anyway: Mapping[str, str],
) -> PolicyEvaluation:
    """Return whether the candidate is used; takes the same arguments as `_first_usable`."""
    model = candidate.model
    rejection, reason = check(model, needs), candidate.reason
    is_out = rejection is not None and rejection.code is RejectionCode.PROVIDER_UNAVAILABLE
    if rejection is not None and is_out and model in tried_anyway:
        reason = f"{reason}; {rejection.reason}; {tried_anyway[model]}"
        rejection = check_despite_outage(model, needs)
    return PolicyEvaluation(
        policy=slot,
        verdict="chose" if rejection is None else "rejected",
        candidate_model=model,
        reason=reason if rejection is None else rejection.reason,
        rule_name=candidate.rule_name,
        confidence=candidate.confidence,
        validation_failure=rejection.code if rejection else None,
        pattern_alternatives=candidate.alternatives or UNSET,
    )


def find_disagreement(
    decision: RouteDecision, recommended: Candidate | None
) -> PolicyEvaluation | None:
    """Return a step for the model that past turns recommend, if a slot before chose another one."""
    if recommended is None or decision.chosen in (None, recommended.model):
        return None
    winner = Slot(decision.chain[decision.winner_index].policy)
    if list(Slot).index(winner) >= list(Slot).index(Slot.PATTERN):
        return None
    return PolicyEvaluation(
        policy=Slot.PATTERN,
        verdict="deferred",
        candidate_model=recommended.model,
        reason=recommended.reason,
        confidence=recommended.confidence,
        pattern_alternatives=recommended.alternatives,
    )


def _explain_nothing(slot: Slot, preferences: Preferences) -> str:
    """Return why a slot proposes no model."""
    if slot is Slot.RULE and preferences.rule_count:
        plural = "s" * (preferences.rule_count != 1)
        return f"none of {preferences.rule_count} rule{plural} holds"
    if slot is Slot.PATTERN and preferences.no_pattern:
        return preferences.no_pattern
    return _NOT_APPLICABLE[slot]


def find_rejection(
    model: Model, needs: Needs, configured: str | None, unavailable: str | None
) -> Rejection | None:
    """Return the first reason why a model cannot be used for a turn.

    `configured` is why its provider is not configured, `unavailable` why it is unavailable; None if
    it is not.
    """
    can, name = model.capabilities, f"`{model.id}`"
    if configured is not None:
        return Rejection(RejectionCode.NOT_CONFIGURED, configured)
    if unavailable is not None:
        return Rejection(RejectionCode.PROVIDER_UNAVAILABLE, unavailable)
    if needs.images and not can.supports_images:
        return Rejection(RejectionCode.NO_VISION_SUPPORT, f"{name} takes no images")
    if needs.audio and not can.supports_audio:
        return Rejection(RejectionCode.NO_AUDIO_SUPPORT, f"{name} takes no audio")
    if needs.documents and not can.supports_documents:
        return Rejection(RejectionCode.NO_DOCUMENT_SUPPORT, f"{name} takes no documents")
    if model.window is not None and needs.input_tokens > model.window:
        return Rejection(
            RejectionCode.EXCEEDS_CONTEXT_WINDOW,
            f"needs about {needs.input_tokens:,} tokens, and {name} takes {model.window:,}",
        )
    if needs.tools and not can.supports_tools:
        return Rejection(RejectionCode.NO_TOOL_SUPPORT, f"{name} cannot call tools")
    if needs.system_prompt and not can.supports_system_prompt:
        return Rejection(RejectionCode.NO_SYSTEM_PROMPT_SUPPORT, f"{name} takes no system prompt")
    if needs.structured_output and not can.supports_structured_output:
        return Rejection(
            RejectionCode.NO_STRUCTURED_OUTPUT_SUPPORT, f"{name} cannot follow a JSON schema"
        )
    return None


def format_swap_refusal(
    model: Model, rejection: Rejection, *, name: str | None = None, where: str | None = None
) -> str:
    """Return the error for `/model NAME` if the model cannot continue the session.

    `where` names the message that prevents it, as a complete sentence.
    """
    match rejection.code:
        case RejectionCode.NO_VISION_SUPPORT:
            reason = "session contains images that this model can't process"
        case RejectionCode.NO_AUDIO_SUPPORT:
            reason = "session contains audio that this model can't process"
        case RejectionCode.NO_DOCUMENT_SUPPORT:
            reason = "session contains documents that this model can't process"
        case RejectionCode.EXCEEDS_CONTEXT_WINDOW:
            reason = f"session {rejection.reason}"
        case _:
            reason = rejection.reason.rstrip(".")
    refusal = f"Cannot swap to {name or model.id}: {reason}. Active model unchanged."
    return f"{refusal} {where}" if where else refusal


def mode_of(policy: str) -> RoutingMode:
    """Return the routing mode for a slot, which messages record."""
    return _MODES[Slot(policy)]


def format_chain(chain: Sequence[PolicyEvaluation]) -> list[str]:
    """Return one line per slot: number, slot, verdict, model and reason.

    Rules whose models were rejected have a line each, at most a few of them.
    """
    lines = list[str]()
    for number, slot in enumerate(Slot, start=1):
        steps = [each for each in chain if each.policy == slot]
        hidden = max(0, len(steps) - _SHOWN_RULES)
        shown = [*steps[: _SHOWN_RULES - 1], steps[-1]] if hidden else steps
        lines += [_format_slot(number, slot, step) for step in shown or [None]]
        if hidden:
            lines.insert(-1, f"{'':28}{hidden} more rules whose models were rejected")
    return lines


def _proposals(preferences: Preferences) -> Iterator[tuple[Slot, Sequence[Candidate]]]:
    """Yield the slots in order, each with its candidates."""
    named = (
        (Slot.PER_MESSAGE_OVERRIDE, preferences.override),
        (Slot.MANUAL_STICKY, preferences.sticky),
        (Slot.RULE, None),
        (Slot.PATTERN, None),
        (Slot.DELEGATE_REQUEST, preferences.delegate),
        (Slot.WORKSPACE_DEFAULT, preferences.workspace_default),
        (Slot.GLOBAL_DEFAULT, preferences.global_default),
    )
    for slot, model in named:
        if slot is Slot.RULE:
            yield slot, preferences.rules
        elif slot is Slot.PATTERN:
            yield slot, () if preferences.pattern is None else (preferences.pattern,)
        else:
            yield slot, () if model is None else (Candidate(model, _CHOICE_REASONS[slot]),)


def _format_slot(number: int, slot: Slot, step: PolicyEvaluation | None) -> str:
    name = _SLOT_NAMES[slot]
    if step is None:
        return f"{number} {name:<24}  not reached"
    if step.rule_name:
        name = f"{name} {step.rule_name}"
    verdict = _VERDICT_NAMES[step.verdict]
    model = f"{step.candidate_model}: " if step.candidate_model else ""
    code = f" ({step.validation_failure})" if step.validation_failure else ""
    return f"{number} {name:<24}  {verdict:<8}  {model}{step.reason}{code}"
