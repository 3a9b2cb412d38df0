"""Runner of the calls of one reply.

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
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.turn.calls import sandbox_notes
from yourtool.agent.turn.calls.admission import admit, offer_retry
from yourtool.agent.turn.calls.change_journal import CallJournal, changes_files_unrecorded
from yourtool.agent.turn.calls.edit_checks import EditChecks
from yourtool.agent.turn.calls.protected_changes import accept_writes, settle_changes
from yourtool.agent.turn.calls.safety_copy import make_safety_copy
from yourtool.agent.turn.calls.tool_call import (
    BUG_MESSAGE,
    ToolCall,
    ToolOutcome,
    mask_output,
    to_text_blocks,
)
from yourtool.agent.turn.calls.tool_hooks import finish_call
from yourtool.agent.turn.loops import REPEATS_BEFORE_NOTE, build_note, build_notice
from yourtool.agent.turn.turn import Turn
from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.events.deltas import Notice, ToolOutputDelta
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.messages.blobs import has_bytes, store_media
from yourtool.messages.blocks import ToolUseBlock, canonical_json
from yourtool.tools.base import Block

_log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 30.0
"""Time for a stopped tool to clean up before it is abandoned."""


class ToolRunner:
    """The calls of one reply."""

    def __init__(self, blocks: Sequence[ToolUseBlock], turn: Turn) -> None:
        self._turn = turn
        self._pending = deque(
            ToolCall(block, new_id(), following=len(blocks) - number, parent=turn.parent)
            for number, block in enumerate(blocks, 1)
        )
        self._admitted: deque[ToolCall] = deque()
        self._running: dict[asyncio.Task[None], ToolCall] = {}
        self._outcomes: asyncio.Queue[ToolOutcome] = asyncio.Queue()
        self._checks = EditChecks(turn, self._pending)
        self._end_hints: list[bool] = []
        self._notices: list[Notice] = []
        self._ends_turn = False
        self.delegated = any(call.delegates for call in self._pending)
        """Whether a worker does the work of a call."""

    @property
    def end_turn(self) -> bool:
        """Whether a call, or the hint of every result, ends the turn without another request."""
        return self._ends_turn or (bool(self._end_hints) and all(self._end_hints))

    async def refuse(self, reason: str) -> None:
        """Give every call an error result without running it."""
        for call in self._pending:
            await self._fail(call, ToolFailure.PERMISSION_DENIED, f"Not run. {reason}")

    async def run(self) -> None:
        """Run or refuse every call.

        Raises:
            Interrupted: the turn was stopped; every call has a result.
        """
        self._turn.tool_calls += len(self._pending)
        self._turn.denies_rest = self._turn.answered_plan = False
        try:
            while self._pending:
                call = self._pending[0]
                if self._depends_on_admitted_write(call):
                    await self._run_admitted()
                refusal = await admit(call, self._turn)
                self._pending.popleft()
                if refusal is None:
                    self._admitted.append(call)
                    continue
                await self._checks.finish_refused(call)
                await self._fail(call, refusal.failure, str(refusal))
            await self._run_admitted()
            await self._turn.emit(*self._notices)
        except Interrupted:
            for call in (*self._admitted, *self._pending):
                await self._fail(call, ToolFailure.CANCELLED, "Stopped before it ran.")
            raise

    def _depends_on_admitted_write(self, call: ToolCall) -> bool:
        """Return whether admitted writes must run before this call can be previewed.

        A preview of a change to a file is wrong if an earlier call changes the file afterwards.
        """
        tool = self._turn.toolbox.get(call.block.name)
        if tool is not None and tool.definition.ends_planning:
            return bool(self._admitted)  # they were admitted in plan mode, which may end now
        if tool is None or not tool.definition.side_effects.needs_approval:
            return False
        return any(
            each.tool is not None and each.tool.definition.side_effects is SideEffects.WRITE
            for each in self._admitted
        )

    async def _run_admitted(self) -> None:
        """Run at most `tool_concurrency` calls at once, starting them in order.

        Without support for parallel calls, the model expects its calls to run one after the other.
        """
        turn, running = self._turn, self._running
        is_parallel = turn.model.capabilities.supports_parallel_tool_calls
        at_once = turn.env.limits.tool_concurrency if is_parallel else 1
        try:
            while self._admitted or running:
                while self._admitted and len(running) < at_once:
                    turn.interrupt.check()
                    call = self._admitted[0]
                    if (refusal := await make_safety_copy(call, turn)) is not None:
                        self._admitted.popleft()
                        await self._fail(call, refusal.failure, str(refusal))
                        continue
                    await self._record_start(call)
                    self._admitted.popleft()
                    running[asyncio.create_task(self._run_tool(call))] = call
                if running:  # else the last of them was refused
                    await self._end_or_retry(await turn.interrupt.guard(self._outcomes.get()))
        except Interrupted:
            await self._wait_for_workers()
            await self._stop_running()
            await self._end_stopped()
            raise
        finally:
            for task, call in running.items():
                call.cancelled.set()
                task.cancel()

    async def _record_start(self, call: ToolCall) -> None:
        """Record that a tool starts.

        The start of a tool without effects is stored with its result, if that comes soon.
        """
        fact = call.build_called_fact()
        if fact.side_effects in (SideEffects.NONE, SideEffects.READ):
            called = await self._turn.channel.defer(fact, parent=call.parent)
        else:
            called = await self._turn.record(fact, parent=call.parent)
        call.parent, call.started = called.id, time.monotonic()

    async def _end_or_retry(self, outcome: ToolOutcome) -> None:
        """Record the end of a call, or run it again outside the sandbox that blocked it."""
        call, output = outcome.call, outcome.output
        await settle_changes(call, self._turn)
        if output is None or (block := output.blocked) is None:
            await self._end(outcome)
            return
        if self._needs_question(block):
            try:
                await offer_retry(call, block, self._turn)
            except ToolError as error:
                call.notes += (f"[{error}]",)
        if call.runs_again:
            call.runs_again = False
            call.notes += (sandbox_notes.describe_second_run(is_outside=call.is_outside_sandbox),)
            self._forget(call)
            self._running[asyncio.create_task(self._run_tool(call))] = call
        else:
            has_user = self._turn.env.interactive
            call.notes += (sandbox_notes.describe_block(block, has_user=has_user),)
            if block.is_certain and not block.remedy and not has_user:
                text = sandbox_notes.describe_way_out(block)
                await self._turn.emit(*self._turn.env.new_notices(text))
            await self._end(outcome)

    def _needs_question(self, block: Block) -> bool:
        """Whether to ask the user about what the sandbox refused, once for each host."""
        env = self._turn.env
        if not block.is_certain or block.remedy or not env.interactive or env.sandbox is None:
            return False
        is_new = not block.hosts or not env.sandbox.declined.issuperset(block.hosts)
        env.sandbox.declined.update(block.hosts)
        return is_new

    def _forget(self, call: ToolCall) -> None:
        for task in [task for task, each in self._running.items() if each is call]:
            del self._running[task]

    async def _run_tool(self, call: ToolCall) -> None:
        """Run one tool and report its output and outcome, unless it is cancelled."""

        def emit(text: str) -> None:
            call.recent_output.append(text)
            output = ToolOutputDelta(tool_use_id=call.block.id, text=storable(text))
            self._turn.channel.post(output)

        assert call.tool is not None, "only admitted calls are run"
        tool, name = call.tool, call.block.name
        journal = CallJournal(self._turn, call.block.id, call.parent)
        try:
            context = await call.build_context(self._turn, emit, journal)
            context = replace(context, delegator=call.build_delegator(self._turn))
            async with AsyncExitStack() as stack:
                if changes_files_unrecorded(tool):
                    watching = journal.watching(call.copy, only_reads=call.only_reads)
                    await stack.enter_async_context(watching)
                async with asyncio.timeout(tool.timeout_seconds):
                    output = await tool.run(call.args, context)
            if journal.edited:
                await accept_writes(journal.edited, self._turn)
            outcome = ToolOutcome(call, output)
        except ToolError as error:
            outcome = ToolOutcome(call, None, error.failure, str(error))
        except TimeoutError:
            call.cancelled.set()
            message = (
                f"`{name}` did not finish within {tool.timeout_seconds:.0f} s and was stopped."
            )
            outcome = ToolOutcome(call, None, ToolFailure.TIMEOUT, message)
        except Exception:  # noqa: BLE001 - the tool boundary: a bug in a tool is an error result
            _log.exception("tool %s failed", name)
            outcome = ToolOutcome(call, None, ToolFailure.EXECUTION_ERROR, BUG_MESSAGE.format(name))
        try:
            self._notices += await finish_call(outcome, journal.edited, self._checks)
        finally:
            self._outcomes.put_nowait(outcome)

    async def _wait_for_workers(self) -> None:
        """Stop the other calls; wait until workers are done, or the user insists on the stop."""
        turn, workers = self._turn, list[asyncio.Task[None]]()
        if turn.env.interactive:
            workers += (each for each in self._running if self._running[each].delegates)
        if not workers:
            return
        for task, call in self._running.items():
            if not call.delegates:
                call.cancelled.set()
                task.cancel()
        what = "a worker is" if len(workers) == 1 else f"{len(workers)} workers are"
        text = f"The turn ends when {what} done. Esc again stops the work now."
        await turn.emit(Notice(level="info", text=text))
        working = asyncio.gather(*workers, return_exceptions=True)
        await turn.interrupt.wait_unless_insisted(working)

    async def _stop_running(self) -> None:
        for task, call in self._running.items():
            call.cancelled.set()
            task.cancel()
        if not self._running:
            return
        _, abandoned = await asyncio.wait(self._running, timeout=CANCEL_GRACE_SECONDS)
        for task in abandoned:
            _log.warning("abandoned tool %s, which did not stop", self._running[task].block.name)

    async def _end_stopped(self) -> None:
        """Record the results of calls that finished before the stop, then of the other calls."""
        while not self._outcomes.empty():
            await self._end(self._outcomes.get_nowait())
        for call in self._running.values():
            message = await call.describe_stop(self._turn)
            await self._fail(call, ToolFailure.CANCELLED, message)
        self._running.clear()

    async def _end(self, outcome: ToolOutcome) -> None:
        """Record the end of a call that ran."""
        self._forget(outcome.call)
        if outcome.output is None:
            failure = outcome.failure or ToolFailure.EXECUTION_ERROR
            await self._fail(outcome.call, failure, outcome.error_message)
            return
        call, turn = outcome.call, self._turn
        output = await mask_output(outcome.output, await call.load_mask(turn))
        content = output.content
        if has_bytes(content):
            content = await asyncio.to_thread(store_media, turn.env.blobs, content)
        self._count(call, canonical_json(content).decode())
        content += call.take_notes(turn)
        self._end_hints.append(output.terminate)
        self._ends_turn = self._ends_turn or call.ends_turn
        await turn.channel.emit(*output.facts, parent=call.parent)
        await self._record_end(
            call,
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
        )

    async def _fail(self, call: ToolCall, failure: ToolFailure, message: str) -> None:
        """Record a result that is an error."""
        turn = self._turn
        message = storable((await call.load_mask(turn)).text(message))
        if failure is not ToolFailure.CANCELLED:
            self._count(call, message)
        self._end_hints.append(False)
        self._ends_turn = self._ends_turn or call.ends_turn
        await self._record_end(
            call,
            ToolFailed(
                tool_use_id=call.block.id,
                tool_name=call.block.name,
                error_class=failure,
                error_message=message,
                latency_ms=call.elapsed_ms,
                judgement=UNSET if call.started else call.judgement,
                message=call.build_result(
                    turn.session_id, to_text_blocks(message) + call.take_notes(turn)
                ),
            ),
        )

    def _count(self, call: ToolCall, result: str) -> None:
        """Count a call with its result; the third time, the model and the user are informed."""
        definition = None if call.tool is None or not call.started else call.tool.definition
        has_effects = definition is not None and definition.side_effects.needs_approval
        count = self._turn.repeated.add(
            call.block.name, call.block.input, result, has_effects=has_effects
        )
        if count == REPEATS_BEFORE_NOTE:
            call.notes += (build_note(),)
            self._notices.append(Notice(level="warning", text=build_notice(call.block.name)))

    async def _record_end(self, call: ToolCall, fact: ToolCompleted | ToolFailed) -> None:
        """Record a result; the last one waits for the request."""
        turn = self._turn
        if self._pending or self._admitted or self._running:
            ended = await turn.record(fact, parent=call.parent)
        else:
            ended = await turn.channel.defer(fact, parent=call.parent)
        turn.parent = ended.id
