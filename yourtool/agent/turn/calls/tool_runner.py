"""Runner of the calls of one reply.

Calls that only read run together; one that writes or executes runs alone, in the order of the
reply. A call is previewed after the calls on which its preview depends.

Every call ends in exactly one `tool.completed` or `tool.failed` with its result message. The ids of
these messages are created in call order before anything runs, so the conversation has the order of
the calls, in whichever order they finish. A `tool.failed` without a preceding `tool.called` is a
call that never ran.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from itertools import islice

from msgspec.structs import replace

from yourtool.agent.turn.calls import sandbox_notes
from yourtool.agent.turn.calls.admission import admit, admit_again
from yourtool.agent.turn.calls.call_context import build_running_context
from yourtool.agent.turn.calls.call_order import count_independent, runs_beside_others
from yourtool.agent.turn.calls.change_journal import CallJournal, changes_files_unrecorded
from yourtool.agent.turn.calls.edit_checks import EditChecks
from yourtool.agent.turn.calls.protected_changes import accept_writes, settle_changes
from yourtool.agent.turn.calls.safety_copy import make_safety_copy
from yourtool.agent.turn.calls.second_questions import offer_retry
from yourtool.agent.turn.calls.tool_call import (
    BUG_MESSAGE,
    DecidedCall,
    FinishedCall,
    RunningCall,
    ToolCall,
    build_called_fact,
    load_mask,
    mask_output,
    to_text_blocks,
)
from yourtool.agent.turn.calls.tool_hooks import finish_call
from yourtool.agent.turn.loops import REPEATS_BEFORE_NOTE, build_note, build_notice
from yourtool.agent.turn.turn import Turn
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import ToolError, ToolFailure
from yourtool.events.deltas import Notice, ToolOutputDelta
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.messages.blobs import has_bytes, store_media
from yourtool.messages.blocks import TextBlock, ToolUseBlock, canonical_json
from yourtool.tools.base import Block
from yourtool.tools.commands.process_tools import describe_ended

_log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 30.0
"""Time for a stopped tool to clean up before it is abandoned."""


class ToolRunner:
    """The calls of one reply."""

    def __init__(self, blocks: Sequence[ToolUseBlock], turn: Turn) -> None:
        self._turn = turn
        self._pending = deque(
            ToolCall(block, new_id(), len(blocks) - number, turn.parent)
            for number, block in enumerate(blocks, 1)
        )
        self._admitted: deque[DecidedCall] = deque()
        self._running: dict[asyncio.Task[None], RunningCall] = {}
        self._finished: asyncio.Queue[FinishedCall] = asyncio.Queue()
        self._checks = EditChecks(turn, self._pending)
        self._has_changes = False
        """True if a call may have changed something since the last ones were admitted."""
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
        self._turn.counts.tool_calls += len(self._pending)
        try:
            while self._pending:
                await self._admit(self._count_next())
                await self._run_admitted()
            await self._turn.emit(*self._notices)
        except Interrupted:
            for call in (*(each.call for each in self._admitted), *self._pending):
                await self._fail(call, ToolFailure.CANCELLED, "Stopped before it ran.")
            raise

    def _count_next(self) -> int:
        """Return how many of the next calls can be previewed before any of them runs."""
        toolbox, called = (
            self._turn.means.toolbox,
            list[tuple[ToolUseBlock, ToolDefinition | None]](),
        )
        for each in self._pending:
            tool = toolbox.get(each.block.name)
            called.append((each.block, None if tool is None else tool.definition))
        return count_independent(called)

    async def _admit(self, count: int) -> None:
        """Judge calls in order; their questions are open at the same time."""
        calls = [*islice(self._pending, count)]
        self._has_changes = False
        try:
            async with asyncio.TaskGroup() as group:
                admissions = [group.create_task(self._admit_or_refuse(each)) for each in calls]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        self._turn.interrupt.check()
        for call, admission in zip(calls, admissions, strict=True):
            if (decided := admission.result()) is not None:
                self._pending.remove(call)
                self._admitted.append(decided)

    async def _admit_or_refuse(self, call: ToolCall) -> DecidedCall | None:
        """Return a call that may run; None: it has a result, or the turn was stopped."""
        with suppress(Interrupted):
            try:
                return await admit(call, self._turn)
            except ToolError as refusal:
                self._pending.remove(call)
                await self._checks.finish_refused(call)
                await self._fail(call, refusal.failure, str(refusal))
        return None

    async def _run_admitted(self) -> None:
        """Run the calls in order; at most `tool_concurrency` that change nothing run at once.

        Without support for parallel calls, the model expects its calls to run one after the other.
        """
        turn, running = self._turn, self._running
        is_parallel = turn.model.capabilities.supports_parallel_tool_calls
        at_once = turn.env.spending.limits.tool_concurrency if is_parallel else 1
        try:
            while self._admitted or running:
                while self._admitted and len(running) < at_once and self._can_start():
                    turn.interrupt.check()
                    await self._start(self._admitted[0])
                if running:  # else the last of them was refused
                    await self._end_or_retry(await turn.interrupt.guard(self._finished.get()))
        except Interrupted:
            await self._wait_for_workers()
            await self._stop_running()
            await self._end_stopped()
            raise
        finally:
            self._stop_tasks()

    def _can_start(self) -> bool:
        """Return whether the next call need not wait for the end of those that run."""
        running = [each.decided for each in self._running.values()]
        return not running or all(map(runs_beside_others, (self._admitted[0], *running)))

    async def _start(self, decided: DecidedCall) -> None:
        """Start a call after a safety copy of what it discards; it fails without one.

        It is judged again if a call has changed something since it was admitted.
        """
        admitted = decided
        try:
            if self._has_changes:
                decided = await admit_again(decided, self._turn)
            decided, copy = await make_safety_copy(decided, self._turn)
        except ToolError as refusal:
            self._admitted.popleft()
            await self._checks.finish_refused(admitted.call)
            await self._fail(admitted.call, refusal.failure, str(refusal))
            return
        self._has_changes = self._has_changes or not runs_beside_others(decided)
        started = await self._record_start(decided)
        self._admitted.popleft()
        self._run_later(RunningCall(replace(decided.call, parent=started.id), decided, copy))

    async def _record_start(self, decided: DecidedCall) -> ToolCalled:
        """Record that a tool starts.

        The start of a tool without effects is stored with its result, if that comes soon.
        """
        fact, parent = build_called_fact(decided), decided.call.parent
        if fact.side_effects in (SideEffects.NONE, SideEffects.READ):
            return await self._turn.channel.defer(fact, parent=parent)
        return await self._turn.record(fact, parent=parent)

    def _run_later(self, running: RunningCall) -> None:
        self._running[asyncio.create_task(self._run_tool(running))] = running

    async def _end_or_retry(self, finished: FinishedCall) -> None:
        """Record the end of a call, or run it again outside the sandbox that blocked it."""
        running, output, turn = finished.running, finished.output, self._turn
        report, has_user = running.call.report, turn.env.user.interactive
        await settle_changes(running, turn)
        if output is None or (block := output.blocked) is None:
            await self._end(finished)
            return
        if self._needs_question(block):
            try:
                again = await offer_retry(running, block, turn)
                is_outside = again.is_outside_sandbox
                report.note(sandbox_notes.describe_second_run(is_outside=is_outside))
                self._forget(running)
                self._run_later(again)
                return
            except ToolError as error:
                report.note(f"[{error}]")
        report.note(sandbox_notes.describe_block(block, has_user=has_user))
        if block.is_certain and not block.remedy and not has_user:
            await turn.emit(*turn.env.user.new_notices(sandbox_notes.describe_way_out(block)))
        await self._end(finished)

    def _needs_question(self, block: Block) -> bool:
        """Whether to ask the user about what the sandbox refused, once for each host."""
        has_user, sandbox = self._turn.env.user.interactive, self._turn.env.place.sandbox
        if not block.is_certain or block.remedy or not has_user or sandbox is None:
            return False
        is_new = not block.hosts or not sandbox.declined.issuperset(block.hosts)
        sandbox.declined.update(block.hosts)
        return is_new

    def _forget(self, running: RunningCall) -> None:
        for task in [task for task, each in self._running.items() if each is running]:
            del self._running[task]

    async def _run_tool(self, running: RunningCall) -> None:
        """Run one tool and report its output and its end, unless it is cancelled."""
        call, turn, tool = running.call, self._turn, running.parsed.tool

        def emit(text: str) -> None:
            running.recent_output.append(text)
            output = ToolOutputDelta(tool_use_id=call.block.id, text=storable(text))
            turn.channel.post(output)

        name, journal = call.block.name, CallJournal(turn, call.block.id, call.parent)
        try:
            context = build_running_context(running, journal, emit, turn)
            async with AsyncExitStack() as stack:
                if changes_files_unrecorded(tool):
                    watching = journal.watching(running.copy, only_reads=context.only_reads)
                    await stack.enter_async_context(watching)
                async with asyncio.timeout(tool.timeout_seconds):
                    output = await tool.run(running.parsed.args, context)
            if journal.edited:
                await accept_writes(journal.edited, turn)
            finished = FinishedCall(running, output)
        except ToolError as error:
            finished = FinishedCall(running, None, error.failure, str(error))
        except TimeoutError:
            running.cancelled.set()
            message = (
                f"`{name}` did not finish within {tool.timeout_seconds:.0f} s and was stopped."
            )
            finished = FinishedCall(running, None, ToolFailure.TIMEOUT, message)
        except Exception:  # noqa: BLE001 - the tool boundary: a bug in a tool is an error result
            _log.exception("tool %s failed", name)
            finished = FinishedCall(running, None, error_message=BUG_MESSAGE.format(name))
        try:
            self._notices += await finish_call(finished, journal.edited, self._checks)
        finally:
            self._finished.put_nowait(finished)

    async def _wait_for_workers(self) -> None:
        """Stop the other calls; wait until workers are done, or the user insists on the stop."""
        turn, workers = self._turn, list[asyncio.Task[None]]()
        if turn.env.user.interactive:
            workers += (each for each in self._running if self._running[each].call.delegates)
        if not workers:
            return
        self._stop_tasks(but=workers)
        what = "a worker is" if len(workers) == 1 else f"{len(workers)} workers are"
        text = f"The turn ends when {what} done. Esc again stops the work now."
        await turn.emit(Notice(level="info", text=text))
        working = asyncio.gather(*workers, return_exceptions=True)
        await turn.interrupt.wait_unless_insisted(working)

    def _stop_tasks(self, but: Sequence[asyncio.Task[None]] = ()) -> None:
        for task, running in self._running.items():
            if task not in but:
                running.cancelled.set()
                task.cancel()

    async def _stop_running(self) -> None:
        self._stop_tasks()
        if not self._running:
            return
        _, abandoned = await asyncio.wait(self._running, timeout=CANCEL_GRACE_SECONDS)
        for task in abandoned:
            name = self._running[task].call.block.name
            _log.warning("abandoned tool %s, which did not stop", name)

    async def _end_stopped(self) -> None:
        """Record the results of calls that finished before the stop, then of the other calls."""
        while not self._finished.empty():
            await self._end(self._finished.get_nowait())
        for running in self._running.values():
            cancelled = ToolFailure.CANCELLED, running.describe_stop()
            await self._fail(running.call, *cancelled, running)
        self._running.clear()

    async def _end(self, finished: FinishedCall) -> None:
        """Record the end of a call that ran."""
        running, call, turn = finished.running, finished.running.call, self._turn
        self._forget(running)
        if finished.output is None:
            await self._fail(call, finished.failure, finished.error_message, running)
            return
        output = await mask_output(finished.output, running.parsed.mask)
        content = output.content
        if has_bytes(content):
            content = await asyncio.to_thread(store_media, turn.env.place.blobs, content)
        self._count(call, canonical_json(content).decode(), running)
        notes = self._take_notes(call)
        self._end_hints.append(output.terminate)
        await turn.channel.emit(*output.facts, parent=call.parent)
        await self._record_end(
            call,
            ToolCompleted(
                tool_use_id=call.block.id,
                tool_name=call.block.name,
                success=output.success,
                output_size_bytes=len(canonical_json(content + notes)),
                latency_ms=running.elapsed_ms,
                files_modified=output.files_modified,
                command_executed=output.command_executed,
                message=call.build_result(turn.session_id, content, notes, output),
            ),
        )

    async def _fail(
        self,
        call: ToolCall,
        failure: ToolFailure,
        message: str,
        running: RunningCall | None = None,
    ) -> None:
        """Record a result that is an error; a call that is not `running` never ran."""
        mask = running.parsed.mask if running is not None else await load_mask(self._turn)
        message = storable(mask.text(message))
        if failure is not ToolFailure.CANCELLED:
            self._count(call, message, running)
        self._end_hints.append(False)
        await self._record_end(
            call,
            ToolFailed(
                tool_use_id=call.block.id,
                tool_name=call.block.name,
                error_class=failure,
                error_message=message,
                latency_ms=0 if running is None else running.elapsed_ms,
                judgement=call.report.take_judgement(),
                message=call.build_result(
                    self._turn.session_id, to_text_blocks(message), self._take_notes(call)
                ),
            ),
        )

    def _take_notes(self, call: ToolCall) -> tuple[TextBlock, ...]:
        """Return what follows the result: notes on the call, and the processes that have ended."""
        ended = self._turn.env.place.processes.take_ended()
        return to_text_blocks(*call.report.notes, *describe_ended(ended))

    def _count(self, call: ToolCall, result: str, running: RunningCall | None) -> None:
        """Count a call with its result; the third time, the model and the user are informed."""
        has_effects = (
            running is not None and running.parsed.tool.definition.side_effects.needs_approval
        )
        count = self._turn.counts.repeated.add(
            call.block.name, call.block.input, result, has_effects=has_effects
        )
        if count == REPEATS_BEFORE_NOTE:
            call.report.note(build_note())
            self._notices.append(Notice(level="warning", text=build_notice(call.block.name)))

    async def _record_end(self, call: ToolCall, fact: ToolCompleted | ToolFailed) -> None:
        """Record a result; the last one waits for the request."""
        turn, self._ends_turn = self._turn, self._ends_turn or call.report.ends_turn
        if self._pending or self._admitted or self._running:
            ended = await turn.record(fact, parent=call.parent)
        else:
            ended = await turn.channel.defer(fact, parent=call.parent)
        turn.parent = ended.id
