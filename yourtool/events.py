"""Facts: the stored events of a session.

The core yields one stream of facts and deltas (`deltas.py`), which every front end consumes. A
`Fact` is stored before it is displayed; replaying the facts rebuilds the session exactly. Facts are
named in the past tense, and their `type` is the one of the event catalog. They form a tree by
`parent_event_id`, whose root is the `turn.started` of the turn.

A fact that adds a message to the conversation has it in `message`; the store keeps the message in
its own table and only its id in the payload of the event.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias, get_args

from msgspec import Struct

from yourtool.deltas import Notice, ShellStarted, StreamEvent, ToolOutputDelta
from yourtool.effects import SideEffects, ToolHints
from yourtool.messages import Message, StopReason, UsageExtra
from yourtool.models import Effort

UNSTAMPED = datetime(1970, 1, 1, tzinfo=UTC)


class Sensitivity(StrEnum):
    """The minimum privacy class of an event type."""

    PRIVATE = "private"
    USER_CONTROLLED = "user_controlled"
    PSEUDONYMOUS = "pseudonymous"
    AGGREGATABLE = "aggregatable"


class Actor(StrEnum):
    """The originator of an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"


class Fact(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The common fields of stored events."""

    actor: ClassVar[Actor] = Actor.SYSTEM
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PSEUDONYMOUS

    id: str = ""
    """ULID; empty until the fact is recorded, like the other common fields."""
    timestamp: datetime = UNSTAMPED
    session_id: str = ""
    turn_id: str | None = None
    parent_event_id: str | None = None


class SessionCreated(Fact, frozen=True, kw_only=True, tag="session.created"):
    """A session was created."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    workspace_path: str
    workspace_hash: str
    initial_active_model: str | None = None
    routing_policy_version: str = ""


class SessionResumed(Fact, frozen=True, kw_only=True, tag="session.resumed"):
    """A stored session was opened again."""

    workspace_hash: str
    last_event_id_at_resume: str | None = None


class SessionForked(Fact, frozen=True, kw_only=True, tag="session.forked"):
    """The events before were copied from another session, which has their costs."""

    actor: ClassVar[Actor] = Actor.USER

    parent_session_id: str


class SessionImported(Fact, frozen=True, kw_only=True, tag="session.imported"):
    """The events before were imported from a file; their costs are not ours."""

    actor: ClassVar[Actor] = Actor.USER

    source_session_id: str
    """The id of the exported session."""


class SessionModelSelected(Fact, frozen=True, kw_only=True, tag="session.model_selected"):
    """The user set the model of the session, or reset it with `/model -`."""

    actor: ClassVar[Actor] = Actor.USER

    model: str | None
    """None: the default model is used."""
    media_in_words: bool = False
    """Whether the model gets placeholders for unsupported media that are already in the
    session."""


class SessionModelRefused(Fact, frozen=True, kw_only=True, tag="session.model_refused"):
    """The user chose a model that cannot take the session; the active model is unchanged."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    validation_failure: str
    """A failure code of the router, as in `route.decided`."""
    reason: str
    """The text that the user saw."""


class SessionEffortSelected(Fact, frozen=True, kw_only=True, tag="session.effort_selected"):
    """The user set the reasoning effort of the session."""

    actor: ClassVar[Actor] = Actor.USER

    effort: Effort | None
    """None: no effort is sent (`/effort -`)."""


class SessionEnded(Fact, frozen=True, kw_only=True, tag="session.ended"):
    """The program closed a session."""

    disposition: Literal["completed", "abandoned", "error"]
    turn_count: int
    total_cost_usd: Decimal
    duration_seconds: float


class TurnStarted(Fact, frozen=True, kw_only=True, tag="turn.started"):
    """The user sent a prompt."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    user_message_hash: str
    estimated_input_tokens: int
    has_images: bool
    has_tool_calls_in_history: bool
    message: Message | None
    """The prompt; None for a retry, whose prompt is already stored."""


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


class LlmCallStarted(Fact, frozen=True, kw_only=True, tag="llm.call_started"):
    """A request was sent to a model."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    provider: str
    estimated_input_tokens: int
    request_id: str
    is_worker: bool = False
    rejected_through: str | None = None
    """Id of the last message whose provider extras were dropped, because the model rejected the
    request with them."""


class LlmCallCompleted(Fact, frozen=True, kw_only=True, tag="llm.call_completed"):
    """A model replied."""

    actor: ClassVar[Actor] = Actor.AGENT

    model: str
    provider: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_creation_input_tokens: int
    cost_usd: Decimal
    pricing_version: str
    latency_ms: int
    stop_reason: StopReason
    produced_tool_calls: int
    produced_thinking_blocks: int
    provider_tool_ids: dict[str, str] = {}
    """The provider's id of each call, by canonical tool_use id."""
    message: Message

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens

    @property
    def usage_extra(self) -> UsageExtra | None:
        """Additional token counts."""
        return self.message.metadata.usage_extra


class LlmCallFailed(Fact, frozen=True, kw_only=True, tag="llm.call_failed"):
    """An attempt failed; a retry has a higher `retry_count`."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    provider: str
    error_class: str
    error_message_redacted: str
    error_code: str | None = None
    """An `ErrorCode`, if the cause is known more precisely than the class."""
    provider_status: int | None = None
    retryable: bool = False
    retry_count: int
    latency_ms: int
    message: Message | None = None
    """The incomplete reply, if any, with status `error` or `cancelled`."""
    cut_calls: Mapping[str, str] = {}
    """Tool names of incomplete calls, by call id; none of them ran."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None
    """None: the usage is unknown."""
    usage_extra: UsageExtra | None = None

    @property
    def prompt_tokens(self) -> int:
        """All prompt tokens, cached or not."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class ToolCalled(Fact, frozen=True, kw_only=True, tag="tool.called"):
    """A tool starts; stored before it has any effect."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    input_hash: str
    input_size_bytes: int
    side_effects: SideEffects
    hints: ToolHints = ToolHints()


class ToolCompleted(Fact, frozen=True, kw_only=True, tag="tool.completed"):
    """A tool finished; `success` is false if, for example, a command exited with 1."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    success: bool
    output_size_bytes: int
    latency_ms: int
    files_modified: tuple[str, ...] = ()
    command_executed: str | None = None
    message: Message


class ToolFailed(Fact, frozen=True, kw_only=True, tag="tool.failed"):
    """The result of a call is an error; without a `tool.called` before, it never ran."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    error_class: str
    error_message: str
    latency_ms: int
    message: Message


class ToolInputInvalid(Fact, frozen=True, kw_only=True, tag="tool.input_invalid"):
    """The arguments of a call are invalid; the `tool.failed` after it is the model's result."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    validation_errors: tuple[str, ...]


class ToolConfirmationRequested(Fact, frozen=True, kw_only=True, tag="tool.confirmation_requested"):
    """The user was asked for an approval."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    side_effects: SideEffects
    confirmation_request_id: str
    input_summary: str
    projected_modifications: tuple[str, ...] = ()
    command_summary: str | None = None
    rule: str | None = None
    """The permission rule that would allow the call, if there is one."""
    expires_at: datetime | None = None


class ToolConfirmationResolved(Fact, frozen=True, kw_only=True, tag="tool.confirmation_resolved"):
    """The approval request was answered, or cancelled."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    confirmation_request_id: str
    decision: Literal["allow", "deny", "timeout", "cancelled"]
    scope: Literal["once", "session", "always"] | None = None


class ShellRan(Fact, frozen=True, kw_only=True, tag="shell.ran"):
    """A shell command that the user typed ran between turns."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    command: str
    exit_code: int | None
    """Negative for a signal; 126 if it could not start; None if the user stopped it."""
    duration_seconds: float
    truncated: bool
    """Whether the message contains less than the full output."""
    message: Message
    """A user message of three texts: the command after `$ `, its output, its exit status."""


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


AnyFact: TypeAlias = (
    SessionCreated
    | SessionResumed
    | SessionForked
    | SessionImported
    | SessionModelSelected
    | SessionModelRefused
    | SessionEffortSelected
    | SessionEnded
    | TurnStarted
    | TurnCompleted
    | TurnCancelled
    | LlmCallStarted
    | LlmCallCompleted
    | LlmCallFailed
    | ToolCalled
    | ToolCompleted
    | ToolFailed
    | ToolInputInvalid
    | ToolConfirmationRequested
    | ToolConfirmationResolved
    | ShellRan
    | RouteDecided
    | ProviderUnavailable
    | ProviderRecovered
)

FACT_TYPES: Mapping[str, type[AnyFact]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyFact)
}


def message_of(fact: Fact) -> Message | None:
    """Return the message that a fact adds to the conversation, if any."""
    return getattr(fact, "message", None)


Event: TypeAlias = AnyFact | StreamEvent | ToolOutputDelta | ShellStarted | Notice
"""The events that the core yields."""
