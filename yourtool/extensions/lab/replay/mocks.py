"""Model and tools of a replay."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Any

from yourtool.agent.history.state import State
from yourtool.agent.hooks.hooks import Hooks
from yourtool.agent.turn.loops import RepeatedCalls
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    ErrorClass,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.events.branches import EntryAdded
from yourtool.events.catalog import AnyFact
from yourtool.events.deltas import MessageComplete, MessageStart, StreamEvent, TokenUsage
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.extensions.lab.replay.recording import RecordedTurn, Step
from yourtool.messages.blocks import ContentBlock, TextBlock, ToolResultBlock
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.estimate import estimate_tokens
from yourtool.tools.base import ToolContext, ToolOutput
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.toolset import Toolbox

_ERRORS = {
    kind.error_class: kind
    for kind in (
        RateLimitError,
        AuthError,
        ServerError,
        NetworkError,
        ContextOverflowError,
        InvalidRequestError,
    )
}
_LOST = (TextBlock("[the recording has no result of this call]"),)


class ReplayedHooks(Hooks):
    """Runs nothing, and continues turns where the recording has that a hook did."""

    def __init__(self, model: "ReplayedModel") -> None:
        super().__init__()
        self.get_recorded_objections = model.get_objections


class ReplayedModel:
    """An adapter that gives the stored replies of a turn, in order."""

    def __init__(self, state: State) -> None:
        """`state`: that of the replay, which has the start of each request."""
        self._state = state
        self._steps: Sequence[Step] = ()
        self._next = 0
        """Index of the next step."""
        self._steered = 0
        """Number of messages to the turn since the last reply."""
        self._silent: Iterator[LlmCallEnd] = iter(())

    def begin(self, turn: RecordedTurn) -> None:
        """Give the replies of another turn."""
        self._steps, self._next, self._steered = turn.steps, 0, 0
        self._silent = iter(turn.silent)

    @property
    def is_at_end(self) -> bool:
        """Whether the turn has no further reply."""
        return self._next >= len(self._steps)

    async def steer(self) -> tuple[ContentBlock, ...] | None:
        """Return the next message of the user that followed the last results, if any."""
        waiting = self._steps[self._next - 1].steering[self._steered :] if self._next else []
        self._steered += bool(waiting)
        return waiting[0] if waiting else None

    def get_objections(self) -> Sequence[EntryAdded]:
        """Return what hooks added after the last reply."""
        return self._steps[self._next - 1].objections if self._next else ()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Yield the next stored reply.

        Raises:
            AdapterError: the request failed, or the turn has no further reply.
        """
        if (end := self._take_next()) is None:
            raise OtherAdapterError("The recording has no further reply in this turn.")
        if isinstance(end, LlmCallCompleted) or end.message is not None or _is_stopped(end):
            yield MessageStart(message_id=request.message_id, model=request.model.id)
            yield _build_complete(end, request)
        if isinstance(end, LlmCallFailed) and not _is_stopped(end):
            raise _build_error(end)

    def _take_next(self) -> LlmCallEnd | None:
        newest = reversed(self._state.facts)
        if next(bool(each.purpose) for each in newest if isinstance(each, LlmCallStarted)):
            return next(self._silent, None)
        if self.is_at_end:
            return None
        self._next, self._steered = self._next + 1, 0
        return self._steps[self._next - 1].reply

    def encode_ahead(self, request: Request) -> None:
        """Do nothing: nothing is sent."""

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the prompt."""
        return estimate_tokens(messages, tools)

    async def close(self) -> None:
        """Do nothing."""


class ReplayedTools:
    """Tools with the names of all stored calls, each of which returns its stored result."""

    def __init__(self, names: Iterable[str], model: ReplayedModel) -> None:
        self._model = model
        self._results: dict[str, ToolResultBlock] = {}
        self._earlier: dict[str, str] = {}
        """By call: the one whose result came before, because results keep their order."""
        self._ended: dict[str, asyncio.Event] = {}
        self.toolbox = Toolbox(SchemaTool(_define(name), self._run) for name in sorted(names))

    def begin(self, steps: Sequence[Step]) -> None:
        """Return the results of another turn."""
        self._results = {each.tool_use_id: each for step in steps for each in step.results}
        self._ended = {call: asyncio.Event() for call in self._results}
        self._earlier = {}
        for step in steps:
            message = step.reply.message
            own = {call.id for call in message.tool_uses} if message is not None else set[str]()
            results = dict.fromkeys(each.tool_use_id for each in step.results)
            calls = [each for each in results if each in own]
            self._earlier |= dict(zip(calls[1:], calls, strict=False))

    def observe(self, fact: AnyFact) -> None:
        """Let the next result follow one that is recorded."""
        if isinstance(fact, ToolCompleted | ToolFailed) and fact.tool_use_id in self._ended:
            self._ended[fact.tool_use_id].set()

    async def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        del arguments
        if (earlier := self._earlier.get(context.tool_use_id)) is not None:
            await self._ended[earlier].wait()
        result = self._results.get(context.tool_use_id)
        return ToolOutput(
            result.content if result is not None else _LOST,
            success=result is not None and not result.is_error,
            terminate=self._model.is_at_end,
        )


class UncountedCalls(RepeatedCalls):
    """Counts nothing: a stored result of a repeated call has its note already."""

    def add(self, name: str, arguments: Any, result: str, *, has_effects: bool) -> int:
        """Return the count of a first call."""
        del name, arguments, result, has_effects
        return 1


def _define(name: str) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description="Returns the stored result.",
        input_schema={"type": "object"},
        side_effects=SideEffects.NONE,
    )


def _is_stopped(end: LlmCallEnd) -> bool:
    return isinstance(end, LlmCallFailed) and end.error_class == ErrorClass.CANCELLED


def _build_complete(end: LlmCallEnd, request: Request) -> MessageComplete:
    usage = end.usage
    message = end.message
    if isinstance(end, LlmCallCompleted):
        stop_reason = end.stop_reason
    else:
        stop_reason = StopReason.CANCELLED if _is_stopped(end) else StopReason.ERROR
    return MessageComplete(
        message_id=request.message_id,
        stop_reason=stop_reason,
        stop_detail=None if message is None else message.metadata.stop_detail,
        final_content=() if message is None else message.content,
        usage=TokenUsage(
            input_tokens=usage.input_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            cached_input_tokens=usage.cached_input_tokens if usage else 0,
            cache_creation_input_tokens=usage.cache_creation_input_tokens if usage else 0,
        ),
        latency_ms=usage.latency_ms if usage else 0,
        provider_raw=None if message is None else message.metadata.provider_raw,
    )


def _build_error(end: LlmCallFailed) -> AdapterError:
    kind = next((each for name, each in _ERRORS.items() if name == end.error_class), None)
    return (kind or OtherAdapterError)(
        end.error_message_redacted, status=end.provider_status, retryable=end.retryable
    )
