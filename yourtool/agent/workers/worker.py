"""Worker: one turn of a separate session."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from typing import Protocol

from msgspec import Struct, field

from yourtool.agent.history.delegated_work import WorkTotals
from yourtool.errors import YourtoolError
from yourtool.events.catalog import Event
from yourtool.events.delegation import DelegationFailure
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed
from yourtool.events.turns import RouteDecided, TurnCompleted
from yourtool.messages.blocks import ContentBlock, ToolUseBlock
from yourtool.messages.metadata import StopReason
from yourtool.tools.base import ToolContext, ToolOutput
from yourtool.tools.guidance.delegate import ReportMissing, report_missing
from yourtool.tools.toolset import Tool

_MAX_ARGUMENT = 80
"""Characters of an argument in a line of progress."""


class WorkerSession(Protocol):
    """The part of a session that a worker uses."""

    id: str

    @property
    def limit_reached(self) -> str | None:
        """Message about the limit that stopped the turn; None if none did."""
        ...

    def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        """Run a turn."""
        ...

    def cancel(self) -> bool:
        """Stop the turn; the second call also stops its workers."""
        ...

    async def close(self) -> None:
        """Record the end of the session."""
        ...


class Worker(Struct):
    """Runs one task; `report` has the result, or `failure` and `problem` the reason."""

    session: WorkerSession
    max_seconds: float
    max_tokens: int
    show: Callable[[str], None]
    """Displays a line of progress."""
    observe: Callable[[Event], Awaitable[None]]
    """Gets every event of the worker."""
    totals: WorkTotals = field(default_factory=WorkTotals)
    report: str = ""
    """The text of the last reply."""
    failure: DelegationFailure | None = None
    """Why there is no result; None after a success."""
    problem: str = ""
    """The reason, for the model that delegated."""
    _deadline: asyncio.Timeout | None = None
    _questions: int = 0
    _remaining: float = 0

    async def run(self, brief: str) -> None:
        """Run the task to its end; cancelling stops the worker, and waits until it has stopped."""
        playing = asyncio.create_task(self._play(brief))
        try:
            async with asyncio.timeout(self.max_seconds) as self._deadline:
                await asyncio.shield(playing)
        except TimeoutError:
            self._fail("timeout", f"it was not done after {self.max_seconds:,.0f} s")
            await asyncio.wait([playing])
        except asyncio.CancelledError:
            self._fail("cancelled_by_user", "the user stopped it")
            await asyncio.wait([playing])
            raise
        finally:
            self._deadline = None
            if playing.done():
                await self.session.close()
        playing.result()

    @contextmanager
    def waiting_for_user(self) -> Generator[None, None, None]:
        """Stop the clock while a question of the worker is open."""
        deadline, loop = self._deadline, asyncio.get_running_loop()
        if deadline is not None and not self._questions and deadline.when() is not None:
            self._remaining = (deadline.when() or 0) - loop.time()
            deadline.reschedule(None)
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if deadline is self._deadline and deadline is not None and not self._questions:
                deadline.reschedule(loop.time() + self._remaining)

    async def _play(self, brief: str) -> None:
        try:
            async with aclosing(self.session.send(brief)) as events:
                async for event in events:
                    self._apply(event)
                    await self.observe(event)
        except YourtoolError as error:
            self._fail("worker_error", str(error))
        if (limit := self.session.limit_reached) is not None:
            is_own = self.totals.total_tokens >= self.max_tokens
            self._fail("max_tokens_exceeded" if is_own else "limit_reached", limit)
        elif not self.report and self.failure is None:
            self._fail("worker_error", "it ended without a reply")

    def _apply(self, event: Event) -> None:
        self.totals.apply(event)
        match event:
            case RouteDecided(chosen_model=None):
                self._fail("no_model_available", "no model is available for it")
            case LlmCallCompleted() | LlmCallFailed() if not event.purpose:
                self._apply_call(event)
            case TurnCompleted(stop_reason=StopReason.MAX_TOKENS):
                self.report += "\n[The report ends here, at the output limit of the model.]"
            case TurnCompleted(stop_reason=StopReason.ERROR) if self.session.limit_reached is None:
                self._fail("worker_error", self.problem or "its request failed")
            case Notice(level="error" | "warning", text=text):
                self.show(f"{text}\n")
            case _:
                pass

    def _apply_call(self, call: LlmCallEnd) -> None:
        if isinstance(call, LlmCallFailed):
            self.problem = call.error_message_redacted
            return
        self.problem, self.report = "", call.message.text
        for block in call.message.tool_uses:
            self.show(f"{_describe_call(block)}\n")

    def _fail(self, failure: DelegationFailure, problem: str) -> None:
        """Note why the worker fails, if nothing else was the reason before, and stop it."""
        if self.failure is None:
            self.failure, self.problem = failure, problem
        for _ in ("turn", "workers"):
            self.session.cancel()


class MissingContext:
    """The tool with which a worker ends its task because something is missing."""

    def __init__(self) -> None:
        self.reported: ReportMissing | None = None

    def build_tool(self) -> Tool:
        """Return the tool, which stores the report here."""
        return _Reporting(self)

    def describe(self) -> str:
        """Return the report as text for the model that delegated."""
        assert self.reported is not None, "nothing is missing"
        parts = [
            f"- {part.what}{f' ({part.hint})' if part.hint else ''}"
            for part in self.reported.missing
        ]
        done = f"\nDone so far: {self.reported.summary}" if self.reported.summary else ""
        return "\n".join(("it needs:", *parts)) + done


class _Reporting:
    """`report_missing` of one worker."""

    def __init__(self, missing: MissingContext) -> None:
        self.definition = report_missing.definition
        self.timeout_seconds = report_missing.timeout_seconds
        self.has_preview = report_missing.has_preview
        self.adjust, self.parse = report_missing.adjust, report_missing.parse
        self.subjects, self.preview = report_missing.subjects, report_missing.preview
        self._missing = missing

    async def run(self, args: ReportMissing, context: ToolContext) -> ToolOutput:
        """Store the report and end the turn."""
        self._missing.reported = args
        return await report_missing.run(args, context)


def _describe_call(block: ToolUseBlock) -> str:
    """Return the name of a tool and its first text argument, in one line."""
    texts = (value for value in block.input.values() if isinstance(value, str))
    argument = " ".join(next(texts, "")[:_MAX_ARGUMENT].split())
    return f"{block.name} {argument}".rstrip()
