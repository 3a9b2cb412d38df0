"""Event catalog."""

from collections.abc import Mapping
from typing import TypeAlias, get_args

from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
)
from yourtool.events.budgets import BudgetReached, BudgetWarned
from yourtool.events.context import (
    ContextCompacted,
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
)
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.deltas import Notice, ShellStarted, StreamEvent, ToolOutputDelta
from yourtool.events.facts import Fact
from yourtool.events.files import (
    FileChangeFailed,
    FilesChanged,
    FilesRestored,
    FilesRestoring,
)
from yourtool.events.guidance import MemoryUpdated, SkillLoaded
from yourtool.events.hooks import HookRan
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallCostReported,
    LlmCallFailed,
    LlmCallStarted,
)
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    EntryImported,
    SessionCreated,
    SessionEffortSelected,
    SessionEnded,
    SessionExtended,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
    SessionResumed,
)
from yourtool.events.tools import (
    ProcessEnded,
    ProcessesReported,
    ProcessStarted,
    ShellRan,
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
    ToolInputInvalid,
)
from yourtool.events.turns import (
    PatternOverrideDismissed,
    ProviderRecovered,
    ProviderUnavailable,
    RouteDecided,
    RouteOverridden,
    RoutingPolicyChanged,
    RoutingPolicyInvalid,
    RoutingSnapshot,
    TurnCancelled,
    TurnCompleted,
    TurnEvaluated,
    TurnStarted,
    TurnSteered,
)
from yourtool.messages.message import Message

AnyFact: TypeAlias = (
    SessionCreated
    | SessionResumed
    | SessionForked
    | SessionImported
    | SessionExtended
    | EntryImported
    | SessionModelSelected
    | SessionModelRefused
    | SessionEffortSelected
    | SessionRenamed
    | SessionEnded
    | TurnStarted
    | TurnSteered
    | TurnCompleted
    | TurnCancelled
    | TurnEvaluated
    | LlmCallStarted
    | LlmCallCompleted
    | LlmCallFailed
    | LlmCallCostReported
    | ToolCalled
    | ToolCompleted
    | ToolFailed
    | ToolInputInvalid
    | ToolConfirmationRequested
    | ToolConfirmationResolved
    | PolicySnapshot
    | HookRan
    | ShellRan
    | FilesChanged
    | FileChangeFailed
    | FilesRestoring
    | FilesRestored
    | ProcessStarted
    | ProcessEnded
    | ProcessesReported
    | ContextElided
    | ContextHandedOver
    | ContextCompacted
    | ContextOverridden
    | SkillLoaded
    | MemoryUpdated
    | BranchSelected
    | BranchLabelled
    | BranchSummarised
    | BranchMerged
    | EntryAdded
    | DelegateStarted
    | DelegateCompleted
    | DelegateFailed
    | RouteDecided
    | RouteOverridden
    | PatternOverrideDismissed
    | RoutingPolicyChanged
    | RoutingPolicyInvalid
    | RoutingSnapshot
    | ProviderUnavailable
    | ProviderRecovered
    | BudgetWarned
    | BudgetReached
)

FACT_TYPES: Mapping[str, type[AnyFact]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyFact)
}


def message_of(fact: Fact) -> Message | None:
    """Return the message that a fact adds to the conversation, if any."""
    return getattr(fact, "message", None)


Event: TypeAlias = AnyFact | StreamEvent | ToolOutputDelta | ShellStarted | Notice
"""The events that the core yields."""
