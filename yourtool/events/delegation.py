"""Facts about delegated tasks."""

from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias

from yourtool.events.facts import Actor, Fact, Sensitivity

DelegationFailure: TypeAlias = Literal[
    "worker_error",
    "max_tokens_exceeded",
    "insufficient_context",
    "output_schema_validation_failed",
    "no_model_available",
    "limit_reached",
    "cancelled_by_user",
    "timeout",
]
"""Why a worker returned no result."""


class DelegateStarted(Fact, frozen=True, kw_only=True, tag="delegate.started"):
    """A worker started with a task of the model."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    worker_session_id: str
    worker_name: str
    """How front ends call it, such as `worker 2`."""
    tier: str
    """`fast`, `balanced`, `deep`, or empty: the model of the delegating turn."""
    requested_model: str
    """The model of the tier; the route of the worker's turn has the model that it got."""
    context_mode: Literal["minimal", "explicit"]
    context_reference_count: int
    task_size_tokens: int
    allowed_tool_count: int
    dropped_tools: tuple[str, ...] = ()
    """Tools that the model allowed but a worker cannot have."""
    depth: int = 1
    """1: started by the user's session; 2: by a worker of it; and so on."""


class DelegatedWork(Fact, frozen=True, kw_only=True):
    """What a worker has used, with the workers that it started."""

    tool_use_id: str
    worker_session_id: str
    model: str
    llm_call_count: int
    tool_call_count: int
    total_tokens: int
    total_cost_usd: Decimal
    unpriced: bool = False
    """Whether the price of a request is unknown, so that the cost is too low."""
    wall_time_seconds: float


class DelegateCompleted(DelegatedWork, frozen=True, kw_only=True, tag="delegate.completed"):
    """A worker returned a result."""

    output_size_bytes: int


class DelegateFailed(DelegatedWork, frozen=True, kw_only=True, tag="delegate.failed"):
    """A worker ended without a result; its cost is counted."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    failure_mode: DelegationFailure
    error_message: str
