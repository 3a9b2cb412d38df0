"""Questions about calls that were allowed before."""

import asyncio

from msgspec.structs import replace

from yourtool.agent.turn.calls.approvals import request_approval
from yourtool.agent.turn.calls.confirmations import build_confirmation
from yourtool.agent.turn.calls.network_answers import build_offer
from yourtool.agent.turn.calls.tool_call import DecidedCall, RunningCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import OUTSIDE_SANDBOX, Decision, NetworkAnswer, Preview, Verdict
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.judging import CallSubjects, GateDecision
from yourtool.tools.base import Block
from yourtool.tools.toolset import resolve_subjects


async def offer_retry(running: RunningCall, block: Block, turn: Turn) -> RunningCall:
    """Ask whether a call that the sandbox blocked may run again; return its second run.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    shown = running.decided.preview
    assert shown is not None, "a call that runs in a sandbox has a preview"
    shown = replace(
        shown,
        surroundings=OUTSIDE_SANDBOX,
        is_outside=True,
        has_network=False,
        leaving="",
        protected=False,
        editable=None,
        network=build_offer(block),
    )
    asked = await _renew(running.decided, f"it failed in the sandbox: {block.cause}", shown, turn)
    declined = "The user declined to run it outside the sandbox."
    answer, shown = await _request_again(asked, declined, turn)
    return replace(
        running,
        decided=replace(running.decided, preview=shown),
        is_outside_sandbox=answer.network is not NetworkAnswer.HOSTS,
    )


async def request_change(preview: Preview, named: str, decided: DecidedCall, turn: Turn) -> None:
    """Ask whether a change may be made that a command made and that was taken back.

    `named`: the places, and why each needs an answer.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    asked = replace(
        decided,
        parsed=replace(decided.parsed, subjects=CallSubjects(())),
        decision=GateDecision("ask", f"the command changed protected places: {named}"),
        preview=preview,
    )
    await _request_again(asked, "The user declined to change the protected places.", turn)


async def offer_without_copy(decided: DecidedCall, problem: str, turn: Turn) -> DecidedCall:
    """Ask whether a call may run although no safety copy of what it discards could be made.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert decided.preview is not None, "a command has a preview"
    reason = f"no safety copy of what it discards could be made: {problem}"
    asked = await _renew(decided, reason, replace(decided.preview, editable=None), turn)
    declined = "The user declined to run it without a copy."
    _, shown = await _request_again(asked, declined, turn)
    return replace(decided, preview=shown)


async def _renew(decided: DecidedCall, reason: str, shown: Preview, turn: Turn) -> DecidedCall:
    """Return a call about which the user is asked again, with its subjects as they are now."""
    parsed = decided.parsed
    around = parsed.tool, parsed.args, turn.env.place.workspace
    subjects = await asyncio.to_thread(resolve_subjects, *around)
    return replace(
        decided,
        parsed=replace(parsed, subjects=subjects),
        decision=GateDecision("ask", reason),
        preview=shown,
    )


async def _request_again(
    asked: DecidedCall, declined: str, turn: Turn
) -> tuple[Decision, Preview | None]:
    """Request an approval of a call that was allowed; return the answer and what runs with it."""
    confirmation = await build_confirmation(asked, turn)
    answer, asked = await request_approval(confirmation, asked, turn, declined)
    if answer.verdict is not Verdict.ALLOW:
        raise ToolError(declined, ToolFailure.USER_DENIED)
    return answer, asked.preview
