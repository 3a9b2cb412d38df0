"""Run the calls of one reply: validate, preview and approve them in order, then run concurrently.

A write runs before the next call is previewed, so that every preview shows the actual change.

Every call ends in exactly one `tool.completed` or `tool.failed` with its result message. The ids of
these messages are created in call order before anything runs, so the conversation has the order of
the calls, in whichever order they finish. A `tool.failed` without a preceding `tool.called` is a
call that never ran.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import timedelta

from yourtool.agent.turn.approval import request_approval
from yourtool.agent.turn.limits import count_repetition, repetition_notice
from yourtool.agent.turn.tool_call import ToolCall, ToolOutcome, mask_output, to_text_blocks
from yourtool.agent.turn.turn import Turn
from yourtool.blobs import has_bytes, store_media
from yourtool.effects import Confirmation, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.events.catalog import Event
from yourtool.events.deltas import ToolOutputDelta
from yourtool.events.tools import ToolCompleted, ToolFailed, ToolInputInvalid
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.masking import Mask
from yourtool.messages.blocks import ToolUseBlock, canonical_json
from yourtool.messages.message import now
from yourtool.permissions.gate import GateDecision, Subjects
from yourtool.text import storable
from yourtool.tools.base import ToolContext
from yourtool.tools.toolset import Tool, resolve_subjects

_log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 30.0
"""Time for a stopped tool to clean up before it is abandoned."""
_MAX_PARTIAL_CHARACTERS = 4_000
"""Characters of a stopped tool's output that its result contains."""
_BUG_MESSAGE = "`{}` failed with an internal error (see the log). Use another tool."


async def dispatch(calls: Sequence[ToolUseBlock], turn: Turn) -> AsyncGenerator[Event, None]:
    """Run or refuse every call and yield the events.

    Raises:
        Interrupted: the turn was stopped; every call has a result.
    """
    pending = deque(ToolCall(block, new_id(), parent=turn.parent) for block in calls)
    turn.tool_calls += len(calls)
    ready: deque[ToolCall] = deque()
    try:
        while pending:
            call = pending[0]
            if (note := count_repetition(call.block, turn)) is not None:
                call.notes = (note,)
                yield repetition_notice(call.block.name)
            if _depends_on_pending_write(call, ready, turn):
                async with aclosing(_run_concurrently(ready, turn)) as events:
                    async for event in events:
                        yield event
            async with aclosing(_admit(call, turn)) as steps:
                admitted = True
                async for event in steps:
                    admitted = admitted and not isinstance(event, ToolFailed)
                    yield event
            pending.popleft()
            if admitted:
                ready.append(call)
        async with aclosing(_run_concurrently(ready, turn)) as events:
            async for event in events:
                yield event
    except Interrupted:
        for call in (*ready, *pending):
            yield await _record_tool_failure(
                call, turn, ToolFailure.CANCELLED, "Stopped before it ran."
            )
        raise


def _depends_on_pending_write(call: ToolCall, ready: Iterable[ToolCall], turn: Turn) -> bool:
    """Return whether pending writes must run before this call can be previewed.

    A preview of a change to a file is wrong if an earlier call changes the file afterwards.
    """
    tool = turn.toolbox.get(call.block.name)
    if tool is None or not tool.definition.side_effects.needs_approval:
        return False
    return any(
        each.tool is not None and each.tool.definition.side_effects is SideEffects.WRITE
        for each in ready
    )


async def refuse_all(
    calls: Sequence[ToolUseBlock], turn: Turn, reason: str
) -> AsyncGenerator[Event, None]:
    """Give every call an error result without running it."""
    for block in calls:
        call = ToolCall(block, new_id(), parent=turn.parent)
        yield await _record_tool_failure(
            call, turn, ToolFailure.PERMISSION_DENIED, f"Not run. {reason}"
        )


async def _admit(call: ToolCall, turn: Turn) -> AsyncGenerator[Event, None]:
    """Validate and approve a call; it may run unless the events contain a `ToolFailed`."""
    block = call.block
    try:
        call.tool = _find_tool(block, turn)
        if (broken := turn.input_errors.get(block.id)) is not None:
            cut = " The reply hit the output limit." if broken.truncated else ""
            raise ToolError(
                f"The arguments of `{block.name}` were not a complete JSON object:"
                f" {broken.error}.{cut} Call it again with complete arguments.",
                ToolFailure.VALIDATION_ERROR,
            )
        subjects = await _parse_and_preview(call, call.tool, turn)
        decision = await turn.interrupt.guard(
            asyncio.to_thread(turn.env.gate.judge, call.tool.definition, subjects, call.preview)
        )
        if decision.verdict == "deny":
            raise ToolError(decision.reason, ToolFailure.USER_DENIED)
        if decision.verdict == "allow":
            return
        confirmation = _build_confirmation(call, turn, decision)
        async with aclosing(request_approval(confirmation, block.id, turn, call.parent)) as steps:
            async for event in steps:
                if isinstance(event, str):
                    call.notes += (event,)
                else:
                    yield event
    except ToolError as error:
        if error.failure is ToolFailure.VALIDATION_ERROR:
            yield await turn.record(
                ToolInputInvalid(
                    tool_use_id=block.id,
                    tool_name=block.name,
                    validation_errors=tuple(
                        (await _get_mask(call, turn)).text(str(error)).splitlines()
                    ),
                ),
                parent=call.parent,
            )
        yield await _record_tool_failure(call, turn, error.failure, str(error))


async def _parse_and_preview(call: ToolCall, tool: Tool, turn: Turn) -> Subjects:
    """Parse the arguments, set the preview, and return the subjects for the permission rules.

    Raises:
        ToolError: the arguments are invalid, or the tool has a bug.
    """
    try:
        parsing = asyncio.to_thread(tool.parse, call.block.input)
        call.args = args = await turn.interrupt.guard(parsing)
        subjects = await turn.interrupt.guard(
            asyncio.to_thread(resolve_subjects, tool, args, turn.env.workspace)
        )
        context = _build_context(call, turn, await _get_mask(call, turn))
        call.preview = await turn.interrupt.guard(tool.preview(args, context))
    except (ToolError, Interrupted):
        raise
    except Exception as error:
        _log.exception("tool %s failed before it ran", call.block.name)
        raise ToolError(_BUG_MESSAGE.format(call.block.name)) from error
    return subjects


def _build_confirmation(call: ToolCall, turn: Turn, decision: GateDecision) -> Confirmation:
    assert call.tool is not None, "only a known tool needs approval"
    limit = timedelta(seconds=turn.env.limits.confirmation_timeout_seconds)
    return Confirmation(
        id=new_id(),
        kind="tool",
        title=call.block.name,
        tool_use_id=call.block.id,
        side_effects=call.tool.definition.side_effects,
        input=call.block.input,
        preview=call.preview,
        rule=decision.proposed_rule,
        reason=decision.reason,
        expires_at=None if turn.env.interactive else now() + limit,
    )


def _find_tool(block: ToolUseBlock, turn: Turn) -> Tool:
    if (tool := turn.toolbox.get(block.name)) is None:
        names = ", ".join(f"`{each.name}`" for each in turn.toolbox.definitions)
        raise ToolError(
            f"There is no tool `{block.name}`. The tools are {names}.", ToolFailure.NOT_FOUND
        )
    return tool


def _build_context(
    call: ToolCall, turn: Turn, mask: Mask, emit: Callable[[str], None] | None = None
) -> ToolContext:
    can = turn.model.capabilities
    return ToolContext(
        workspace=turn.env.workspace,
        tool_use_id=call.block.id,
        emit=emit or call.recent_output.append,
        cancelled=call.cancelled,
        spill=turn.env.spill,
        reads=turn.reads,
        mask=mask,
        approved=call.preview,
        image_limit=can.max_image_bytes if can.supports_images else 0,
    )


async def _run_concurrently(ready: deque[ToolCall], turn: Turn) -> AsyncGenerator[Event, None]:
    """Run at most `tool_concurrency` calls at once, starting them in order; empties `ready`.

    Without support for parallel calls, the model expects its calls to run one after the other.
    """
    is_parallel = turn.model.capabilities.supports_parallel_tool_calls
    at_once = turn.env.limits.tool_concurrency if is_parallel else 1
    updates: asyncio.Queue[ToolOutputDelta | ToolOutcome] = asyncio.Queue()
    running: dict[asyncio.Task[None], ToolCall] = {}
    try:
        while ready or running:
            while ready and len(running) < at_once:
                turn.interrupt.check()
                call = ready[0]
                called_fact = await turn.record(call.build_called_fact(), parent=call.parent)
                ready.popleft()
                call.parent, call.started = called_fact.id, time.monotonic()
                running[asyncio.create_task(_run_tool(call, turn, updates))] = call
                yield called_fact
            update = await turn.interrupt.guard(updates.get())
            if isinstance(update, ToolOutputDelta):
                yield update
                continue
            _remove_task(update.call, running)
            async for event in _record_outcome(update, turn):
                yield event
    except Interrupted:
        await _stop_tools(running)
        async for event in _record_finished(updates, running, turn):
            yield event
        for call in running.values():
            output = "".join(call.recent_output)
            mask = await _get_mask(call, turn)
            tail = mask.slice(output, max(0, len(output) - _MAX_PARTIAL_CHARACTERS), len(output))
            message = "Stopped by the user." + (f" Output until then:\n{tail}" if tail else "")
            yield await _record_tool_failure(call, turn, ToolFailure.CANCELLED, message)
        running.clear()
        raise
    finally:
        for task, call in running.items():
            call.cancelled.set()
            task.cancel()


async def _record_finished(
    updates: asyncio.Queue[ToolOutputDelta | ToolOutcome],
    running: dict[asyncio.Task[None], ToolCall],
    turn: Turn,
) -> AsyncGenerator[Event, None]:
    """Record the results of calls that finished before they were stopped."""
    while not updates.empty():
        update = updates.get_nowait()
        if isinstance(update, ToolOutcome):
            _remove_task(update.call, running)
            async for event in _record_outcome(update, turn):
                yield event


def _remove_task(call: ToolCall, running: dict[asyncio.Task[None], ToolCall]) -> None:
    for task in [task for task, each in running.items() if each is call]:
        del running[task]


async def _run_tool(
    call: ToolCall, turn: Turn, updates: asyncio.Queue[ToolOutputDelta | ToolOutcome]
) -> None:
    """Run one tool and put its output and outcome into `updates`, unless it is cancelled."""

    def emit(text: str) -> None:
        call.recent_output.append(text)
        updates.put_nowait(ToolOutputDelta(tool_use_id=call.block.id, text=storable(text)))

    assert call.tool is not None, "only admitted calls are run"
    tool, name = call.tool, call.block.name
    try:
        mask = await _get_mask(call, turn)
        async with asyncio.timeout(tool.timeout_seconds):
            output = await tool.run(call.args, _build_context(call, turn, mask, emit))
        outcome = ToolOutcome(call, output)
    except ToolError as error:
        outcome = ToolOutcome(call, None, error.failure, str(error))
    except TimeoutError:
        call.cancelled.set()
        message = f"`{name}` did not finish within {tool.timeout_seconds:.0f} s and was stopped."
        outcome = ToolOutcome(call, None, ToolFailure.TIMEOUT, message)
    except Exception:  # noqa: BLE001 - the tool boundary: a bug in a tool is an error result
        _log.exception("tool %s failed", name)
        outcome = ToolOutcome(call, None, ToolFailure.EXECUTION_ERROR, _BUG_MESSAGE.format(name))
    updates.put_nowait(outcome)


async def _stop_tools(running: dict[asyncio.Task[None], ToolCall]) -> None:
    for task, call in running.items():
        call.cancelled.set()
        task.cancel()
    if not running:
        return
    _, abandoned = await asyncio.wait(running, timeout=CANCEL_GRACE_SECONDS)
    for task in abandoned:
        _log.warning("abandoned tool %s, which did not stop", running[task].block.name)


async def _record_outcome(outcome: ToolOutcome, turn: Turn) -> AsyncGenerator[Event, None]:
    call, output = outcome.call, outcome.output
    if output is None:
        failure = outcome.failure or ToolFailure.EXECUTION_ERROR
        yield await _record_tool_failure(call, turn, failure, outcome.error_message)
        return
    output = await asyncio.to_thread(mask_output, output, await _get_mask(call, turn))
    content = output.content + to_text_blocks(*call.notes)
    if has_bytes(content):
        content = await asyncio.to_thread(store_media, turn.env.blobs, content)
    fact = await turn.record(
        ToolCompleted(
            tool_use_id=call.block.id,
            tool_name=call.block.name,
            success=output.success,
            output_size_bytes=len(canonical_json(content)),
            latency_ms=call.elapsed_ms,
            files_modified=output.files_modified,
            command_executed=output.command_executed,
            message=call.build_result(turn.session_id, content, output),
        ),
        parent=call.parent,
    )
    turn.parent = fact.id
    yield fact


async def _get_mask(call: ToolCall, turn: Turn) -> Mask:
    if call.mask is None:
        call.mask = await asyncio.to_thread(turn.env.mask)
    return call.mask


async def _record_tool_failure(
    call: ToolCall, turn: Turn, failure: ToolFailure, message: str
) -> ToolFailed:
    message = storable((await _get_mask(call, turn)).text(message))
    fact = await turn.record(
        ToolFailed(
            tool_use_id=call.block.id,
            tool_name=call.block.name,
            error_class=failure,
            error_message=message,
            latency_ms=call.elapsed_ms,
            message=call.build_result(turn.session_id, to_text_blocks(message, *call.notes)),
        ),
        parent=call.parent,
    )
    turn.parent = fact.id
    return fact
