"""Facts about a turn.

They record its prompt, its end, and the choice of the model.
"""

from collections.abc import Mapping
from datetime import time
from decimal import Decimal
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.messages.message import PromptMessage
from yourtool.messages.metadata import StopReason


class TurnStarted(Fact, frozen=True, kw_only=True, tag="turn.started"):
    """The user sent a prompt."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    user_message_hash: str
    estimated_input_tokens: int
    has_images: bool
    has_tool_calls_in_history: bool
    message: PromptMessage | None
    """The prompt; None for a retry, whose prompt is already stored."""
    surroundings: str | UnsetType = UNSET
    """What the system prompt has about the workspace from now on; unset: as before."""


class TurnSteered(Fact, frozen=True, kw_only=True, tag="turn.steered"):
    """The user sent a message to the running turn; it follows the results of the last calls."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    message: PromptMessage


class TurnCompleted(Fact, frozen=True, kw_only=True, tag="turn.completed"):
    """The turn ended, successfully or with the error of an `llm.call_failed`."""

    actor: ClassVar[Actor] = Actor.AGENT

    stop_reason: StopReason
    llm_call_count: int
    tool_call_count: int
    total_input_tokens: int
    total_output_tokens: int
    total_cost_usd: Decimal
    wall_time_seconds: float
    unknown_values: Mapping[str, str] | UnsetType = UNSET
    """What an imported event has and this version does not define, by field."""


class TurnCancelled(Fact, frozen=True, kw_only=True, tag="turn.cancelled"):
    """The turn was stopped."""

    reason: Literal["user_cancel", "client_disconnect", "timeout"]
    partial_llm_calls: int
    partial_tool_calls: int
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    total_cost_usd: Decimal = Decimal(0)
    unknown_values: Mapping[str, str] | UnsetType = UNSET
    """What an imported event has and this version does not define, by field."""


class TurnEvaluated(Fact, frozen=True, kw_only=True, tag="turn.evaluated"):
    """A model judged a turn after its end; a later evaluation of the same turn replaces it."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    evaluated_turn: str
    """The `turn_id` of the turn."""
    source: Literal["judge"]
    """A model that the user configured; other evaluations follow from the other facts."""
    score: float
    """From 0 to 1."""
    confidence: float
    """From 0 to 1."""
    reason: str
    model: str
    """Canonical id of the model that judged."""
    requests: int
    """Those that it took."""
    cost_usd: Decimal
    """Of these requests, as their `llm.call_completed` have it."""
    rubric: int
    """The version of the instructions to the model."""


class PatternAlternative(Struct, frozen=True, kw_only=True):
    """A model in the most similar past turns."""

    model: str
    score: float
    sample_size: int
    """Of these turns, how many had the model."""


class PolicyEvaluation(Struct, frozen=True, kw_only=True):
    """The result of one slot of the routing chain."""

    policy: str
    """`per_message_override`, `manual_sticky`, `rule`, `pattern`, `delegate_request`,
    `workspace_default` or `global_default`."""
    verdict: Literal["not_applicable", "deferred", "rejected", "chose"]
    candidate_model: str | None = None
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    validation_failure: str | None = None
    pattern_alternatives: tuple[PatternAlternative, ...] | UnsetType = UNSET
    """The models of similar past turns, the best one first."""


class AgreedFallback(Struct, frozen=True, kw_only=True):
    """Another model that the user agreed to for as long as one is unavailable."""

    model: str
    reason: str


class RecommendedModel(Struct, frozen=True, kw_only=True):
    """The model that past turns recommend for a turn."""

    model: str
    reason: str
    confidence: float
    alternatives: tuple[PatternAlternative, ...]


class RouteInputs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a decision was based on, besides the settings, so that it can be made again."""

    settings: str
    """The `settings` of a `routing.snapshot` of the session."""
    override: str | None = None
    """The model that the message names."""
    selected: str | None = None
    """The model that was chosen for the session."""
    retried: str | None = None
    """The model of the turn that the user retried."""
    fallbacks: Mapping[str, AgreedFallback] = {}
    """By the model that is unavailable."""
    needs: tuple[str, ...] = ()
    """The capabilities that the turn requires, as in `routing.snapshot`."""
    selected_needs: tuple[str, ...] | None = None
    """Those for `selected`, if it gets placeholders for earlier media; None: the same."""
    tokens: Mapping[str, int] = {}
    """The estimated tokens of the request, by the models for which the decision needed them."""
    outages: Mapping[str, str] = {}
    """Why models were unavailable."""
    prompt: str | UnsetType = UNSET
    """The prompt that rules tested; unset: that of the `turn.started` of the turn."""
    has_images: bool = False
    """Whether this prompt has images."""
    has_tool_calls: bool = False
    file_extensions: tuple[str, ...] = ()
    skills: tuple[str, ...] | None = None
    """The skills that match the prompt; None: no rule asked for them."""
    spent_today: Decimal | None = None
    """In USD; None: no rule asked for it."""
    pattern: RecommendedModel | UnsetType = UNSET
    """Unset: past turns recommend no model."""
    no_pattern: str | UnsetType = UNSET
    """Why they recommend none; unset: learned routing is off, or they do."""
    local_time: time


class RouteDecided(Fact, frozen=True, kw_only=True, tag="route.decided"):
    """A model was chosen for the turn, or none is available (`winner_index` -1).

    A `deferred` step can follow the one that decided: past turns recommend another model.
    """

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    chosen_model: str | None
    winner_index: int
    elapsed_ms: float
    chain: tuple[PolicyEvaluation, ...]
    inputs: RouteInputs | UnsetType = UNSET
    """Unset: an older version stored the decision, and it cannot be made again."""


class SnapshotModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What decides whether a model can take a turn, but for outages."""

    id: str
    max_context_tokens: int
    supports: tuple[str, ...] = ()
    """Any of `images`, `audio`, `documents`, `tools`, `system_prompt`, `structured_output`."""
    unconfigured: str = ""
    """Why its provider is not configured; empty: it is."""
    ended: str = ""
    """The reason why the provider no longer offers it; empty: it does."""


class RoutingSnapshot(Fact, frozen=True, kw_only=True, tag="routing.snapshot"):
    """Settings that decisions are based on; stored before the first decision with them."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    settings: str
    """A digest of the other fields; equal settings have the same."""
    policy: str
    """The `version` of a `routing.policy_changed` of the session; empty: no rules."""
    workspace: str
    """The real path of the workspace."""
    workspace_default: str | None
    """The default models of the settings, without those of the rules."""
    global_default: str | None
    delegate: str | None = None
    """The model of a worker, from its task."""
    models: tuple[SnapshotModel, ...] = ()
    """The models that the rules, the defaults and the user name, by id."""


class RouteOverridden(Fact, frozen=True, kw_only=True, tag="route.overridden"):
    """The user preferred the model that past turns recommend to the chosen one."""

    actor: ClassVar[Actor] = Actor.USER

    chosen_model: str
    recommended_model: str
    confidence: float


class PatternOverrideDismissed(Fact, frozen=True, kw_only=True, tag="pattern.override_dismissed"):
    """The user hid this recommendation for the rest of the session."""

    actor: ClassVar[Actor] = Actor.USER

    chosen_model: str
    recommended_model: str


class RoutingPolicyChanged(Fact, frozen=True, kw_only=True, tag="routing.policy_changed"):
    """Other rules than before choose the models from here on."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    version: str
    """A digest of the rules; empty without any."""
    policy: dict[str, Any] | UnsetType = UNSET
    """The rules, each with its condition and the id of its model, and the defaults."""


class RoutingPolicyInvalid(Fact, frozen=True, kw_only=True, tag="routing.policy_invalid"):
    """A file of rules has mistakes and is not used."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    policy_path: str
    errors: tuple[str, ...]
    """Each with its line."""
    using_last_known_good: bool
    """Whether the rules that the file had before stay in use."""


class ProviderUnavailable(Fact, frozen=True, kw_only=True, tag="routing.provider_unavailable"):
    """A model or provider was excluded from automatic choices after failures."""

    provider: str
    scope: Literal["model_specific", "provider_wide"]
    models_affected: tuple[str, ...]
    trigger_reason: Literal[
        "5_consecutive_failures", "auth_error", "dns_error", "multi_model_failures"
    ]


class ProviderRecovered(Fact, frozen=True, kw_only=True, tag="routing.provider_recovered"):
    """A model or provider is available again."""

    provider: str
    scope: Literal["model_specific", "provider_wide"]
    models_recovered: tuple[str, ...]
    downtime_seconds: float
