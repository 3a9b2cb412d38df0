"""One call of a model.

The reply to a visible call becomes part of the conversation, and a front end shows its events. A
silent call has a purpose, such as a title or a summary: its facts and its cost are recorded, but no
front end shows them, and later requests do not contain its reply.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import takewhile
from operator import attrgetter
from typing import TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.turn.accounting import (
    PricedUsage,
    add_usage,
    price_failure,
    price_tokens,
)
from yourtool.agent.turn.checkpoints import Checkpoints
from yourtool.agent.turn.limits import (
    check_cost_limit,
    reserved_request,
    unknown_price_warning,
)
from yourtool.agent.turn.request import (
    PreparedRequest,
    SilentRequest,
    prepare_request,
    prepare_silent_request,
    request_options,
)
from yourtool.agent.turn.turn import ReplyState, Turn
from yourtool.errors import AdapterError, ErrorClass, InvalidRequestError
from yourtool.events.catalog import Event
from yourtool.events.deltas import AttemptFailed, MessageComplete, Notice
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallEnd,
    LlmCallFailed,
    LlmCallStarted,
    Purpose,
)
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ContentBlock, TextBlock, ToolUseBlock
from yourtool.messages.message import Message, ReplyMessage, Role, now
from yourtool.messages.metadata import ErrorInfo, MessageStatus, ReplyMetadata, StopReason
from yourtool.models import AGENT
from yourtool.providers.base import Request

F = TypeVar("F", LlmCallStarted, LlmCallEnd)
_PROCESS_DIED = "the program ended while the reply arrived"


async def call_silently(
    turn: Turn, request: SilentRequest, channel: Channel | None = None
) -> LlmCallEnd:
    """Call the turn's model silently; its tokens and its cost belong to the turn.

    `channel` gets the events of the call; None: nothing does.

    Raises:
        Interrupted: the turn was stopped.
    """
    return await SilentCall(turn, request, channel).run()


class ModelCall:
    """A visible call of the turn's model, with the conversation."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._channel = turn.channel
        self._purpose: Purpose = UNSET
        self._question: str | UnsetType = UNSET
        self._parent = turn.parent
        self._request: Request | None = None
        self._failed_attempts = 0
        self._warning: str | None = None  # about the price table
        self._checkpoints = Checkpoints(turn.channel.recorder, self._build_checkpoint)

    async def run(self) -> LlmCallEnd:
        """Send the request, show the events of the call, and return the fact that ends it.

        Raises:
            Interrupted: the turn was stopped; the part of the reply that arrived is recorded.
        """
        turn, started, reply = self._turn, None, None
        try:
            prepared = await turn.interrupt.guard(asyncio.to_thread(self._prepare_with_prices))
            await self._channel.emit(*self._find_notices(prepared))
            async with self._limited():
                started = time.monotonic()
                self._checkpoints.start(prepared.estimated_tokens)
                await self._record_start(prepared)
                if prepared.problem is not None:
                    raise InvalidRequestError(prepared.problem)
                async with aclosing(turn.means.adapter.stream(prepared.request)) as stream:
                    async for event in stream:
                        await self._channel.emit(event)
                        self._collect(event)
                        if isinstance(event, AttemptFailed):
                            await self._record_attempt(event)
                            await check_cost_limit(turn)
                        elif isinstance(event, MessageComplete):
                            reply = event
        except AdapterError as error:
            latency = 0 if started is None else _milliseconds_since(started)
            end = self._build_failure(error, reply, latency if reply is None else reply.latency_ms)
        else:
            assert reply is not None, "an adapter ends its stream with message_complete or raises"
            end = self._build_end(reply)
        finally:
            await self._checkpoints.stop()
        end = await self._record_end(end)
        if reply is not None and reply.stop_reason is StopReason.CANCELLED:
            raise Interrupted
        return end

    def _prepare(self) -> PreparedRequest:
        """Build the request; runs in a thread."""
        return prepare_request(self._turn)

    def _prepare_with_prices(self) -> PreparedRequest:
        """Store the price table of the model, build the request, encode it; runs in a thread."""
        turn = self._turn
        self._warning = turn.env.spending.prices.store(turn.model)
        prepared = self._prepare()
        if prepared.problem is None:
            turn.means.adapter.encode_ahead(prepared.request)
        return prepared

    def _collect(self, event: Event) -> None:
        """Collect the reply for checkpoints."""
        self._checkpoints.add(event)

    def _find_notices(self, prepared: PreparedRequest) -> Sequence[Notice]:
        """Return the notices to show before the request is sent."""
        return self._turn.env.user.new_notices(
            prepared.notice, unknown_price_warning(self._turn), self._warning
        )

    def _limited(self) -> AbstractAsyncContextManager[None]:
        """Count the request, unless a limit forbids it."""
        return reserved_request(self._turn)

    def _update_turn(self, fact: LlmCallStarted | LlmCallEnd) -> None:
        """Continue the turn after a recorded fact of the call."""
        turn = self._turn
        turn.parent = fact.id
        match fact:
            case LlmCallStarted():
                turn.counts.requests += 1
            case LlmCallCompleted():
                errors = fact.message.metadata.tool_input_errors or {}
                turn.reply = ReplyState(fact.stop_reason, errors)
            case LlmCallFailed():
                turn.reply = ReplyState()

    async def _record(self, fact: F) -> F:
        stored = await self._channel.record(fact, parent=self._parent)
        self._parent = stored.id
        self._update_turn(stored)
        return stored

    async def _record_start(self, prepared: PreparedRequest) -> None:
        """Record the start; the request is sent while it is stored, unless an agent gets it.

        Another agent runs its own tools, which can have effects.
        """
        turn, self._request = self._turn, prepared.request
        started = LlmCallStarted(
            model=turn.model.id,
            provider=turn.model.provider,
            estimated_input_tokens=prepared.estimated_tokens,
            request_id=prepared.request.request_id,
            is_worker=turn.env.is_worker,
            rejected_through=turn.recovery.trial_omission,
            purpose=self._purpose,
            question=self._question,
            system=turn.state.system_prompt.find_parts(
                map(attrgetter("text"), takewhile(_is_system, prepared.request.messages))
            ),
            tools=turn.state.system_prompt.find_tools(prepared.request.tools),
        )
        if turn.model.provider == AGENT:
            await self._record(started)
            return
        started = await self._channel.begin(started, parent=self._parent)
        self._parent = started.id
        self._update_turn(started)

    async def _record_attempt(self, attempt: AttemptFailed) -> None:
        turn = self._turn
        self._failed_attempts += 1
        priced = price_failure(turn, attempt, attempt.latency_ms)
        fact = LlmCallFailed(
            model=turn.model.id,
            provider=turn.model.provider,
            error_class=attempt.error_class,
            error_message_redacted=attempt.message,
            error_code=attempt.code,
            provider_status=attempt.status,
            retryable=attempt.retryable,
            retry_count=attempt.attempt,
            latency_ms=attempt.latency_ms,
            usage=priced.usage,
            usage_extra=priced.extra,
            purpose=self._purpose,
        )
        add_usage(turn, fact)
        await self._channel.record(fact, parent=self._parent)

    async def _record_end(self, end: LlmCallEnd) -> LlmCallEnd:
        """Record the end of the call, then the changes of the model's availability.

        A reply that calls tools is stored with the next fact, usually the start of a tool.
        """
        turn = self._turn
        if isinstance(end, LlmCallCompleted) and end.message.tool_uses:
            end = await self._channel.defer(end, parent=self._parent)
            self._update_turn(end)
        else:
            end = await self._record(end)
        add_usage(turn, end)
        registry, recorder = turn.env.requests.registry, self._channel.recorder
        turn.env.spending.reported_costs.ask(registry, end, recorder)
        error_class = end.error_class if isinstance(end, LlmCallFailed) else None
        await self._channel.emit(*turn.record_outcome(error_class), parent=end.id)
        return end

    def _build_end(self, reply: MessageComplete) -> LlmCallEnd:
        """Return the fact for a stream that ended without an error."""
        if reply.stop_reason is StopReason.CANCELLED:
            return self._build_failure(AdapterError("stopped by the user"), reply, reply.latency_ms)
        turn = self._turn
        priced = price_tokens(turn, reply.usage, reply.latency_ms, reply.receipt)
        is_error = reply.stop_reason is StopReason.ERROR
        metadata = ReplyMetadata(
            usage=priced.usage,
            usage_extra=priced.extra,
            status=MessageStatus.ERROR if is_error else MessageStatus.COMPLETE,
            stop_detail=reply.stop_detail,
            provider_raw=reply.provider_raw,
            tool_input_errors=reply.tool_input_errors or None,
        )
        message = self._build_message(reply, reply.final_content or (TextBlock(""),), metadata)
        provider_tool_ids = {
            call.id: wire
            for call in message.tool_uses
            if (wire := turn.env.requests.tool_ids.issued_id(turn.model.provider, call.id))
        }
        return LlmCallCompleted(
            message=message, provider_tool_ids=provider_tool_ids, purpose=self._purpose
        )

    def _build_failure(
        self, error: AdapterError, partial: MessageComplete | None, latency_ms: int
    ) -> LlmCallFailed:
        turn = self._turn
        cancelled = partial is not None and partial.stop_reason is StopReason.CANCELLED
        error_class = ErrorClass.CANCELLED if cancelled else error.error_class
        info = ErrorInfo(
            error_class=error_class,
            message=error.message,
            retryable=error.retryable,
            http_status=error.status,
            code=error.code,
        )
        priced = price_failure(turn, error, latency_ms, partial)
        return LlmCallFailed(
            model=turn.model.id,
            provider=turn.model.provider,
            error_class=error_class,
            error_message_redacted=error.message,
            error_code=error.code,
            provider_status=error.status,
            retryable=error.retryable,
            retry_count=self._failed_attempts,
            latency_ms=latency_ms,
            message=None if partial is None else self._build_partial(partial, info, priced),
            cut_calls={} if partial is None else _get_cut_calls(partial),
            usage=priced.usage,
            usage_extra=priced.extra,
            purpose=self._purpose,
        )

    def _build_checkpoint(self, partial: MessageComplete) -> LlmCallFailed:
        """Return the fact that ends the call if the process dies now."""
        end = self._build_failure(AdapterError(_PROCESS_DIED), partial, partial.latency_ms)
        if end.message is None:
            return end
        metadata = replace(end.message.metadata, status=MessageStatus.PARTIAL)
        return replace(end, message=replace(end.message, metadata=metadata))

    def _build_partial(
        self, reply: MessageComplete, error: ErrorInfo, priced: PricedUsage
    ) -> ReplyMessage | None:
        """Return the part of a reply that arrived, without calls, since these never get results."""
        content = tuple(
            block
            for block in reply.final_content
            if not isinstance(block, ToolUseBlock) and block != TextBlock("")
        )
        if not content:
            return None
        cancelled = reply.stop_reason is StopReason.CANCELLED
        metadata = ReplyMetadata(
            usage=priced.usage,
            usage_extra=priced.extra,
            status=MessageStatus.CANCELLED if cancelled else MessageStatus.ERROR,
            error=None if cancelled else error,
        )
        return self._build_message(reply, content, metadata)

    def _build_message(
        self, reply: MessageComplete, content: tuple[ContentBlock, ...], metadata: ReplyMetadata
    ) -> ReplyMessage:
        """Return the message of a reply.

        `metadata`: the fields that depend on how the reply ended.
        """
        turn = self._turn
        assert self._request is not None, "a reply has a request"
        return ReplyMessage(
            id=reply.message_id,
            session_id=turn.session_id,
            content=content,
            metadata=replace(
                metadata,
                model=turn.model.id,
                provider=turn.model.provider,
                routing=turn.means.routing,
                stop_reason=reply.stop_reason,
                request=request_options(turn, self._request),
            ),
            created_at=now(),
        )


class SilentCall(ModelCall):
    """A call with another prompt, which changes nothing in the turn but its cost."""

    def __init__(self, turn: Turn, request: SilentRequest, channel: Channel | None) -> None:
        super().__init__(turn)
        self._channel = channel or Channel(turn.channel.recorder)  # which nothing reads
        self._silent = request
        self._purpose, self._question = request.purpose, request.question

    def _prepare(self) -> PreparedRequest:
        return prepare_silent_request(self._turn, self._silent)

    def _collect(self, event: Event) -> None:
        """Store no part of a reply that is not shown."""

    def _find_notices(self, prepared: PreparedRequest) -> Sequence[Notice]:
        """Leave the notices to the next visible call."""
        del prepared
        return ()

    @asynccontextmanager
    async def _limited(self) -> AsyncGenerator[None, None]:
        """Check the cost limit only."""
        await check_cost_limit(self._turn)
        yield

    def _update_turn(self, fact: LlmCallStarted | LlmCallEnd) -> None:
        """Leave the turn unchanged."""


def _get_cut_calls(reply: MessageComplete) -> dict[str, str]:
    return {
        block.id: block.name for block in reply.final_content if isinstance(block, ToolUseBlock)
    }


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _is_system(message: Message) -> bool:
    return message.role is Role.SYSTEM
