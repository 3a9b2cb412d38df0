"""Run the calls of one reply: look up, check, preview, ask, in order; then run together.

A change is made before the next change is shown, so that what is shown is what will happen.

Every call ends in exactly one `tool.completed` or `tool.failed` that carries its result message.
The ids of those messages are minted in call order before anything runs, so the conversation has
the order of the calls whichever finishes first. A `tool.failed` without a `tool.called` before it
is a call that never ran.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import timedelta

from yourtool.agent.approval import ask
from yourtool.agent.call import Finished, ToolCall, texts, without_keys
from yourtool.agent.gate import GateDecision, Subjects, subjects_of
from yourtool.agent.limits import nudge, repetition
from yourtool.agent.turn import Turn
from yourtool.blobs import has_bytes, store_media
from yourtool.deltas import ToolOutputDelta
from yourtool.effects import Confirmation, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.events import (
    Event,
    ToolCompleted,
    ToolFailed,
    ToolInputInvalid,
)
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.masking import Mask
from yourtool.messages import (
    ToolUseBlock,
    canonical_json,
    now,
)
from yourtool.text import storable
from yourtool.tools.base import Tool, ToolContext

_log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 30.0
"""How long a stopped tool may take to clean up before it is abandoned."""
_PARTIAL_KEPT = 4_000
"""Characters of a stopped tool's output that the model is given."""


_BUG = "`{}` failed with an internal error (see the log). Use another tool."


async def dispatch(calls: Sequence[ToolUseBlock], turn: Turn) -> AsyncGenerator[Event, None]:
    """Answer every call and yield what happens.

    Raises:
        Interrupted: the turn was stopped; every call has its result all the same.
    """
    pending = deque(ToolCall(block, new_id(), parent=turn.parent) for block in calls)
    turn.tool_calls += len(calls)
    ready: deque[ToolCall] = deque()
    try:
        while pending:
            call = pending[0]
            if (words := nudge(call.block, turn)) is not None:
                call.notes = (words,)
                yield repetition(call.block.name)
            if _depends(call, ready, turn):
                async with aclosing(_run_together(ready, turn)) as events:
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
        async with aclosing(_run_together(ready, turn)) as events:
            async for event in events:
                yield event
    except Interrupted:
        for call in (*ready, *pending):
            yield await _fail(call, turn, ToolFailure.CANCELLED, "Stopped before it ran.")
        raise


def _depends(call: ToolCall, ready: Iterable[ToolCall], turn: Turn) -> bool:
    """Tell whether earlier changes must be made before this call can be previewed and asked about.

    What a call would do to a file that another one is about to change cannot be shown yet.
    """
    tool = turn.around.toolbox.get(call.block.name)
    if tool is None or not tool.definition.side_effects.needs_approval:
        return False
    return any(
        each.tool is not None and each.tool.definition.side_effects is SideEffects.WRITE
        for each in ready
    )


async def refuse_all(
    calls: Sequence[ToolUseBlock], turn: Turn, reason: str
) -> AsyncGenerator[Event, None]:
    """Answer every call with an error, running none."""
    for block in calls:
        call = ToolCall(block, new_id(), parent=turn.parent)
        yield await _fail(call, turn, ToolFailure.PERMISSION_DENIED, f"Not run. {reason}")


async def _admit(call: ToolCall, turn: Turn) -> AsyncGenerator[Event, None]:
    """Decide whether a call may run; a `ToolFailed` among the events says that it may not."""
    block = call.block
    try:
        call.tool = _look_up(block, turn)
        if (broken := turn.input_errors.get(block.id)) is not None:
            cut = " The reply was cut at its length limit." if broken.truncated else ""
            raise ToolError(
                f"The arguments of `{block.name}` were not a complete JSON object:"
                f" {broken.error}.{cut} Call it again with complete arguments.",
                ToolFailure.VALIDATION_ERROR,
            )
        subjects = await _prepare(call, call.tool, turn)
        ruling = await turn.interrupt.guard(
            asyncio.to_thread(turn.around.gate.judge, call.tool, subjects, call.preview)
        )
        if ruling.verdict == "deny":
            raise ToolError(ruling.reason, ToolFailure.USER_DENIED)
        if ruling.verdict == "allow":
            return
        question = _question(call, turn, ruling)
        async with aclosing(ask(question, block.id, turn, call.parent)) as steps:
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
                        (await _mask(call, turn)).text(str(error)).splitlines()
                    ),
                ),
                parent=call.parent,
            )
        yield await _fail(call, turn, error.failure, str(error))


async def _prepare(call: ToolCall, tool: Tool, turn: Turn) -> Subjects:
    """Read the arguments, make the preview, and return what permission rules compare.

    Raises:
        ToolError: the arguments are not valid, or the tool has a bug.
    """
    try:
        parsed = asyncio.to_thread(tool.parse, call.block.input)
        call.args = args = await turn.interrupt.guard(parsed)
        subjects = await turn.interrupt.guard(
            asyncio.to_thread(subjects_of, tool, args, turn.around.workspace)
        )
        context = _context(call, turn, await _mask(call, turn))
        call.preview = await turn.interrupt.guard(tool.preview(args, context))
    except (ToolError, Interrupted):
        raise
    except Exception as fault:
        _log.exception("tool %s failed before it ran", tool.name)
        raise ToolError(_BUG.format(tool.name)) from fault
    return subjects


def _question(call: ToolCall, turn: Turn, ruling: GateDecision) -> Confirmation:
    assert call.tool is not None, "a question is put about a known tool"
    limit = timedelta(seconds=turn.around.budget.limits.confirmation_timeout_seconds)
    return Confirmation(
        id=new_id(),
        kind="tool",
        title=call.block.name,
        tool_use_id=call.block.id,
        side_effects=call.tool.definition.side_effects,
        input=call.block.input,
        preview=call.preview,
        rule=ruling.proposal,
        reason=ruling.reason,
        expires_at=None if turn.around.interactive else now() + limit,
    )


def _look_up(block: ToolUseBlock, turn: Turn) -> Tool:
    if (tool := turn.around.toolbox.get(block.name)) is None:
        names = ", ".join(f"`{each.name}`" for each in turn.around.toolbox.definitions)
        raise ToolError(
            f"There is no tool `{block.name}`. The tools are {names}.", ToolFailure.NOT_FOUND
        )
    return tool


def _context(
    call: ToolCall, turn: Turn, mask: Mask, emit: Callable[[str], None] | None = None
) -> ToolContext:
    can = turn.model.capabilities
    return ToolContext(
        workspace=turn.around.workspace,
        tool_use_id=call.block.id,
        emit=emit or call.printed.append,
        cancelled=call.cancelled,
        spill=turn.around.spill,
        reads=turn.reads,
        mask=mask,
        approved=call.preview,
        image_limit=can.max_image_bytes if can.supports_images else 0,
    )


async def _run_together(ready: deque[ToolCall], turn: Turn) -> AsyncGenerator[Event, None]:
    """Run at most `tool_concurrency` calls at once, starting them in order; empties `ready`.

    Those of a model without parallel calls run one after the other, as it expects them to.
    """
    is_parallel = turn.model.capabilities.supports_parallel_tool_calls
    at_once = turn.around.budget.limits.tool_concurrency if is_parallel else 1
    happenings: asyncio.Queue[ToolOutputDelta | Finished] = asyncio.Queue()
    running: dict[asyncio.Task[None], ToolCall] = {}
    try:
        while ready or running:
            while ready and len(running) < at_once:
                turn.interrupt.check()
                call = ready[0]
                called = await turn.record(call.called(), parent=call.parent)
                ready.popleft()
                call.parent, call.started = called.id, time.monotonic()
                running[asyncio.create_task(_run(call, turn, happenings))] = call
                yield called
            happening = await turn.interrupt.guard(happenings.get())
            if isinstance(happening, ToolOutputDelta):
                yield happening
                continue
            _forget(happening.call, running)
            async for event in _conclude(happening, turn):
                yield event
    except Interrupted:
        await _stop(running)
        async for event in _finished_meanwhile(happenings, running, turn):
            yield event
        for call in running.values():
            whole = "".join(call.printed)
            mask = await _mask(call, turn)
            printed = mask.slice(whole, max(0, len(whole) - _PARTIAL_KEPT), len(whole))
            words = "Stopped by the user." + (f" It had printed:\n{printed}" if printed else "")
            yield await _fail(call, turn, ToolFailure.CANCELLED, words)
        running.clear()
        raise
    finally:
        for task, call in running.items():
            call.cancelled.set()
            task.cancel()


async def _finished_meanwhile(
    happenings: asyncio.Queue[ToolOutputDelta | Finished],
    running: dict[asyncio.Task[None], ToolCall],
    turn: Turn,
) -> AsyncGenerator[Event, None]:
    """Give the calls that ended before they were stopped their true results."""
    while not happenings.empty():
        happening = happenings.get_nowait()
        if isinstance(happening, Finished):
            _forget(happening.call, running)
            async for event in _conclude(happening, turn):
                yield event


def _forget(call: ToolCall, running: dict[asyncio.Task[None], ToolCall]) -> None:
    for task in [task for task, each in running.items() if each is call]:
        del running[task]


async def _run(
    call: ToolCall, turn: Turn, happenings: asyncio.Queue[ToolOutputDelta | Finished]
) -> None:
    """Run one tool; whatever happens ends up in `happenings`, but for a cancellation."""

    def emit(text: str) -> None:
        call.printed.append(text)
        happenings.put_nowait(ToolOutputDelta(tool_use_id=call.block.id, text=storable(text)))

    assert call.tool is not None and call.args is not None, "only admitted calls are run"
    tool, name = call.tool, call.block.name
    try:
        mask = await _mask(call, turn)
        async with asyncio.timeout(tool.timeout_seconds):
            output = await tool.run(call.args, _context(call, turn, mask, emit))
        finished = Finished(call, output)
    except ToolError as error:
        finished = Finished(call, None, error.failure, str(error))
    except TimeoutError:
        call.cancelled.set()
        words = f"`{name}` did not finish within {tool.timeout_seconds:.0f} s and was stopped."
        finished = Finished(call, None, ToolFailure.TIMEOUT, words)
    except Exception:  # noqa: BLE001 - the tool boundary: a bug in a tool is an error result
        _log.exception("tool %s failed", name)
        finished = Finished(call, None, ToolFailure.EXECUTION_ERROR, _BUG.format(name))
    happenings.put_nowait(finished)


async def _stop(running: dict[asyncio.Task[None], ToolCall]) -> None:
    for task, call in running.items():
        call.cancelled.set()
        task.cancel()
    if not running:
        return
    _, abandoned = await asyncio.wait(running, timeout=CANCEL_GRACE_SECONDS)
    for task in abandoned:
        _log.warning("abandoned tool %s, which did not stop", running[task].block.name)


async def _conclude(finished: Finished, turn: Turn) -> AsyncGenerator[Event, None]:
    call, output = finished.call, finished.output
    if output is None:
        failure = finished.failure or ToolFailure.EXECUTION_ERROR
        yield await _fail(call, turn, failure, finished.words)
        return
    output = await asyncio.to_thread(without_keys, output, await _mask(call, turn))
    content = output.content + texts(*call.notes)
    if has_bytes(content):
        content = await asyncio.to_thread(store_media, turn.around.blobs, content)
    fact = await turn.record(
        ToolCompleted(
            tool_use_id=call.block.id,
            tool_name=call.block.name,
            success=output.success,
            output_size_bytes=len(canonical_json(content)),
            latency_ms=call.elapsed_ms,
            files_modified=output.files_modified,
            command_executed=output.command_executed,
            message=call.result(turn.session_id, content, output),
        ),
        parent=call.parent,
    )
    turn.parent = fact.id
    yield fact


async def _mask(call: ToolCall, turn: Turn) -> Mask:
    if call.mask is None:
        call.mask = await asyncio.to_thread(turn.around.mask)
    return call.mask


async def _fail(call: ToolCall, turn: Turn, failure: ToolFailure, words: str) -> ToolFailed:
    words = storable((await _mask(call, turn)).text(words))
    fact = await turn.record(
        ToolFailed(
            tool_use_id=call.block.id,
            tool_name=call.block.name,
            error_class=failure,
            error_message=words,
            latency_ms=call.elapsed_ms,
            message=call.result(turn.session_id, texts(words, *call.notes)),
        ),
        parent=call.parent,
    )
    turn.parent = fact.id
    return fact
