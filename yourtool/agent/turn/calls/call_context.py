"""Resources of a tool call."""

from collections.abc import Callable

from msgspec.structs import replace

from yourtool.agent.session_environment import DelegatingCall, SessionEnvironment
from yourtool.agent.turn.calls.tool_call import RunningCall, ToolCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirmation, Verdict
from yourtool.foundation.masking import Mask
from yourtool.ids import new_id
from yourtool.tools.background import AskInput, InputChoice, RunningCommand
from yourtool.tools.base import AskText, Delegator, ToolContext
from yourtool.tools.changes.journal import ChangeJournal
from yourtool.tools.commands.shell import describe_input

_MAX_ASKED_CHARACTERS = 60
"""Characters of what a program asks that the question for its input has."""


def build_context(call: ToolCall, mask: Mask, turn: Turn) -> ToolContext:
    """Return what a preview and a check can use: neither changes files, nor shows output."""
    can, env = turn.model.capabilities, turn.env
    return ToolContext(
        workspace=env.place.workspace,
        tool_use_id=call.block.id,
        emit=_ignore,
        spill=env.place.spill,
        reads=turn.reads,
        mask=mask,
        environments=env.place.environments,
        processes=env.place.processes,
        unsaved=env.place.unsaved,
        sandbox=env.place.sandbox,
        ask_input=_build_ask_input(call, env) if env.user.interactive else None,
        ask_text=_build_ask_text(call, env) if env.user.interactive else None,
        image_limit=can.max_image_bytes if can.supports_images else 0,
    )


def build_running_context(
    running: RunningCall, journal: ChangeJournal, emit: Callable[[str], None], turn: Turn
) -> ToolContext:
    """Return what a tool can use; `emit` displays its output."""
    decided, decision = running.decided, running.decided.decision
    context = build_context(running.call, running.parsed.mask, turn)
    return replace(
        context,
        emit=emit,
        cancelled=running.cancelled,
        journal=journal,
        approved=decided.preview,
        command=decision.command if decided.runs_unasked else None,
        only_reads=decision.only_reads and decided.runs_unasked,
        sandbox=None if running.is_outside_sandbox else context.sandbox,
        delegator=_build_delegator(running.call, turn),
    )


def _ignore(text: str) -> None:
    del text


def _build_ask_input(call: ToolCall, env: SessionEnvironment) -> AskInput:
    """Return what asks the user for the input of a running command."""

    async def ask(process: RunningCommand) -> str | InputChoice:
        what, last = describe_input(process.input_kind), process.last_line.strip()
        last = last if len(last) <= _MAX_ASKED_CHARACTERS else f"…{last[-_MAX_ASKED_CHARACTERS:]}"
        # The question is cut at the width of the screen, so the command is at its end.
        title = f"It {what}{f': {last}' if last else ''} · {process.command}"
        kind = "password" if process.input_kind == "password" else "input"
        question = Confirmation(id=new_id(), kind=kind, title=title, tool_use_id=call.block.id)
        decision = await env.user.confirm(question)
        if decision.verdict is not Verdict.ALLOW:
            return InputChoice.STOP
        return InputChoice.BACKGROUND if decision.typed is None else decision.typed

    return ask


def _build_ask_text(call: ToolCall, env: SessionEnvironment) -> AskText:
    """Return what asks the user for a text."""

    async def ask(title: str, details: str, choices: tuple[str, ...] = ()) -> str | None:
        question = Confirmation(
            id=new_id(),
            kind="question",
            title=title,
            tool_use_id=call.block.id,
            reason=details,
            choices=choices,
        )
        decision = await env.user.confirm(question)
        return decision.typed if decision.verdict is Verdict.ALLOW else None

    return ask


def _build_delegator(call: ToolCall, turn: Turn) -> Delegator | None:
    """Return what starts workers for this call; None for every other tool."""
    if turn.env.tasks is None or not call.delegates:
        return None
    return turn.env.tasks.bind(
        DelegatingCall(
            env=turn.env,
            session_id=turn.session_id,
            model_id=turn.model.id,
            toolbox=turn.means.toolbox,
            channel=turn.channel,
            tool_use_id=call.block.id,
            parent=call.parent,
        )
    )
