"""Facts of routing decisions."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from yourtool.events.turns import (
    AgreedFallback,
    PolicyEvaluation,
    RecommendedModel,
    RouteDecided,
    RouteInputs,
    RoutingSnapshot,
    SnapshotModel,
)
from yourtool.messages.blocks import canonical_json
from yourtool.models import MAX_SAFE_INTEGER, AdapterCapabilities, Model
from yourtool.routing.policy import Policy
from yourtool.routing.predicates import MAX_TEXT, TurnInput
from yourtool.routing.router import Candidate, Needs
from yourtool.routing.situation import ModelStatus, Situation

SKILLS, COST = "skills_matching_message_includes", "cost_today_exceeds_usd"
"""The predicates whose values are read only if a rule has them."""
_DIGEST = 16
"""Characters of the digest of settings."""
_CAPABILITIES = ("images", "audio", "documents", "tools", "system_prompt", "structured_output")
"""The fields of `Needs`, and with `supports_` those of `AdapterCapabilities`."""


class RecordedRoute(Struct, frozen=True):
    """A decision and the settings that it was based on."""

    route: RouteDecided
    snapshot: RoutingSnapshot


def build_record(
    route: RouteDecided,
    situation: Situation,
    policy: Policy,
    find_status: Callable[[str], ModelStatus],
    tokens: Mapping[str, int],
    *,
    is_own_prompt: bool,
) -> RecordedRoute:
    """Return a decision with what it was based on.

    `tokens`: the estimates that it needed. `is_own_prompt`: whether the prompt is that of the
    `turn.started` of the turn.
    """
    statuses = [find_status(each) for each in _list_models(situation, policy)]
    snapshot = _build_snapshot(situation, policy, statuses)
    turn, tested = situation.turn, policy.predicates
    inputs = RouteInputs(
        settings=snapshot.settings,
        override=situation.override,
        selected=situation.selected,
        retried=situation.retried,
        fallbacks={
            model: AgreedFallback(model=each.model, reason=each.reason)
            for model, each in situation.fallbacks.items()
        },
        needs=_name_needs(situation.needs),
        selected_needs=None
        if situation.selected_needs is None
        else _name_needs(situation.selected_needs),
        tokens=dict(tokens),
        pattern=_to_recommended(situation.pattern),
        no_pattern=situation.no_pattern or UNSET,
        outages={each.model.id: each.outage for each in statuses if each.outage is not None},
        prompt=UNSET if is_own_prompt else turn.text[:MAX_TEXT],
        has_images=turn.has_images,
        has_tool_calls=turn.has_tool_calls,
        file_extensions=tuple(sorted(turn.file_extensions)),
        skills=tuple(sorted(turn.skills)) if SKILLS in tested else None,
        spent_today=turn.spent_today if COST in tested else None,
        local_time=turn.local_time,
    )
    return RecordedRoute(replace(route, inputs=inputs), snapshot)


def restore_situation(inputs: RouteInputs, snapshot: RoutingSnapshot, prompt: str) -> Situation:
    """Return what a stored decision was based on; `prompt`: that of its turn."""
    selected = inputs.selected_needs
    return Situation(
        turn=restore_turn(inputs, snapshot, prompt),
        needs=_restore_needs(inputs.needs),
        selected_needs=None if selected is None else _restore_needs(selected),
        override=inputs.override,
        selected=inputs.selected,
        retried=inputs.retried,
        delegate=snapshot.delegate,
        workspace_default=snapshot.workspace_default,
        global_default=snapshot.global_default,
        fallbacks={
            model: Candidate(each.model, each.reason) for model, each in inputs.fallbacks.items()
        },
        pattern=_to_candidate(inputs.pattern),
        no_pattern=inputs.no_pattern or "",
    )


def restore_turn(inputs: RouteInputs, snapshot: RoutingSnapshot, prompt: str) -> TurnInput:
    """Return what rules tested in a stored decision; `prompt`: that of its turn."""
    return TurnInput(
        text=prompt if inputs.prompt is UNSET else inputs.prompt,
        has_images=inputs.has_images,
        has_tool_calls=inputs.has_tool_calls,
        workspace=snapshot.workspace,
        skills=frozenset(inputs.skills or ()),
        file_extensions=frozenset(inputs.file_extensions),
        local_time=inputs.local_time,
        spent_today=inputs.spent_today or TurnInput().spent_today,
    )


def restore_statuses(snapshot: RoutingSnapshot) -> Mapping[str, ModelStatus]:
    """Return what was known about the models, without their outages, by id."""
    return {
        each.id: ModelStatus(
            Model(
                id=each.id,
                wire_name="",
                capabilities=AdapterCapabilities(
                    max_context_tokens=each.max_context_tokens,
                    supports_images="images" in each.supports,
                    supports_audio="audio" in each.supports,
                    supports_documents="documents" in each.supports,
                    supports_tools="tools" in each.supports,
                    supports_system_prompt="system_prompt" in each.supports,
                    supports_structured_output="structured_output" in each.supports,
                ),
            ),
            each.unconfigured or None,
            ended=each.ended or None,
        )
        for each in snapshot.models
    }


def _to_recommended(candidate: Candidate | None) -> RecommendedModel | UnsetType:
    if candidate is None:
        return UNSET
    return RecommendedModel(
        model=candidate.model,
        reason=candidate.reason,
        confidence=candidate.confidence or 0.0,
        alternatives=candidate.alternatives,
    )


def _to_candidate(stored: RecommendedModel | UnsetType) -> Candidate | None:
    if stored is UNSET:
        return None
    return Candidate(
        stored.model,
        stored.reason,
        confidence=stored.confidence,
        alternatives=stored.alternatives,
    )


def _build_snapshot(
    situation: Situation, policy: Policy, statuses: Iterable[ModelStatus]
) -> RoutingSnapshot:
    snapshot = RoutingSnapshot(
        settings="",
        policy=policy.version,
        workspace=situation.turn.workspace,
        workspace_default=situation.workspace_default,
        global_default=situation.global_default,
        delegate=situation.delegate,
        models=tuple(map(_to_snapshot, statuses)),
    )
    return replace(snapshot, settings=_digest(snapshot))


def _digest(snapshot: RoutingSnapshot) -> str:
    content = [getattr(snapshot, name) for name in _CONTENT]
    return hashlib.sha256(canonical_json(content)).hexdigest()[:_DIGEST]


_CONTENT = ("policy", "workspace", "workspace_default", "global_default", "delegate", "models")


def _list_models(situation: Situation, policy: Policy) -> Sequence[str]:
    """Return the models that the rules, the defaults and the user name, by id."""
    named = {
        situation.override,
        situation.selected,
        situation.delegate,
        policy.workspace_default or situation.workspace_default,
        policy.global_default or situation.global_default,
        None if situation.pattern is None else situation.pattern.model,
        *(rule.model for rule in policy.rules),
        *(each.model for each in situation.fallbacks.values()),
    }
    return sorted(each for each in named if each)


def _to_snapshot(status: ModelStatus) -> SnapshotModel:
    can = status.model.capabilities
    return SnapshotModel(
        id=status.model.id,
        max_context_tokens=status.model.window or MAX_SAFE_INTEGER,
        supports=tuple(each for each in _CAPABILITIES if getattr(can, f"supports_{each}")),
        unconfigured=status.unconfigured or "",
        ended=status.ended or "",
    )


def _name_needs(needs: Needs) -> tuple[str, ...]:
    return tuple(each for each in _CAPABILITIES if getattr(needs, each))


def _restore_needs(named: Sequence[str]) -> Needs:
    return Needs(
        images="images" in named,
        audio="audio" in named,
        documents="documents" in named,
        tools="tools" in named,
        system_prompt="system_prompt" in named,
        structured_output="structured_output" in named,
    )


def find_advice(route: RouteDecided) -> PolicyEvaluation | None:
    """Return the step with the model that past turns recommend instead of the chosen one."""
    return next((each for each in route.chain if each.verdict == "deferred"), None)


def describe_advice(route: RouteDecided) -> str | None:
    """Return a notice if past turns recommend another model than the chosen one, else None."""
    if (advised := find_advice(route)) is None:
        return None
    return (
        f"In past turns like this one, `{advised.candidate_model}` did better than"
        f" `{route.chosen_model}`. /route override uses it, /route ignore hides this, and /why has"
        " the figures."
    )
