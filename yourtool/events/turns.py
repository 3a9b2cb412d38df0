"""Facts about a turn: its prompt, its end, and the choice of the model."""

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


class TurnCancelled(Fact, frozen=True, kw_only=True, tag="turn.cancelled"):
    """The turn was stopped."""

    reason: Literal["user_cancel", "client_disconnect", "timeout"]
    partial_llm_calls: int
    partial_tool_calls: int
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    total_cost_usd: Decimal = Decimal(0)


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


class RouteDecided(Fact, frozen=True, kw_only=True, tag="route.decided"):
    """A model was chosen for the turn, or none is available (`winner_index` -1)."""

    chosen_model: str | None
    winner_index: int
    elapsed_ms: float
    chain: tuple[PolicyEvaluation, ...]


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
