"""One call of a model: send a request, stream the reply, record the facts and count the usage.

The reply to a visible call becomes part of the conversation, and a front end shows its events. A
silent call has a purpose, such as a title or a summary: its facts and its cost are recorded, but no
front end shows them, and later requests do not contain its reply.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.turn.accounting import (
    PricedUsage,
    add_usage,
    price_failure,
    price_tokens,
    with_usage,
)
from yourtool.agent.turn.limits import check_cost_limit, unknown_price_warning
from yourtool.agent.turn.request import (
    PreparedRequest,
    SilentRequest,
    prepare_request,
    request_options,
)
from yourtool.agent.turn.turn import Turn
from yourtool.errors import AdapterError, ErrorClass, InvalidRequestError
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.deltas import AttemptFailed, MessageComplete
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallEnd,
    LlmCallFailed,
    LlmCallStarted,
)
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ContentBlock, TextBlock, ToolUseBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Message, Role, now
from yourtool.messages.metadata import ErrorInfo, MessageMetadata, MessageStatus, StopReason
from yourtool.providers.base import Request

F = TypeVar("F", bound=AnyFact)


async def call_silently(turn: Turn, request: SilentRequest) -> LlmCallEnd:
    """Call the turn's model silently; its tokens and its cost belong to the turn.

    Raises:
        Interrupted: the turn was stopped.
    """
    call = ModelCall(turn, request)
    async with aclosing(call.stream()) as events:
        async for _ in events:
            pass
    assert call.end is not None, "a stream without an exception ends the call"
    return call.end


class ModelCall:
    """A call of the turn's model with the conversation, or silently with another prompt."""

    def __init__(self, turn: Turn, silent: SilentRequest | None = None) -> None:
        self.end: LlmCallEnd | None = None
        """Set at the end of the stream."""
        self._turn = turn
        self._silent = silent
        self._purpose = UNSET if silent is None else silent.purpose
        self._parent = turn.parent
        self._request: Request | None = None
        self._failed_attempts = 0

    async def stream(self) -> AsyncGenerator[Event, None]:
        """Send the request and yield the events of the call.

        Raises:
            Interrupted: the turn was stopped; the part of the reply that arrived is recorded.
        """
        turn, started, reply = self._turn, None, None
        try:
            prepared = await turn.interrupt.guard(
                asyncio.to_thread(prepare_request, turn, self._silent)
            )
            if self._silent is None:
                for notice in turn.env.new_notices(prepared.notice, unknown_price_warning(turn)):
                    yield notice
            else:
                await check_cost_limit(turn)
            started = time.monotonic()
            yield await self._record_start(prepared)
            # Not guarded: the adapter handles an interrupt itself once the start is stored.
            await asyncio.to_thread(_validate_request, prepared.request)
            async with aclosing(turn.adapter.stream(prepared.request)) as stream:
                async for event in stream:
                    yield event
                    if isinstance(event, AttemptFailed):
                        yield await self._record_attempt(event)
                        await check_cost_limit(turn)
                    elif isinstance(event, MessageComplete):
                        reply = event
        except AdapterError as error:
            latency = 0 if started is None else _milliseconds_since(started)
            end = self._build_failure(error, reply, latency)
        else:
            assert reply is not None, "an adapter ends its stream with message_complete or raises"
            end = self._build_end(reply)
        async for fact in self._record_end(end):
            yield fact
        if reply is not None and reply.stop_reason is StopReason.CANCELLED:
            raise Interrupted

    async def _record(self, fact: F) -> F:
        """Record the next fact of the call, and of the turn if the call is visible."""
        stored = await self._turn.record(fact, parent=self._parent)
        self._parent = stored.id
        if self._silent is None:
            self._turn.parent = stored.id
        return stored

    async def _record_start(self, prepared: PreparedRequest) -> LlmCallStarted:
        turn, self._request = self._turn, prepared.request
        start = await self._record(
            LlmCallStarted(
                model=turn.model.id,
                provider=turn.model.provider,
                estimated_input_tokens=prepared.estimated_tokens,
                request_id=prepared.request.request_id,
                rejected_through=turn.trial_omission,
                purpose=self._purpose,
            )
        )
        if self._silent is None:
            turn.requests += 1
            turn.env.requests += 1
        return start

    async def _record_attempt(self, attempt: AttemptFailed) -> LlmCallFailed:
        turn = self._turn
        self._failed_attempts += 1
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
            purpose=self._purpose,
        )
        fact = with_usage(fact, price_failure(turn, attempt))
        add_usage(turn, fact)
        return await turn.record(fact, parent=self._parent)

    async def _record_end(self, end: LlmCallEnd) -> AsyncGenerator[AnyFact, None]:
        """Record the end of the call, then the changes of the model's availability."""
        turn = self._turn
        self.end = end = await self._record(end)
        add_usage(turn, end)
        completed = isinstance(end, LlmCallCompleted)
        if self._silent is None:
            turn.stop_reason = end.stop_reason if completed else StopReason.ERROR
            turn.input_errors = (completed and end.message.metadata.tool_input_errors) or {}
        yield end
        for change in turn.record_outcome(None if completed else end.error_class):
            yield await turn.record(change, parent=end.id)

    def _build_end(self, reply: MessageComplete) -> LlmCallEnd:
        """Return the fact for a stream that ended without an error."""
        if reply.stop_reason is StopReason.CANCELLED:
            return self._build_failure(AdapterError("stopped by the user"), reply, reply.latency_ms)
        turn = self._turn
        priced = price_tokens(turn, reply.usage, reply.latency_ms, reply.receipt)
        is_error = reply.stop_reason is StopReason.ERROR
        metadata = MessageMetadata(
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
            if (wire := turn.env.tool_ids.issued_id(turn.model.provider, call.id))
        }
        return LlmCallCompleted.from_reply(message, provider_tool_ids, self._purpose)

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
        priced = price_failure(turn, error, partial)
        failure = LlmCallFailed(
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
            purpose=self._purpose,
        )
        return with_usage(failure, priced)

    def _build_partial(
        self, reply: MessageComplete, error: ErrorInfo, priced: PricedUsage | None
    ) -> Message | None:
        """Return the part of a reply that arrived, without calls, since these never get results."""
        content = tuple(
            block
            for block in reply.final_content
            if not isinstance(block, ToolUseBlock) and block != TextBlock("")
        )
        if not content:
            return None
        cancelled = reply.stop_reason is StopReason.CANCELLED
        metadata = MessageMetadata(
            usage=None if priced is None else priced.usage,
            usage_extra=None if priced is None else priced.extra,
            status=MessageStatus.CANCELLED if cancelled else MessageStatus.ERROR,
            error=None if cancelled else error,
        )
        return self._build_message(reply, content, metadata)

    def _build_message(
        self, reply: MessageComplete, content: tuple[ContentBlock, ...], metadata: MessageMetadata
    ) -> Message:
        """Return the message of a reply.

        `metadata`: the fields that depend on how the reply ended.
        """
        turn = self._turn
        assert self._request is not None, "a reply has a request"
        return Message(
            id=reply.message_id,
            session_id=turn.session_id,
            role=Role.ASSISTANT,
            content=content,
            metadata=replace(
                metadata,
                model=turn.model.id,
                provider=turn.model.provider,
                routing=turn.routing,
                stop_reason=reply.stop_reason,
                request=request_options(turn, self._request),
            ),
            created_at=now(),
        )


def _validate_request(request: Request) -> None:
    if all(message.role is Role.SYSTEM for message in request.messages):
        raise InvalidRequestError("The conversation contains nothing that can be sent.")
    if problems := validate_session(request.messages):
        raise InvalidRequestError(f"The conversation cannot be sent: {'; '.join(problems)}.")


def _get_cut_calls(reply: MessageComplete) -> dict[str, str]:
    return {
        block.id: block.name for block in reply.final_content if isinstance(block, ToolUseBlock)
    }


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
