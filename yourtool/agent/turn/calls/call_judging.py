"""Judgement of a tool call.

Its arguments are parsed and previewed, then the hooks and the gate decide.
"""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

from yourtool.agent.turn.calls.judgements import build_judgement, build_snapshot
from yourtool.agent.turn.calls.tool_call import BUG_MESSAGE, ToolCall
from yourtool.agent.turn.calls.tool_hooks import BEFORE_CALL, has_hooks, run_before
from yourtool.agent.turn.calls.uncommitted_work import find_discarded, is_work_of_user
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ToolError
from yourtool.events.permissions import CallJudgement
from yourtool.foundation.masking import Mask
from yourtool.interrupt import Interrupted
from yourtool.permissions.judging import (
    CallSubjects,
    GateDecision,
    JudgedCall,
    Policy,
    build_judged_call,
    judge,
    look_up,
)
from yourtool.tools.toolset import Tool, resolve_subjects

_log = logging.getLogger(__name__)

_Decided: TypeAlias = tuple[GateDecision, CallJudgement]
"""A decision about a call, and its stored form."""


async def judge_call(call: ToolCall, tool: Tool, turn: Turn) -> None:
    """Set the decision on a call, after hooks could change it and the decision.

    If the user would be asked, hooks can answer instead.

    Raises:
        ToolError: the arguments are invalid, or a hook ends the turn.
    """
    call.advice = None
    if _depends_on_rules_only(call, tool, turn):
        policy = turn.env.gate.policy
        with _bugs_as_errors(call):
            judging = asyncio.to_thread(_parse_and_judge, call, tool, turn, policy)
            call.subjects, decided = await turn.interrupt.guard(judging)
        await _take_decision(call, turn, policy, decided)
        return
    call.subjects = await _parse_and_preview(call, tool, turn)
    for event in BEFORE_CALL:
        if event != BEFORE_CALL[0] and not has_hooks(call, turn, event):
            return
        before = call.hooked_input
        await run_before(call, turn, event)
        if call.hooked_input is not before:
            await _parse_hooked(call, tool, turn)
        policy = turn.env.gate.policy
        call.lost_work = await find_discarded(call.subjects, turn)
        loses_work = turn.env.interactive and await is_work_of_user(call.lost_work, turn)
        judged = build_judged_call(
            tool.definition,
            call.subjects,
            call.preview,
            loses_work=loses_work,
            hook=call.advice,
            is_attended=turn.env.interactive,
        )
        mask = await call.load_mask(turn)
        decided = await turn.interrupt.guard(asyncio.to_thread(_judge, policy, judged, mask))
        await _take_decision(call, turn, policy, decided)
        if call.decision.verdict != "ask":
            return


def _depends_on_rules_only(call: ToolCall, tool: Tool, turn: Turn) -> bool:
    """Return whether no preview, command or hook takes part, as for the tools that only read."""
    return not (
        tool.has_preview
        or tool.definition.subject_kind == "command"
        or any(has_hooks(call, turn, event) for event in BEFORE_CALL)
    )


async def _take_decision(call: ToolCall, turn: Turn, policy: Policy, decided: _Decided) -> None:
    """Set the decision on a call; its policy is recorded if the last one was another."""
    call.decision, judgement = decided
    if judgement.policy != turn.state.policy:
        await turn.record(build_snapshot(policy, judgement.policy), parent=call.parent)
    call.judgement = judgement


async def _parse_hooked(call: ToolCall, tool: Tool, turn: Turn) -> None:
    """Parse and preview the arguments that a hook changed.

    Raises:
        ToolError: the hook made them invalid.
    """
    try:
        call.subjects = await _parse_and_preview(call, tool, turn)
    except ToolError as error:
        hook = call.changed_by_hook
        raise ToolError(
            f"It was not run: the hook `{hook}` changed it, and the changed call is invalid."
            f" {error}"
        ) from error


def _parse_and_judge(
    call: ToolCall, tool: Tool, turn: Turn, policy: Policy
) -> tuple[CallSubjects, _Decided]:
    """Parse a call and return the decision about it; runs in a thread, because one is enough."""
    subjects = parse_call(call, tool, turn)
    judged = build_judged_call(tool.definition, subjects, None)
    assert call.mask is not None, "a parsed call has a mask"
    return subjects, _judge(policy, judged, call.mask)


def _judge(policy: Policy, judged: JudgedCall, mask: Mask) -> _Decided:
    """Return the decision about a call, and its stored form; runs in a thread."""
    judged = look_up(policy, judged)
    decision = judge(policy, judged)
    return decision, build_judgement(judged, decision, policy.get_digest(), mask)


async def _parse_and_preview(call: ToolCall, tool: Tool, turn: Turn) -> CallSubjects:
    """Parse the arguments, set the preview, and return the subjects for the permission rules.

    Raises:
        ToolError: the arguments are invalid, or the tool has a bug.
    """
    with _bugs_as_errors(call):
        subjects = await turn.interrupt.guard(asyncio.to_thread(parse_call, call, tool, turn))
        context = await call.build_context(turn)
        call.preview = await turn.interrupt.guard(tool.preview(call.args, context))
    return subjects


@contextmanager
def _bugs_as_errors(call: ToolCall) -> Generator[None, None, None]:
    try:
        yield
    except (ToolError, Interrupted):
        raise
    except Exception as error:
        _log.exception("tool %s failed before it ran", call.block.name)
        raise ToolError(BUG_MESSAGE.format(call.block.name)) from error


def parse_call(call: ToolCall, tool: Tool, turn: Turn) -> CallSubjects:
    """Set the arguments and the mask of a call, and return its subjects; runs in a thread."""
    adjusted = tool.adjust(call.input)
    call.args = tool.parse(adjusted.values)
    call.adjusted_input = adjusted.values
    call.notes += tuple(note for note in adjusted.notes if note not in call.notes)
    subjects = resolve_subjects(tool, call.args, turn.env.workspace)
    call.mask = turn.env.mask()
    return subjects
