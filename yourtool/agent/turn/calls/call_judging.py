"""Judgement of a tool call.

Its arguments are parsed and previewed, then the hooks and the gate decide.
"""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

from msgspec.structs import replace

from yourtool.agent.turn.calls.call_context import build_context
from yourtool.agent.turn.calls.judgements import build_judgement, build_snapshot
from yourtool.agent.turn.calls.tool_call import (
    BUG_MESSAGE,
    CallArguments,
    DecidedCall,
    ParsedCall,
    ToolCall,
)
from yourtool.agent.turn.calls.tool_hooks import BEFORE_CALL, CallHooks, has_hooks
from yourtool.agent.turn.calls.uncommitted_work import find_discarded, is_work_of_user
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Preview
from yourtool.errors import ToolError
from yourtool.events.permissions import CallJudgement
from yourtool.foundation.masking import Mask
from yourtool.interrupt import Interrupted
from yourtool.permissions.judging import (
    GateDecision,
    JudgedCall,
    Policy,
    build_judged_call,
    judge,
    look_up,
)
from yourtool.settings.hook_config import HookEvent
from yourtool.tools.toolset import Tool, correct_paths, resolve_subjects

_log = logging.getLogger(__name__)

_UNDECIDED = GateDecision("ask")
_Decided: TypeAlias = tuple[GateDecision, CallJudgement]
"""A decision about a call, and its stored form."""


async def judge_call(call: ToolCall, tool: Tool, given: CallArguments, turn: Turn) -> DecidedCall:
    """Return the decision on a call, after hooks could change it and the decision.

    If the user would be asked, hooks can answer instead.

    Raises:
        ToolError: the arguments are invalid, or a hook ends the turn.
    """
    if _depends_on_rules_only(call, tool, turn):
        policy = turn.env.gate.policy
        with _bugs_as_errors(call):
            judging = asyncio.to_thread(_parse_and_judge, call, tool, given, turn, policy)
            parsed, decided = await turn.interrupt.guard(judging)
        return DecidedCall(parsed, await _report(call, decided, policy, turn))
    parsed, preview = await _parse_and_preview(call, tool, given, turn)
    decided = await _judge_after_hooks(DecidedCall(parsed, _UNDECIDED, preview), "PreToolUse", turn)
    if decided.decision.verdict == "ask" and has_hooks(call, turn, "PermissionRequest"):
        decided = await _judge_after_hooks(decided, "PermissionRequest", turn)
    return decided


def _depends_on_rules_only(call: ToolCall, tool: Tool, turn: Turn) -> bool:
    """Return whether no preview, command or hook takes part, as for the tools that only read."""
    return not (
        tool.has_preview
        or tool.definition.subject_kind == "command"
        or any(has_hooks(call, turn, event) for event in BEFORE_CALL)
    )


async def _judge_after_hooks(before: DecidedCall, event: HookEvent, turn: Turn) -> DecidedCall:
    """Return the decision on a call after the hooks for an event, which can change the call."""
    parsed, preview, advice = before.parsed, before.preview, before.advice
    if has_hooks(before.call, turn, event):
        answer = await CallHooks(parsed.call, parsed, turn).run(event)
        advice = answer.advice or advice
        if answer.changed is not None:
            given = replace(parsed.given, values=dict(answer.changed), hook=answer.changed_by)
            parsed, preview = await _parse_hooked(parsed, given, turn)
    return await _judge_as_is(DecidedCall(parsed, _UNDECIDED, preview, advice), turn)


async def judge_again(decided: DecidedCall, turn: Turn) -> DecidedCall:
    """Return the decision on a call as things are now; its hooks do not run again.

    Raises:
        ToolError: the arguments are not valid any more.
    """
    before = decided.parsed
    parsed, preview = await _parse_and_preview(before.call, before.tool, before.given, turn)
    return await _judge_as_is(DecidedCall(parsed, _UNDECIDED, preview, decided.advice), turn)


async def _judge_as_is(undecided: DecidedCall, turn: Turn) -> DecidedCall:
    parsed, policy = undecided.parsed, turn.env.gate.policy
    lost_work = await find_discarded(parsed.subjects, turn)
    judged = build_judged_call(
        parsed.tool.definition,
        parsed.subjects,
        undecided.preview,
        loses_work=turn.env.user.interactive and await is_work_of_user(lost_work, turn),
        hook=undecided.advice,
        is_attended=turn.env.user.interactive,
    )
    judging = asyncio.to_thread(_judge, policy, judged, parsed.mask)
    decided = await turn.interrupt.guard(judging)
    decision = await _report(parsed.call, decided, policy, turn)
    return replace(undecided, decision=decision, lost_work=lost_work)


async def _report(call: ToolCall, decided: _Decided, policy: Policy, turn: Turn) -> GateDecision:
    """Report a decision, whose policy is recorded if the last one was another; return it."""
    decision, judgement = decided
    if judgement.policy != turn.state.policy:
        await turn.record(build_snapshot(policy, judgement.policy), parent=call.parent)
    call.report.judgement = judgement
    return decision


async def _parse_hooked(
    parsed: ParsedCall, given: CallArguments, turn: Turn
) -> tuple[ParsedCall, Preview | None]:
    """Parse and preview the arguments that a hook changed.

    Raises:
        ToolError: the hook made them invalid.
    """
    try:
        return await _parse_and_preview(parsed.call, parsed.tool, given, turn)
    except ToolError as error:
        raise ToolError(
            f"It was not run: the hook `{given.hook}` changed it, and the changed call is invalid."
            f" {error}"
        ) from error


def _parse_and_judge(
    call: ToolCall, tool: Tool, given: CallArguments, turn: Turn, policy: Policy
) -> tuple[ParsedCall, _Decided]:
    """Parse a call and return the decision about it; runs in a thread, because one is enough."""
    parsed = parse_call(call, tool, given, turn)
    judged = build_judged_call(tool.definition, parsed.subjects, None)
    return parsed, _judge(policy, judged, parsed.mask)


def _judge(policy: Policy, judged: JudgedCall, mask: Mask) -> _Decided:
    """Return the decision about a call, and its stored form; runs in a thread."""
    judged = look_up(policy, judged)
    decision = judge(policy, judged)
    return decision, build_judgement(judged, decision, policy.get_digest(), mask)


async def _parse_and_preview(
    call: ToolCall, tool: Tool, given: CallArguments, turn: Turn
) -> tuple[ParsedCall, Preview | None]:
    """Return a call with valid arguments, and what the user is shown.

    Raises:
        ToolError: the arguments are invalid, or the tool has a bug.
    """
    with _bugs_as_errors(call):
        parsing = asyncio.to_thread(parse_call, call, tool, given, turn)
        parsed = await turn.interrupt.guard(parsing)
        previewing = tool.preview(parsed.args, build_context(call, parsed.mask, turn))
        return parsed, await turn.interrupt.guard(previewing)


@contextmanager
def _bugs_as_errors(call: ToolCall) -> Generator[None, None, None]:
    try:
        yield
    except (ToolError, Interrupted):
        raise
    except Exception as error:
        _log.exception("tool %s failed before it ran", call.block.name)
        raise ToolError(BUG_MESSAGE.format(call.block.name)) from error


def parse_call(call: ToolCall, tool: Tool, given: CallArguments, turn: Turn) -> ParsedCall:
    """Return a call with valid arguments; runs in a thread."""
    workspace, mask = turn.env.place.workspace, turn.env.place.mask()
    adjusted = correct_paths(tool, tool.adjust(given.values), workspace)
    args = tool.parse(adjusted.values)
    notes = map(mask.text, adjusted.notes)
    call.report.note(*(each for each in notes if each not in call.report.notes))
    subjects = resolve_subjects(tool, args, workspace)
    return ParsedCall(call, tool, given, adjusted.values, args, subjects, mask)
