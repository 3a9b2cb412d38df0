"""Loop of a turn.

It calls the model and runs the called tools, until a reply calls none.

Messages to the running turn follow the results of the calls, where every provider accepts them.

However a turn ends, the history is valid for every provider: each call has exactly one result, a
partial reply is stored without its calls, and exactly one terminal fact ends the turn.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from yourtool.agent.turn.agents import abandon_agent, settle_agent
from yourtool.agent.turn.broken_replies import wait_to_repeat
from yourtool.agent.turn.calls import tool_runner
from yourtool.agent.turn.calls_in_text import tell_of_call
from yourtool.agent.turn.compaction import make_room_before_request, make_shorter
from yourtool.agent.turn.hand_over import report_hand_over
from yourtool.agent.turn.hook_events import run_at_stop
from yourtool.agent.turn.limits import (
    ask_at_limits,
    find_limit,
    find_limit_after_calls,
    find_warnings,
)
from yourtool.agent.turn.model_call import ModelCall
from yourtool.agent.turn.refused_content import set_aside_refused
from yourtool.agent.turn.turn import Turn
from yourtool.agent.turn.user_messages import record_steering
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ToolUseBlock
from yourtool.messages.metadata import StopReason


async def run_turn(turn: Turn) -> None:
    """Run a routed turn to its end.

    Raises:
        StoreError: a fact could not be stored; the turn stays open until resume repairs it.
    """
    try:
        await _run_steps(turn)
        if turn.reply.stop_reason is StopReason.ERROR:
            turn.interrupt.check()
    except Interrupted:
        await settle_agent(turn)
        await turn.channel.wait_shown()
        await turn.emit(turn.counts.build_cancelled(is_leaving=turn.interrupt.is_leaving))
        return
    finally:
        abandon_agent(turn)
    await settle_agent(turn)
    await turn.emit(*await find_warnings(turn))
    if turn.reply.stop_reason is StopReason.MAX_TOKENS:
        way = "/continue" if turn.env.user.interactive else "another prompt with `--continue`"
        text = f"The reply hit the output limit; {way} continues it."
        await turn.emit(Notice(level="warning", text=text))
    await turn.channel.wait_shown()  # the session is busy until the end is shown
    await turn.emit(turn.counts.build_completed(turn.reply.stop_reason))


async def _can_try_again(turn: Turn, failure: LlmCallFailed) -> bool:
    """Return whether another request can succeed, after what has to be done before it."""
    return (
        await set_aside_refused(turn, failure)
        or await make_shorter(turn, failure)
        or await wait_to_repeat(turn, failure)
    )


async def _run_steps(turn: Turn) -> None:
    blocks: Sequence[ToolUseBlock] = ()
    if (report := await report_hand_over(turn)) is not None:
        await turn.emit(report)
    while True:
        await turn.emit(*await find_warnings(turn))
        stop, delegated = None, False
        with suppress(Interrupted):  # raised again after the results of the calls are recorded
            stop = await ask_at_limits(turn, partial(find_limit, turn))
        if blocks:
            tools = tool_runner.ToolRunner(blocks, turn)
            await (tools.run() if stop is None else tools.refuse(stop))
            if tools.end_turn:
                return
            delegated = tools.delegated
        find = partial(find_limit_after_calls, turn, delegated=delegated)
        if stop is not None or await ask_at_limits(turn, find) is not None:
            return
        if blocks:
            await record_steering(turn)
        await make_room_before_request(turn)
        end = await ModelCall(turn).run()
        if isinstance(end, LlmCallFailed):
            blocks = ()
            if not await _can_try_again(turn, end):
                return
            continue
        blocks, turn.recovery.compacted = end.message.tool_uses, 0
        turn.recovery.broken = 0
        if (
            not blocks
            and turn.reply.stop_reason is not StopReason.PAUSE_TURN
            and not await tell_of_call(turn, end.message)
            and not await run_at_stop(turn)
        ):
            return
