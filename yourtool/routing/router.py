"""The routing chain, which chooses the model of a turn: seven slots in a fixed order.

All functions are pure. The first slot with a valid candidate wins, and the recorded chain ends with
it; each slot has a verdict and a reason. The two explicit slots never fall through: the turn is
refused if a model that the user named cannot be used.

An outage excludes a model from automatic choices only. A model that the user requested is tried
anyway, and so is the first candidate if no other model is available.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from yourtool.events.turns import PolicyEvaluation
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


class Rejection(Struct, frozen=True):
    """Why a candidate is rejected."""

    code: RejectionCode
    reason: str


class Preferences(Struct, frozen=True, kw_only=True):
    """The candidate of each slot, as a canonical id."""

    override: str | None = None
    sticky: str | None = None
    rule: str | None = None
    pattern: str | None = None
    delegate: str | None = None
    workspace_default: str | None = None
    global_default: str | None = None


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
    """Counted from 0; -1: no model is available."""
    chain: tuple[PolicyEvaluation, ...]
    """The evaluated slots, ending with the slot that decided."""
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
    Slot.RULE: "a rule matched",
    Slot.PATTERN: "past turns like this one went well",
    Slot.DELEGATE_REQUEST: "asked for by the delegating turn",
    Slot.WORKSPACE_DEFAULT: "workspace default",
    Slot.GLOBAL_DEFAULT: "global default",
}
_SLOT_NAMES = {
    Slot.PER_MESSAGE_OVERRIDE: "`@model` in this message",
    Slot.MANUAL_STICKY: "chosen with /model",
    Slot.RULE: "rule",
    Slot.PATTERN: "learned routing",
    Slot.DELEGATE_REQUEST: "delegated task",
    Slot.WORKSPACE_DEFAULT: "workspace default",
    Slot.GLOBAL_DEFAULT: "global default",
}
_VERDICT_NAMES = {"chose": "used", "rejected": "rejected", "not_applicable": "not used"}
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
    requested: Container[str] = (),
) -> RouteDecision:
    """Choose the model of a turn; deterministic.

    `check_despite_outage` is `check` without the outages. It applies to the models in `requested`,
    and to all models if none passes `check`. None: outages exclude every model.
    """
    if check_despite_outage is None:
        return _first_usable(preferences, needs, check, check, {})
    candidates = [candidate for _, candidate in _candidates(preferences) if candidate is not None]
    asked = {each: _TRIED_AS_REQUESTED for each in candidates if each in requested}
    decided = _first_usable(preferences, needs, check, check_despite_outage, asked)
    if decided.chosen is not None:
        return decided
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
    for index, (slot, candidate) in enumerate(_candidates(preferences)):
        if candidate is None:
            chain.append(
                PolicyEvaluation(
                    policy=slot, verdict="not_applicable", reason=_NOT_APPLICABLE[slot]
                )
            )
            continue
        rejection, reason = check(candidate, needs), _CHOICE_REASONS[slot]
        is_out = rejection is not None and rejection.code is RejectionCode.PROVIDER_UNAVAILABLE
        if rejection is not None and is_out and candidate in tried_anyway:
            reason = f"{reason}; {rejection.reason}; {tried_anyway[candidate]}"
            rejection = check_despite_outage(candidate, needs)
        if rejection is None:
            chain.append(
                PolicyEvaluation(
                    policy=slot, verdict="chose", candidate_model=candidate, reason=reason
                )
            )
            return RouteDecision(
                chosen=candidate, winner_index=index, chain=tuple(chain), explicit=slot.is_explicit
            )
        chain.append(
            PolicyEvaluation(
                policy=slot,
                verdict="rejected",
                candidate_model=candidate,
                reason=rejection.reason,
                validation_failure=rejection.code,
            )
        )
        if slot.is_explicit:
            return RouteDecision(chosen=None, winner_index=-1, chain=tuple(chain), explicit=True)
    return RouteDecision(chosen=None, winner_index=-1, chain=tuple(chain), explicit=False)


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
    if needs.input_tokens > can.max_context_tokens:
        return Rejection(
            RejectionCode.EXCEEDS_CONTEXT_WINDOW,
            f"needs about {needs.input_tokens:,} tokens, and {name} takes"
            f" {can.max_context_tokens:,}",
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
    """Return one line per slot: number, slot, verdict, model and reason."""
    asked = {step.policy: step for step in chain}
    return [
        _format_slot(number, slot, asked.get(slot)) for number, slot in enumerate(Slot, start=1)
    ]


def _candidates(preferences: Preferences) -> Sequence[tuple[Slot, str | None]]:
    return (
        (Slot.PER_MESSAGE_OVERRIDE, preferences.override),
        (Slot.MANUAL_STICKY, preferences.sticky),
        (Slot.RULE, preferences.rule),
        (Slot.PATTERN, preferences.pattern),
        (Slot.DELEGATE_REQUEST, preferences.delegate),
        (Slot.WORKSPACE_DEFAULT, preferences.workspace_default),
        (Slot.GLOBAL_DEFAULT, preferences.global_default),
    )


def _format_slot(number: int, slot: Slot, step: PolicyEvaluation | None) -> str:
    name = _SLOT_NAMES[slot]
    if step is None:
        return f"{number} {name:<24}  not reached"
    verdict = _VERDICT_NAMES[step.verdict]
    model = f"{step.candidate_model}: " if step.candidate_model else ""
    code = f" ({step.validation_failure})" if step.validation_failure else ""
    return f"{number} {name:<24}  {verdict:<8}  {model}{step.reason}{code}"
