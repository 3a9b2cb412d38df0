"""The loop of a turn: call the model, run the tools it calls, repeat until it calls none.

Messages to the running turn follow the results of the calls, where every provider accepts them.

However a turn ends, the history is valid for every provider: each call has exactly one result, a
partial reply is stored without its calls, and exactly one terminal fact ends the turn.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from yourtool.agent.turn import tool_runner
from yourtool.agent.turn.agents import abandon_agent, settle_agent
from yourtool.agent.turn.compaction import make_room_before_request
from yourtool.agent.turn.hand_over import report_hand_over
from yourtool.agent.turn.hook_events import run_at_stop
from yourtool.agent.turn.limit_questions import LimitQuestions, record_budget_warnings
from yourtool.agent.turn.model_call import ModelCall
from yourtool.agent.turn.shorter_request import ShorterRequest
from yourtool.agent.turn.turn import Turn
from yourtool.agent.turn.user_messages import record_steering
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ToolUseBlock
from yourtool.messages.metadata import StopReason


async def run_turn(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run a routed turn to its end and yield its events, some before they may be shown.

    `show_stored` holds these back until the facts before them are stored.

    Raises:
        StoreError: a fact could not be stored; the turn stays open until resume repairs it.
    """
    try:
        async with aclosing(_run_steps(turn)) as events:
            async for event in events:
                yield event
        if turn.stop_reason is StopReason.ERROR:
            turn.interrupt.check()
    except Interrupted:
        async for event in settle_agent(turn):
            yield event
        yield await turn.record(turn.build_cancelled(), parent=turn.parent)
        return
    finally:
        abandon_agent(turn)
    async for event in settle_agent(turn):
        yield event
    async for warning in record_budget_warnings(turn):
        yield warning
    if turn.stop_reason is StopReason.MAX_TOKENS:
        way = "/continue" if turn.env.interactive else "another prompt with `--continue`"
        yield Notice(level="warning", text=f"The reply hit the output limit; {way} continues it.")
    yield await turn.record(turn.build_completed(), parent=turn.parent)


async def _run_steps(turn: Turn) -> AsyncGenerator[Event, None]:
    blocks: Sequence[ToolUseBlock] = ()
    if (report := await report_hand_over(turn)) is not None:
        yield await turn.record(report, parent=turn.parent)
    while True:
        async for warning in record_budget_warnings(turn):
            yield warning
        limits, delegated = LimitQuestions(turn), False
        with suppress(Interrupted):  # raised again after the results of the calls are recorded
            async with aclosing(limits.ask()) as events:
                async for event in events:
                    yield event
        if blocks:
            tools = tool_runner.ToolRunner(blocks, turn)
            running = tools.run() if limits.stop is None else tools.refuse(limits.stop)
            async with aclosing(running) as events:
                async for event in events:
                    yield event
            if tools.end_turn:
                return
            delegated = tools.delegated
        if limits.stop is not None:
            return
        async with aclosing(limits.ask_after_calls(delegated=delegated)) as events:
            async for event in events:
                yield event
        if limits.stop is not None:
            return
        if blocks:
            async for fact in record_steering(turn):
                yield fact
        async with aclosing(make_room_before_request(turn)) as facts:
            async for fact in facts:
                yield fact
        call = ModelCall(turn)
        async with aclosing(call.stream()) as events:
            async for event in events:
                yield event
        if isinstance(call.end, LlmCallCompleted):
            blocks, turn.compacted = call.end.message.tool_uses, 0
            if not blocks and turn.stop_reason is not StopReason.PAUSE_TURN:
                before = turn.continued
                async with aclosing(run_at_stop(turn)) as events:
                    async for event in events:
                        yield event
                if turn.continued == before:
                    return
        elif call.end is None:
            return
        else:
            blocks, shorter = (), ShorterRequest(turn, call.end)
            async with aclosing(shorter.prepare()) as events:
                async for event in events:
                    yield event
            if not shorter.is_possible:
                return
