"""Repair of an open turn.

A turn that a dead process left open is closed, so that the history is valid.
"""

import asyncio
from decimal import Decimal

from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.delegated_work import ReadFacts, close_delegations
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.errors import ToolFailure
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallEnd,
    LlmCallFailed,
    LlmCallStarted,
)
from yourtool.events.tools import ProcessEnded, ToolCalled, ToolFailed
from yourtool.events.turns import TurnCancelled
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock, ToolResultBlock
from yourtool.messages.message import ResultMessage, now
from yourtool.messages.metadata import MessageStatus, Origin, ResultMetadata
from yourtool.tools.processes.process import end_processes_of


async def repair_session(
    state: State,
    record: Recorder,
    session_id: str,
    read: ReadFacts,
    partial: LlmCallFailed | None = None,
) -> None:
    """Close what a dead process left open: workers, the turn, and the background processes.

    `read` returns the facts of the session of a worker. `partial`: the last checkpoint of a reply.
    """
    if (turn := state.open_turn) is not None:
        done = [fact for fact in state.facts if fact.turn_id == turn.turn_id]
        record.turn_id = turn.turn_id
        await close_delegations(done, record, read)
        if partial is not None and partial.turn_id == turn.turn_id:
            await _restore_partial(partial, state, record)
    await close_open_turn(state, Channel(record))
    if state.processes.running:
        await asyncio.to_thread(end_processes_of, session_id)
    for process in tuple(state.processes.running.values()):
        await record(
            ProcessEnded(
                process_id=process.process_id, command=process.command, reason="program_died"
            )
        )


async def _restore_partial(partial: LlmCallFailed, state: State, record: Recorder) -> None:
    """Record the part of a reply that had arrived, unless its call has ended."""
    message = partial.message
    if message is None or any(each.id == message.id for each in state.messages):
        return
    metadata = replace(message.metadata, status=MessageStatus.CANCELLED)
    await record(
        replace(partial, message=replace(message, metadata=metadata)), parent=state.facts[-1].id
    )


async def close_open_turn(state: State, channel: Channel) -> None:
    """Give every open call a result and end the turn that was running when the program died.

    A call that had started is never run again; its result states that its effect is unknown. Does
    nothing if the last turn has a terminal fact.
    """
    if (turn := state.open_turn) is None:
        return
    record = channel.recorder
    await record.flush()
    record.turn_id = turn.turn_id
    started = {fact.tool_use_id: fact.id for fact in state.facts if isinstance(fact, ToolCalled)}
    parent = state.facts[-1].id
    for call_id, reply in list(state.open_calls.items()):
        [block] = [use for use in reply.message.tool_uses if use.id == call_id]
        message = (
            "The program ended while this ran. It is unknown whether it had an effect: check before"
            " you do it again."
            if call_id in started
            else "The program ended before this ran. It had no effect."
        )
        failed = await channel.record(
            ToolFailed(
                tool_use_id=call_id,
                tool_name=block.name,
                error_class=ToolFailure.CANCELLED,
                error_message=message,
                latency_ms=0,
                message=ResultMessage(
                    id=new_id(),
                    session_id=record.session_id,
                    content=(ToolResultBlock(call_id, (TextBlock(message),), is_error=True),),
                    metadata=ResultMetadata(
                        parent_tool_use_id=call_id, origin=Origin.RESUME_REPAIR
                    ),
                    created_at=now(),
                ),
            ),
            parent=started.get(call_id, reply.id),
        )
        parent = failed.id
    done = [fact for fact in state.facts if fact.turn_id == turn.turn_id]
    replies = [fact for fact in done if isinstance(fact, LlmCallCompleted)]
    usages = [fact.usage for fact in done if isinstance(fact, LlmCallEnd) and fact.usage]
    requests = [fact for fact in done if isinstance(fact, LlmCallStarted) and not fact.purpose]
    await channel.emit(
        TurnCancelled(
            reason="client_disconnect",
            partial_llm_calls=len(requests),
            partial_tool_calls=sum(len(fact.message.tool_uses) for fact in replies),
            total_input_tokens=sum(usage.prompt_tokens for usage in usages),
            total_output_tokens=sum(usage.output_tokens for usage in usages),
            total_cost_usd=sum((usage.cost_usd for usage in usages), Decimal(0)),
        ),
        parent=parent,
    )
    record.turn_id = None
