"""Admission of tool calls."""

import asyncio

from msgspec.structs import replace

from yourtool.agent.turn.calls.approvals import record_request, request_approval, wait_for_approval
from yourtool.agent.turn.calls.call_judging import judge_again, judge_call
from yourtool.agent.turn.calls.confirmations import build_confirmation
from yourtool.agent.turn.calls.tool_call import (
    AFTER_PLAN,
    KEEP_PLANNING,
    UNANSWERED_PLAN,
    CallArguments,
    DecidedCall,
    ToolCall,
    describe_changes,
    load_mask,
)
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirmation, Verdict
from yourtool.errors import ToolError, ToolFailure
from yourtool.events.tools import ToolInputInvalid
from yourtool.messages.blocks import ToolUseBlock
from yourtool.tools.tool_names import describe_unknown_tool
from yourtool.tools.toolset import Tool


async def admit(call: ToolCall, turn: Turn) -> DecidedCall:
    """Return a call that may run.

    Raises:
        ToolError: it must not run.
        Interrupted: the turn was stopped before the user answered.
    """
    block = call.block
    try:
        tool = _find_tool(block, turn)
        if turn.reply.answered_plan:
            raise ToolError(AFTER_PLAN, ToolFailure.CANCELLED)
        if (broken := turn.reply.input_errors.get(block.id)) is not None:
            cut = " The reply hit the output limit." if broken.truncated else ""
            raise ToolError(
                f"The arguments of `{block.name}` were not a complete JSON object:"
                f" {broken.error}.{cut} Call it again with complete arguments.",
                ToolFailure.VALIDATION_ERROR,
            )
        decided = await _decide(call, tool, turn)
    except ToolError as error:
        if error.failure is ToolFailure.VALIDATION_ERROR:
            problems = (await load_mask(turn)).text(str(error)).splitlines()
            await turn.record(
                ToolInputInvalid(
                    tool_use_id=block.id,
                    tool_name=block.name,
                    validation_errors=tuple(problems),
                ),
                parent=call.parent,
            )
        raise
    call.report.note(*describe_changes(decided))
    return decided


async def admit_again(decided: DecidedCall, turn: Turn) -> DecidedCall:
    """Return a call that may run although another call has changed something since its admission.

    Raises:
        ToolError: it must not run any more.
        Interrupted: the turn was stopped before the user answered.
    """
    again = await judge_again(decided, turn)
    if again.decision.verdict == "deny":
        raise ToolError(again.decision.reason, ToolFailure.USER_DENIED)
    if not decided.runs_unasked:
        return replace(decided, lost_work=again.lost_work)
    if again.runs_unasked:
        return again
    confirmation, declined = await build_confirmation(again, turn), ""
    _, allowed = await request_approval(confirmation, again, turn, declined)
    return allowed


async def _decide(call: ToolCall, tool: Tool, turn: Turn) -> DecidedCall:
    """Return a call that may run; one that the user changed is shown again.

    Raises:
        ToolError: the call must not run.
    """
    given = CallArguments(call.block.input)
    while True:
        async with turn.reply.judging:
            decided = await judge_call(call, tool, given, turn)
            if (confirmation := await _find_question(decided, turn)) is None:
                is_plan = tool.definition.ends_planning  # without a plan to approve
                return replace(decided, preview=None) if is_plan else decided
            requested = await record_request(confirmation, decided, turn)
        declined = KEEP_PLANNING if confirmation.kind == "plan" else ""
        answer, decided = await wait_for_approval(requested, confirmation, decided, turn, declined)
        if answer.verdict is not Verdict.EDIT:
            return decided
        edited = answer.edited_input
        given = CallArguments(edited or call.block.input, is_edited=edited is not None)


async def _find_question(decided: DecidedCall, turn: Turn) -> Confirmation | None:
    """Return the question about a call, with all it offers; None: it runs without one.

    Raises:
        ToolError: the call must not run, or no user can answer.
    """
    decision, definition = decided.decision, decided.parsed.tool.definition
    has_user = turn.env.user.interactive
    if decision.verdict == "deny":
        raise ToolError(decision.reason, ToolFailure.USER_DENIED)
    if decided.runs_unasked:
        return None
    if definition.ends_planning and not has_user:
        decided.call.report.ends_turn = True
        raise ToolError(UNANSWERED_PLAN, ToolFailure.CANCELLED)
    confirmation = await build_confirmation(decided, turn)
    confirmation = replace(confirmation, offers_edits=decision.is_free_with_edits and has_user)
    if decision.is_free_if_trusted and has_user:
        offer = await asyncio.to_thread(turn.project.find_trust)
        confirmation = replace(confirmation, trust=offer)
    if decision.is_free_if_contained and has_user:
        sandbox = await asyncio.to_thread(turn.project.find_sandbox)
        confirmation = replace(confirmation, sandbox=sandbox)
    return confirmation


def _find_tool(block: ToolUseBlock, turn: Turn) -> Tool:
    if (tool := turn.means.toolbox.get(block.name)) is None:
        problem = describe_unknown_tool(block.name, turn.get_tools())
        raise ToolError(problem, ToolFailure.NOT_FOUND)
    return tool
