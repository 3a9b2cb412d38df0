"""What happened: the one stream that the core yields and every front end consumes.

A `Fact` is written to the session log before it is shown; replaying the facts rebuilds the session
exactly. Between facts come deltas (`deltas.py`), which are only shown. Facts are named in the past
tense, and their `type` is the catalog's. They form a tree by `parent_event_id` whose root is the
turn's `turn.started`.

A fact that brings a message into the conversation carries it as `message`; the log stores that
message in its own table and only its id in the event's payload.
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
    """The most private thing an event of a type can hold; a floor."""

    PRIVATE = "private"
    USER_CONTROLLED = "user_controlled"
    PSEUDONYMOUS = "pseudonymous"
    AGGREGATABLE = "aggregatable"


class Actor(StrEnum):
    """Who caused it."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"


class Fact(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Something that happened: the envelope every stored event shares."""

    actor: ClassVar[Actor] = Actor.SYSTEM
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PSEUDONYMOUS

    id: str = ""
    """ULID. The envelope is stamped when the fact is recorded; until then it is empty."""
    timestamp: datetime = UNSTAMPED
    session_id: str = ""
    turn_id: str | None = None
    parent_event_id: str | None = None


class SessionCreated(Fact, frozen=True, kw_only=True, tag="session.created"):
    """A session began."""

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
    """What stands before was copied from another session, and paid for there."""

    actor: ClassVar[Actor] = Actor.USER

    parent_session_id: str


class SessionImported(Fact, frozen=True, kw_only=True, tag="session.imported"):
    """What stands before came from a file, and was paid for elsewhere."""

    actor: ClassVar[Actor] = Actor.USER

    source_session_id: str
    """The id that the session had where it was exported."""


class SessionModelSelected(Fact, frozen=True, kw_only=True, tag="session.model_selected"):
    """The user chose a model for the session, or gave the choice back with `/model -`."""

    actor: ClassVar[Actor] = Actor.USER

    model: str | None
    """None: no explicit choice any more."""
    media_in_words: bool = False
    """Whether the model is sent placeholders for the media that it takes none of, as far as they
    are in the session already."""


class SessionModelRefused(Fact, frozen=True, kw_only=True, tag="session.model_refused"):
    """The user chose a model that cannot take the session; the active model did not change."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    validation_failure: str
    """A code of the router's, as in `route.decided`."""
    reason: str
    """What the user was shown."""


class SessionEffortSelected(Fact, frozen=True, kw_only=True, tag="session.effort_selected"):
    """The user chose a reasoning effort for the session."""

    actor: ClassVar[Actor] = Actor.USER

    effort: Effort | None
    """None: every model thinks as it likes (`/effort -`)."""


class SessionEnded(Fact, frozen=True, kw_only=True, tag="session.ended"):
    """The program let go of a session."""

    disposition: Literal["completed", "abandoned", "error"]
    turn_count: int
    total_cost_usd: Decimal
    duration_seconds: float


class TurnStarted(Fact, frozen=True, kw_only=True, tag="turn.started"):
    """The user said something."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    user_message_hash: str
    estimated_input_tokens: int
    has_images: bool
    has_tool_calls_in_history: bool
    message: Message | None
    """The user's; None when a turn is tried again over a message that is stored already."""


class TurnCompleted(Fact, frozen=True, kw_only=True, tag="turn.completed"):
    """The turn is over, well or with an error that `llm.call_failed` tells."""

    actor: ClassVar[Actor] = Actor.AGENT

    stop_reason: StopReason
    llm_call_count: int
    tool_call_count: int
    total_input_tokens: int
    total_output_tokens: int
    total_cost_usd: Decimal
    wall_time_seconds: float


class TurnCancelled(Fact, frozen=True, kw_only=True, tag="turn.cancelled"):
    """The turn was stopped before its end."""

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
    """Up to this message the request left out what only its model can read: the model rejected
    the same request with it."""


class LlmCallCompleted(Fact, frozen=True, kw_only=True, tag="llm.call_completed"):
    """A model answered."""

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
    """Canonical tool_use id to the provider's id of the same call."""
    message: Message

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens

    @property
    def usage_extra(self) -> UsageExtra | None:
        """What else is known about the tokens."""
        return self.message.metadata.usage_extra


class LlmCallFailed(Fact, frozen=True, kw_only=True, tag="llm.call_failed"):
    """An attempt failed; another may follow, with a higher `retry_count`."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    provider: str
    error_class: str
    error_message_redacted: str
    error_code: str | None = None
    """An `ErrorCode`, where more is known than the class."""
    provider_status: int | None = None
    retryable: bool = False
    retry_count: int
    latency_ms: int
    message: Message | None = None
    """What had arrived by then, if anything, with status `error` or `cancelled`."""
    cut_calls: Mapping[str, str] = {}
    """The tools of calls that had begun to arrive, by the id of the call; none of them ran."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    pricing_version: str | None = None
    """None: no usage is known."""
    usage_extra: UsageExtra | None = None

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt."""
        return self.input_tokens + self.cached_input_tokens + self.cache_creation_input_tokens


class ToolCalled(Fact, frozen=True, kw_only=True, tag="tool.called"):
    """A tool began to run; written before it has any effect."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    input_hash: str
    input_size_bytes: int
    side_effects: SideEffects
    hints: ToolHints = ToolHints()


class ToolCompleted(Fact, frozen=True, kw_only=True, tag="tool.completed"):
    """A tool ran to its end; `success` is false for, say, a command that exited with 1."""

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
    """A call has an error for a result; without a `tool.called` before it, it never ran."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    error_class: str
    error_message: str
    latency_ms: int
    message: Message


class ToolInputInvalid(Fact, frozen=True, kw_only=True, tag="tool.input_invalid"):
    """The arguments of a call do not fit the tool; the `tool.failed` after it answers the model."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    validation_errors: tuple[str, ...]


class ToolConfirmationRequested(Fact, frozen=True, kw_only=True, tag="tool.confirmation_requested"):
    """The user was asked."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    side_effects: SideEffects
    confirmation_request_id: str
    input_summary: str
    projected_modifications: tuple[str, ...] = ()
    command_summary: str | None = None
    rule: str | None = None
    """The permission rule that would have made the question unnecessary; None: there is none."""
    expires_at: datetime | None = None


class ToolConfirmationResolved(Fact, frozen=True, kw_only=True, tag="tool.confirmation_resolved"):
    """The question has an answer, or never will."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    confirmation_request_id: str
    decision: Literal["allow", "deny", "timeout", "cancelled"]
    scope: Literal["once", "session", "always"] | None = None


class ShellRan(Fact, frozen=True, kw_only=True, tag="shell.ran"):
    """A command that the user typed was run, between turns; no model asked for it."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    command: str
    exit_code: int | None
    """Negative for a signal; 126 if it could not be started; None: the user stopped it."""
    duration_seconds: float
    truncated: bool
    """Whether the message holds less than was printed."""
    message: Message
    """The user's, of three texts: the command after `$ `, what it printed, and how it ended."""


class PolicyEvaluation(Struct, frozen=True, kw_only=True):
    """What one slot of the routing chain said."""

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
    """A model was chosen for the turn, or none could serve (`winner_index` -1)."""

    chosen_model: str | None
    winner_index: int
    elapsed_ms: float
    chain: tuple[PolicyEvaluation, ...]


class ProviderUnavailable(Fact, frozen=True, kw_only=True, tag="routing.provider_unavailable"):
    """Failures took a model or a whole provider out of routing."""

    provider: str
    scope: Literal["model_specific", "provider_wide"]
    models_affected: tuple[str, ...]
    trigger_reason: Literal[
        "5_consecutive_failures", "auth_error", "dns_error", "multi_model_failures"
    ]


class ProviderRecovered(Fact, frozen=True, kw_only=True, tag="routing.provider_recovered"):
    """It serves again."""

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
    """Return the message that a fact brings into the conversation, if it brings one."""
    return getattr(fact, "message", None)


Event: TypeAlias = AnyFact | StreamEvent | ToolOutputDelta | ShellStarted | Notice
"""What the core yields."""
