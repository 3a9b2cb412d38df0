"""Facts about tool calls and shell commands."""

from datetime import datetime
from typing import ClassVar, Literal

from msgspec import UNSET, UnsetType

from yourtool.effects import PlanAnswer, SideEffects, ToolHints
from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.events.permissions import CallJudgement
from yourtool.messages.message import PromptMessage, ResultMessage
from yourtool.settings.sandbox_config import SandboxLevel


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
    judgement: CallJudgement | UnsetType = UNSET
    """The decision to run it without a question."""
    sandbox: SandboxLevel | UnsetType = UNSET
    """The level in which a command runs. If the user let it run again outside, because it failed,
    the details of its result have `none`."""


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
    message: ResultMessage


class ToolFailed(Fact, frozen=True, kw_only=True, tag="tool.failed"):
    """The result of a call is an error; without a `tool.called` before, it never ran."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    tool_name: str
    error_class: str
    error_message: str
    latency_ms: int
    judgement: CallJudgement | UnsetType = UNSET
    """The decision on it, if no other fact has it."""
    message: ResultMessage


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
    """The first of the `rules`."""
    rules: tuple[str, ...] | UnsetType = UNSET
    """The permission rules that together would allow the call, if there are any."""
    expires_at: datetime | None = None
    judgement: CallJudgement | UnsetType = UNSET
    """The decision to ask."""


class ToolConfirmationResolved(Fact, frozen=True, kw_only=True, tag="tool.confirmation_resolved"):
    """The approval request was answered, or cancelled."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    tool_use_id: str
    confirmation_request_id: str
    decision: Literal["allow", "deny", "edit", "timeout", "cancelled"]
    """`edit`: the user changed the call, and another request follows."""
    scope: Literal["once", "session", "always"] | None = None
    plan: PlanAnswer | UnsetType = UNSET
    """How the plan that the user allowed is carried out."""


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
    message: PromptMessage
    """A user message of three texts: the command after `$ `, its output, its exit status."""


class ProcessStarted(Fact, frozen=True, kw_only=True, tag="process.started"):
    """A command of a call moved to the background."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    process_id: str
    """Such as `p1`; unique in the session."""
    command: str


class ProcessEnded(Fact, frozen=True, kw_only=True, tag="process.ended"):
    """A background process ended."""

    actor: ClassVar[Actor] = Actor.TOOL
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    process_id: str
    command: str
    reason: Literal["exited", "stopped", "session_ended", "program_died"]
    """`stopped`: by a call or the user. `program_died`: it is found when the session is resumed."""
    exit_code: int | None = None
    """Negative for a signal; None unless it exited."""


class ProcessesReported(Fact, frozen=True, kw_only=True, tag="process.reported"):
    """The model learns before a turn which processes have ended."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    message: PromptMessage
