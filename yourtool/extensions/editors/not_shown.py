"""Events without an update for clients."""

from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
)
from yourtool.events.context import (
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
)
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.deltas import (
    AttemptFailed,
    MessageStart,
    ShellStarted,
    StreamError,
    TextEnd,
    TextStart,
    ThinkingEnd,
    ThinkingStart,
    ToolOutputDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    UsageUpdate,
)
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestoring
from yourtool.events.guidance import MemoryUpdated, SkillLoaded
from yourtool.events.hooks import HookRan
from yourtool.events.model_calls import LlmCallCostReported, LlmCallFailed, LlmCallStarted
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    EntryImported,
    SessionCreated,
    SessionEnded,
    SessionExtended,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionResumed,
)
from yourtool.events.tools import (
    ProcessesReported,
    ProcessStarted,
    ToolConfirmationRequested,
    ToolInputInvalid,
)
from yourtool.events.turns import (
    PatternOverrideDismissed,
    ProviderRecovered,
    RouteDecided,
    RouteOverridden,
    RoutingSnapshot,
    TurnCancelled,
    TurnCompleted,
    TurnEvaluated,
    TurnStarted,
    TurnSteered,
)

NOT_SHOWN = (
    LlmCallCostReported,
    MessageStart,
    TextStart,
    TextEnd,
    ThinkingStart,
    ThinkingEnd,
    ToolUseInputDelta,
    ToolUseEnd,  # `MessageComplete` has the names with the arguments
    UsageUpdate,
    StreamError,  # the answer to the prompt is the error
    AttemptFailed,
    LlmCallStarted,
    LlmCallFailed,
    ToolOutputDelta,  # the content of a call is always replaced, never extended
    ShellStarted,
    TurnStarted,
    TurnSteered,
    TurnCompleted,
    TurnCancelled,
    TurnEvaluated,
    RouteDecided,
    RoutingSnapshot,
    RouteOverridden,
    PatternOverrideDismissed,
    ToolInputInvalid,
    ToolConfirmationRequested,
    SessionCreated,
    SessionResumed,
    SessionForked,
    SessionImported,
    SessionExtended,
    EntryImported,
    SessionEnded,
    SessionModelRefused,  # the answer to the request is the error
    PolicySnapshot,
    HookRan,
    FilesChanged,
    FileChangeFailed,
    FilesRestoring,
    ProcessStarted,
    ProcessesReported,
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
    SkillLoaded,
    MemoryUpdated,
    BranchSelected,
    BranchLabelled,
    BranchMerged,
    DelegateStarted,
    DelegateCompleted,
    DelegateFailed,
    ProviderRecovered,
)
"""Events without an update."""
