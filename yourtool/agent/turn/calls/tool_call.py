"""Tool call from reply to result."""

import asyncio
import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from yourtool.agent.session_environment import DelegatingCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import (
    Confirmation,
    Decision,
    HookAdvice,
    PlanAnswer,
    Preview,
    Verdict,
)
from yourtool.errors import ToolFailure
from yourtool.events.deltas import Notice
from yourtool.events.permissions import CallJudgement
from yourtool.events.tools import ToolCalled
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable
from yourtool.ids import new_id
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
from yourtool.tools.background import AskInput, InputChoice, RunningCommand
from yourtool.tools.base import (
    AskText,
    Delegator,
    ToolContext,
    ToolOutput,
)
from yourtool.tools.changes.journal import ChangeJournal, NoJournal
from yourtool.tools.commands.process_tools import describe_ended
from yourtool.tools.commands.shell import describe_input
from yourtool.tools.git.lost_work import LostWork
from yourtool.tools.guidance.delegate import DELEGATE
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


class ToolCall(Struct):
    """A tool call and the state of its processing."""

    block: ToolUseBlock
    message_id: str
    """Id of the message with the result."""
    following: int = 0
    """The number of later calls in the same reply."""
    edited_input: dict[str, Any] | None = None
    """The user's arguments, which replace the model's."""
    hooked_input: dict[str, Any] | None = None
    """The arguments as a hook changed them, which replace both."""
    changed_by_hook: str = ""
    """The name of that hook."""
    subjects: CallSubjects = field(default_factory=lambda: CallSubjects(()))
    """What it is about, after it was parsed."""
    decision: GateDecision = field(default_factory=lambda: GateDecision("ask"))
    """The last decision on it."""
    advice: HookAdvice | None = None
    """What hooks decided about it."""
    adjusted_input: dict[str, Any] | None = None
    """The arguments in the form of the tool's schema, after they were parsed."""
    answer: Decision | None = None
    """The user's last answer."""
    tool: Tool | None = None
    args: Any = None
    """The result of `tool.parse`."""
    preview: Preview | None = None
    ends_turn: bool = False
    """Whether the turn ends after the calls of its reply."""
    command: str | None = None
    """What runs in place of the command of the arguments, which needed no approval."""
    only_reads: bool = False
    """Whether it needed none because it only reads."""
    judgement: CallJudgement | UnsetType = UNSET
    """The decision on it, until a fact has it."""
    lost_work: LostWork | None = None
    """The uncommitted work that it would discard, until there is a safety copy."""
    copy: SafetyCopy | None = None
    """The safety copy that was made before it ran."""
    is_outside_sandbox: bool = False
    """Whether the user allowed this call outside the sandbox, after it failed in it."""
    runs_again: bool = False
    """Whether the user allowed what the sandbox refused it, so that it runs a second time."""
    notes: tuple[str, ...] = ()
    """Notes for the model, appended to the result."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """Details of the result that the tool does not have."""
    mask: Mask | None = None
    """Masks keys in the result; see `load_mask`."""
    parent: str = ""
    started: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)
    recent_output: deque[str] = field(default_factory=lambda: deque[str](maxlen=200))

    @property
    def input(self) -> dict[str, Any]:
        """The arguments with which it runs."""
        changed = (each for each in (self.hooked_input, self.edited_input) if each is not None)
        return next(changed, self.block.input)

    @property
    def delegates(self) -> bool:
        """Whether a worker does the work."""
        return self.block.name == DELEGATE

    @property
    def elapsed_ms(self) -> int:
        """Milliseconds since the tool started; 0 if it never did."""
        return round((time.monotonic() - self.started) * 1000) if self.started else 0

    async def load_mask(self, turn: Turn) -> Mask:
        """Return the mask, which is built when it is first needed."""
        if self.mask is None:
            self.mask = await asyncio.to_thread(turn.env.mask)
        return self.mask

    def edit(self, arguments: dict[str, Any] | None) -> None:
        """Replace the arguments by those of the user; hooks will get these."""
        self.edited_input, self.hooked_input, self.changed_by_hook = arguments, None, ""

    async def add_instructions(self, turn: Turn) -> list[Notice]:
        """Add the instructions of the directories that it used; return notices for the user."""
        if self.tool is None or self.tool.definition.subject_kind != "path":
            return []
        notes, notices = await asyncio.to_thread(self._find_instructions, turn)
        mask = await self.load_mask(turn)
        self.notes += tuple(map(mask.text, notes))
        return turn.env.new_notices(*notices)

    def _find_instructions(self, turn: Turn) -> tuple[list[str], list[str]]:
        return turn.find_instructions(self.find_paths())

    def find_paths(self) -> list[str]:
        """Return the real paths that it is about, as they were when it was judged."""
        return [each.text for each in self.subjects.items if each.kind == "path"]

    async def describe_stop(self, turn: Turn) -> str:
        """Return the result of a running call that the user stopped, with the end of its output."""
        output, mask = "".join(self.recent_output), await self.load_mask(turn)
        tail = mask.slice(output, max(0, len(output) - _MAX_PARTIAL_CHARACTERS), len(output))
        return "Stopped by the user." + (f" Output until then:\n{tail}" if tail else "")

    async def build_context(
        self,
        turn: Turn,
        emit: Callable[[str], None] | None = None,
        journal: ChangeJournal | None = None,
    ) -> ToolContext:
        """Return what the tool can use.

        `emit`: displays live output; by default the output is only stored. `journal`: records
        changes of files; a preview has none.
        """
        can = turn.model.capabilities
        return ToolContext(
            workspace=turn.env.workspace,
            tool_use_id=self.block.id,
            emit=emit or self.recent_output.append,
            cancelled=self.cancelled,
            spill=turn.env.spill,
            reads=turn.reads,
            mask=await self.load_mask(turn),
            journal=journal or NoJournal(),
            approved=self.preview,
            command=self.command,
            only_reads=self.only_reads,
            environments=turn.env.environments,
            processes=turn.env.processes,
            unsaved=turn.env.unsaved,
            sandbox=None if self.is_outside_sandbox else turn.env.sandbox,
            ask_input=self._build_ask_input(turn),
            ask_text=self._build_ask_text(turn),
            image_limit=can.max_image_bytes if can.supports_images else 0,
        )

    def _build_ask_input(self, turn: Turn) -> AskInput | None:
        """Return what asks the user for the input of a running command; None without a user."""
        if not turn.env.interactive:
            return None

        async def ask(process: RunningCommand) -> str | InputChoice:
            what, last = describe_input(process.input_kind), process.last_line.strip()
            last = (
                last if len(last) <= _MAX_ASKED_CHARACTERS else f"…{last[-_MAX_ASKED_CHARACTERS:]}"
            )
            # The question is cut at the width of the screen, so the command is at its end.
            title = f"It {what}{f': {last}' if last else ''} · {process.command}"
            kind = "password" if process.input_kind == "password" else "input"
            question = Confirmation(id=new_id(), kind=kind, title=title, tool_use_id=self.block.id)
            decision = await turn.env.confirm(question)
            if decision.verdict is not Verdict.ALLOW:
                return InputChoice.STOP
            return InputChoice.BACKGROUND if decision.typed is None else decision.typed

        return ask

    def _build_ask_text(self, turn: Turn) -> AskText | None:
        """Return what asks the user for a text; None without a user."""
        if not turn.env.interactive:
            return None

        async def ask(title: str, details: str, choices: tuple[str, ...] = ()) -> str | None:
            question = Confirmation(
                id=new_id(),
                kind="question",
                title=title,
                tool_use_id=self.block.id,
                reason=details,
                choices=choices,
            )
            decision = await turn.env.confirm(question)
            return decision.typed if decision.verdict is Verdict.ALLOW else None

        return ask

    def build_delegator(self, turn: Turn) -> Delegator | None:
        """Return what starts workers for this call; None for every other tool."""
        if turn.env.tasks is None or not self.delegates:
            return None
        return turn.env.tasks.bind(
            DelegatingCall(
                env=turn.env,
                session_id=turn.session_id,
                model_id=turn.model.id,
                toolbox=turn.toolbox,
                channel=turn.channel,
                tool_use_id=self.block.id,
                parent=self.parent,
            )
        )

    def take_notes(self, turn: Turn) -> tuple[TextBlock, ...]:
        """Return what follows the result: notes on the call, and the processes that have ended."""
        return to_text_blocks(*self.notes, *describe_ended(turn.env.processes.take_ended()))

    def build_called_fact(self) -> ToolCalled:
        """Return the fact that the tool starts."""
        data = canonical_json(self.input)
        assert self.tool is not None, "only admitted calls are run"
        definition = self.tool.definition
        return ToolCalled(
            tool_use_id=self.block.id,
            tool_name=self.block.name,
            input_hash=hashlib.sha256(data).hexdigest(),
            input_size_bytes=len(data),
            side_effects=definition.side_effects,
            hints=definition.hints,
            judgement=self.judgement,
            sandbox=(self.preview and self.preview.sandbox) or UNSET,
        )

    def build_result(
        self,
        session_id: str,
        content: tuple[TextBlock | ImageBlock, ...],
        output: ToolOutput | None = None,
    ) -> ResultMessage:
        """Return the message with the result; without an `output` it is an error."""
        is_error = output is None or not output.success
        details = self.details or None
        metadata = ResultMetadata(parent_tool_use_id=self.block.id, details=details)
        if output is not None:
            metadata = ResultMetadata(
                parent_tool_use_id=self.block.id,
                details={**(output.details or {}), **details} if details else output.details,
                terminate=output.terminate,
            )
        return ResultMessage(
            id=self.message_id,
            session_id=session_id,
            content=(ToolResultBlock(self.block.id, content, is_error),),
            metadata=metadata,
            created_at=now(),
        )


class ToolOutcome(Struct):
    """The end of a call that ran: its output or its failure."""

    call: ToolCall
    output: ToolOutput | None
    failure: ToolFailure | None = None
    error_message: str = ""


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


def describe_edit(call: ToolCall, mask: Mask) -> str:
    """Return the note for the model about a call that the user changed; a plan is complete."""
    body = call.preview.body if call.preview is not None else ""
    if call.tool is not None and call.tool.definition.ends_planning:
        return f"{CHANGED_PLAN}{mask.text(body)}"
    shown = mask.slice(body, 0, _MAX_EDIT_CHARACTERS)
    rest = "\n… [truncated]" if len(body) > _MAX_EDIT_CHARACTERS else ""
    return f"The user changed this call before it ran. This is what ran:\n{shown}{rest}"


def describe_hooked_input(call: ToolCall, mask: Mask) -> str:
    """Return the note for the model about a call that a hook changed."""
    arguments = canonical_json(call.input).decode()
    shown = mask.slice(arguments, 0, _MAX_EDIT_CHARACTERS)
    rest = "… [truncated]" if len(arguments) > _MAX_EDIT_CHARACTERS else ""
    return (
        f"The hook `{call.changed_by_hook}` changed this call before it ran. It ran with"
        f" {shown}{rest}"
    )


def leave_plan_mode(call: ToolCall, answer: PlanAnswer | None, turn: Turn) -> None:
    """Set the mode after an approved plan; end the turn if the plan is carried out elsewhere."""
    turn.env.gate.mode = Mode.ACCEPT_EDITS if answer is PlanAnswer.ACCEPT_EDITS else Mode.ASK
    if answer is not None and answer.ends_turn:
        call.ends_turn = True
        call.notes += (PLAN_GOES_ELSEWHERE.format(_ELSEWHERE[answer]),)
