"""Stages of a tool call.

Each stage is complete when it is built, and has the one before it: called, parsed, decided,
running, finished. All of them share the report, to which they add.
"""

import asyncio
import hashlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from yourtool.agent.turn.turn import Turn
from yourtool.effects import HookAdvice, PlanAnswer, Preview
from yourtool.errors import ToolFailure
from yourtool.events.permissions import CallJudgement
from yourtool.events.tools import ToolCalled
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable
from yourtool.messages.blocks import (
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import ResultMessage, now
from yourtool.messages.metadata import ResultMetadata
from yourtool.permissions.judging import CallSubjects, GateDecision
from yourtool.settings.config import Mode
from yourtool.tools.base import (
    ToolOutput,
)
from yourtool.tools.git.lost_work import LostWork
from yourtool.tools.guidance.delegate import DELEGATE
from yourtool.tools.processes.terminal_text import apply_erasures
from yourtool.tools.protection.safety_copies import SafetyCopy
from yourtool.tools.toolset import Tool

KEEP_PLANNING = "The user did not approve the plan; plan mode stays on."
AFTER_PLAN = "Not run: the user had answered your plan. Call it again if it is part of the plan."
UNANSWERED_PLAN = "The plan is the answer of this turn: no user is present to approve it."
CHANGED_PLAN = "The user changed the plan. This is the plan that they approved:\n"
PLAN_GOES_ELSEWHERE = "The plan is not carried out in this turn: the user continues {}."
_ELSEWHERE = {PlanAnswer.MODEL: "with another model", PlanAnswer.FRESH: "in a new session"}
_MAX_EDIT_CHARACTERS = 4_000
"""Characters of a changed call that the model gets; it can read the file."""
_MAX_PARTIAL_CHARACTERS = 4_000
"""Characters of a stopped tool's output that its result contains."""
_MAX_ASKED_CHARACTERS = 60
"""Characters of what a program asks that the question for its input has."""
_SHORT_CHARACTERS = 16_384
"""Outputs up to this length are masked without a thread, because a thread takes longer."""
BUG_MESSAGE = "`{}` failed with an internal error (see the log). Use another tool."
"""Message for the model, with the name of the tool."""


class CallReport(Struct):
    """Notes and details of a call, for its facts."""

    notes: list[str] = []
    """Notes for the model, which follow the result."""
    outputs: list[str] = []
    """Texts for the model and the user, which follow the output."""
    details: dict[str, Any] = {}
    """Details of the result that the tool does not have."""
    ends_turn: bool = False
    """Whether the turn ends after the calls of its reply."""
    judgement: CallJudgement | UnsetType = UNSET
    """The decision on the call, until a fact has it."""

    def note(self, *texts: str) -> None:
        """Add notes for the model."""
        self.notes += texts

    def take_judgement(self) -> CallJudgement | UnsetType:
        """Return the decision on the call for the next fact; later ones do not have it."""
        taken, self.judgement = self.judgement, UNSET
        return taken


class ToolCall(Struct, frozen=True):
    """A call as it is in a reply."""

    block: ToolUseBlock
    message_id: str
    """Id of the message with the result."""
    following: int
    """The number of later calls in the same reply."""
    parent: str
    """Event id of the parent of the next fact about it."""
    report: CallReport = field(default_factory=CallReport)

    @property
    def delegates(self) -> bool:
        """True if a worker does the work."""
        return self.block.name == DELEGATE

    def build_result(
        self,
        session_id: str,
        content: tuple[TextBlock | ImageBlock, ...],
        notes: tuple[TextBlock, ...],
        output: ToolOutput | None = None,
    ) -> ResultMessage:
        """Return the message with the result; without an `output` it is an error."""
        details: dict[str, Any] = {**((output and output.details) or {}), **self.report.details}
        content += to_text_blocks(*self.report.outputs)
        if lines := sum(note.text.count("\n") + 1 for note in notes):
            details["note_lines"] = details.get("note_lines", 0) + lines
        return ResultMessage(
            id=self.message_id,
            session_id=session_id,
            content=(
                ToolResultBlock(
                    self.block.id, content + notes, output is None or not output.success
                ),
            ),
            metadata=ResultMetadata(
                parent_tool_use_id=self.block.id,
                details=details or None,
                terminate=output is not None and output.terminate,
            ),
            created_at=now(),
        )


class CallArguments(Struct, frozen=True):
    """Arguments as the model, the user or a hook gave them."""

    values: dict[str, Any]
    is_edited: bool = False
    """True if the user changed them."""
    hook: str = ""
    """The name of the hook that changed them last."""


class ParsedCall(Struct, frozen=True):
    """A call with valid arguments."""

    call: ToolCall
    tool: Tool
    given: CallArguments
    adjusted: dict[str, Any]
    """The arguments in the form of the tool's schema."""
    args: Any
    """The result of `tool.parse`."""
    subjects: CallSubjects
    mask: Mask
    """Masks keys in the result."""

    @property
    def paths(self) -> list[str]:
        """The real paths that it is about, as they were when it was parsed."""
        return [each.text for each in self.subjects.items if each.kind == "path"]


class DecidedCall(Struct, frozen=True):
    """A call with the decision on it; one that may run, unless it is denied or a question."""

    parsed: ParsedCall
    decision: GateDecision
    preview: Preview | None = None
    """The preview for the user, which the tool gets as approved."""
    advice: HookAdvice | None = None
    """The decision of hooks about it."""
    lost_work: LostWork | None = None
    """The uncommitted work that it would discard, without a safety copy."""

    @property
    def call(self) -> ToolCall:
        """The call as it is in the reply."""
        return self.parsed.call

    @property
    def runs_unasked(self) -> bool:
        """True if it runs without an approval: a call that the user changed never does."""
        return self.decision.verdict == "allow" and not self.parsed.given.is_edited


class RunningCall(Struct, frozen=True):
    """A call whose start is recorded."""

    call: ToolCall
    """The parent of its facts is its start."""
    decided: DecidedCall
    copy: SafetyCopy | None = None
    """The safety copy that was made before it ran."""
    is_outside_sandbox: bool = False
    """True if the user allowed it outside the sandbox, after it failed in it."""
    started: float = field(default_factory=time.monotonic)
    """Monotonic seconds."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    recent_output: deque[str] = field(default_factory=lambda: deque[str](maxlen=200))

    @property
    def parsed(self) -> ParsedCall:
        """The arguments."""
        return self.decided.parsed

    @property
    def elapsed_ms(self) -> int:
        """Milliseconds since the tool started."""
        return round((time.monotonic() - self.started) * 1000)

    def describe_stop(self) -> str:
        """Return the result of a call that the user stopped, with the end of its output."""
        output, mask = apply_erasures("".join(self.recent_output)), self.parsed.mask
        tail = mask.slice(output, max(0, len(output) - _MAX_PARTIAL_CHARACTERS), len(output))
        return "Stopped by the user." + (f" Output until then:\n{tail}" if tail else "")


class FinishedCall(Struct, frozen=True):
    """The end of a call that ran: its output or its failure."""

    running: RunningCall
    output: ToolOutput | None
    failure: ToolFailure = ToolFailure.EXECUTION_ERROR
    error_message: str = ""


def build_called_fact(decided: DecidedCall) -> ToolCalled:
    """Return the fact that the tool starts."""
    block, definition = decided.call.block, decided.parsed.tool.definition
    data = canonical_json(decided.parsed.given.values)
    return ToolCalled(
        tool_use_id=block.id,
        tool_name=block.name,
        input_hash=hashlib.sha256(data).hexdigest(),
        input_size_bytes=len(data),
        side_effects=definition.side_effects,
        hints=definition.hints,
        judgement=decided.call.report.take_judgement(),
        sandbox=(decided.preview and decided.preview.sandbox) or UNSET,
    )


async def load_mask(turn: Turn) -> Mask:
    """Return the mask of keys for a call that is not parsed."""
    return await asyncio.to_thread(turn.env.place.mask)


def to_text_blocks(*texts: str) -> tuple[TextBlock, ...]:
    """Return texts as the content of a result."""
    return tuple(TextBlock(storable(text)) for text in texts)


async def mask_output(output: ToolOutput, mask: Mask) -> ToolOutput:
    """Return the output of a tool with every known key masked, in a thread if it is long."""
    texts = (block.text for block in output.content if isinstance(block, TextBlock))
    if not output.details and sum(map(len, texts)) <= _SHORT_CHARACTERS:
        return _mask(output, mask)
    return await asyncio.to_thread(_mask, output, mask)


def _mask(output: ToolOutput, mask: Mask) -> ToolOutput:
    """Return the output of a tool with every known key masked."""
    command = output.command_executed
    return replace(
        output,
        content=tuple(
            replace(block, text=mask.text(block.text)) if isinstance(block, TextBlock) else block
            for block in output.content
        ),
        details=mask.value(output.details),
        files_modified=tuple(map(mask.text, output.files_modified)),
        command_executed=None if command is None else mask.text(command),
    )


def describe_changes(decided: DecidedCall) -> Iterator[str]:
    """Yield notes for the model about a call that the user or a hook changed."""
    parsed, body = decided.parsed, decided.preview.body if decided.preview is not None else ""
    if parsed.given.is_edited and parsed.tool.definition.ends_planning:
        yield f"{CHANGED_PLAN}{parsed.mask.text(body)}"
    elif parsed.given.is_edited:
        rest = "\n… [truncated]" if len(body) > _MAX_EDIT_CHARACTERS else ""
        shown = parsed.mask.slice(body, 0, _MAX_EDIT_CHARACTERS)
        yield f"The user changed this call before it ran. This is what ran:\n{shown}{rest}"
    if hook := parsed.given.hook:
        arguments = canonical_json(parsed.given.values).decode()
        rest = "… [truncated]" if len(arguments) > _MAX_EDIT_CHARACTERS else ""
        shown = parsed.mask.slice(arguments, 0, _MAX_EDIT_CHARACTERS)
        yield f"The hook `{hook}` changed this call before it ran. It ran with {shown}{rest}"


def leave_plan_mode(report: CallReport, answer: PlanAnswer | None, turn: Turn) -> None:
    """Set the mode after an approved plan; end the turn if the plan is carried out elsewhere."""
    turn.env.gate.mode = Mode.ACCEPT_EDITS if answer is PlanAnswer.ACCEPT_EDITS else Mode.ASK
    if answer is not None and answer.ends_turn:
        report.ends_turn = True
        report.note(PLAN_GOES_ELSEWHERE.format(_ELSEWHERE[answer]))
