"""The loop of a turn: call the model, run the tools it calls, repeat until it calls none.

However a turn ends, the history is valid for every provider: each call has exactly one result, a
partial reply is stored without its calls, and exactly one terminal fact ends the turn.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from msgspec.structs import replace

from yourtool.agent.history.elision import elision_notice
from yourtool.agent.turn.accounting import (
    PricedUsage,
    add_usage,
    price_failure,
    price_tokens,
    with_usage,
)
from yourtool.agent.turn.dispatch import dispatch, refuse_all
from yourtool.agent.turn.limits import check_cost_limit, check_limits, unknown_price_warning
from yourtool.agent.turn.request import (
    omit_opaque_blocks,
    opaque_omission_notice,
    prepare_request,
    request_options,
)
from yourtool.agent.turn.turn import Turn
from yourtool.errors import AdapterError, ErrorClass, InvalidRequestError
from yourtool.events.catalog import Event
from yourtool.events.deltas import AttemptFailed, MessageComplete, Notice
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Message, Role, now
from yourtool.messages.metadata import ErrorInfo, MessageMetadata, MessageStatus, StopReason
from yourtool.providers.base import Request

_log = logging.getLogger(__name__)


async def run_turn(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run a routed turn to its end and yield its events.

    Raises:
        StoreError: a fact could not be stored; the turn stays open until resume repairs it.
    """
    started = time.monotonic()
    stop = StopReason.ERROR
    try:
        async with aclosing(_run_steps(turn)) as events:
            async for event in events:
                yield event
                if isinstance(event, LlmCallCompleted):
                    stop = event.stop_reason
                elif isinstance(event, LlmCallFailed):
                    stop = StopReason.ERROR
        if stop is StopReason.ERROR and turn.interrupt.requested:
            raise Interrupted
    except Interrupted:
        yield await turn.record(
            TurnCancelled(
                reason="user_cancel",
                partial_llm_calls=turn.requests,
                partial_tool_calls=turn.tool_calls,
                total_input_tokens=turn.input_tokens,
                total_output_tokens=turn.output_tokens,
                total_cost_usd=turn.cost,
            ),
            parent=turn.parent,
        )
        return
    if stop is StopReason.MAX_TOKENS:
        way = "/continue" if turn.env.interactive else "another prompt with `--continue`"
        yield Notice(level="warning", text=f"The reply hit the output limit; {way} continues it.")
    yield await turn.record(
        TurnCompleted(
            stop_reason=stop,
            llm_call_count=turn.requests,
            tool_call_count=turn.tool_calls,
            total_input_tokens=turn.input_tokens,
            total_output_tokens=turn.output_tokens,
            total_cost_usd=turn.cost,
            wall_time_seconds=round(time.monotonic() - started, 3),
        ),
        parent=turn.parent,
    )


async def _run_steps(turn: Turn) -> AsyncGenerator[Event, None]:
    calls: Sequence[ToolUseBlock] = ()
    while True:
        reached = None
        with suppress(Interrupted):  # dispatch raises it again after it records the results
            reached = await check_limits(turn)
        if reached is not None:
            yield Notice(level="warning", text=reached)
            async with aclosing(refuse_all(calls, turn, reached)) as refusals:
                async for event in refusals:
                    yield event
            return
        results: list[Message] = []
        async with aclosing(dispatch(calls, turn)) as tool_events:
            async for event in tool_events:
                yield event
                if isinstance(event, ToolCompleted | ToolFailed):
                    results.append(event.message)
        if results and all(result.metadata.terminate for result in results):
            return
        last = None
        async with aclosing(_call_model(turn)) as events:
            async for event in events:
                yield event
                if isinstance(event, LlmCallCompleted | LlmCallFailed):
                    last = event
        if isinstance(last, LlmCallCompleted):
            calls = last.message.tool_uses
            if not calls and last.stop_reason is not StopReason.PAUSE_TURN:
                return
        else:
            if last is None or last.message is not None or last.cut_calls:
                return
            if turn.state.shrunk_after_overflow:
                yield Notice(level="warning", text=elision_notice(turn.model.id))
            elif omit_opaque_blocks(turn, last):
                for notice in turn.env.new_notices(opaque_omission_notice(turn.model.id)):
                    yield notice
            else:
                return
            calls = ()


async def _call_model(turn: Turn) -> AsyncGenerator[Event, None]:
    """Send one model request; the last event is `LlmCallCompleted` or `LlmCallFailed`."""
    try:
        prepared = await turn.interrupt.guard(asyncio.to_thread(prepare_request, turn))
    except InvalidRequestError as error:
        async for event in _record_call_failure(turn, error, None, 0, 0):
            yield event
        return
    for notice in turn.env.new_notices(prepared.notice, unknown_price_warning(turn)):
        yield notice
    started, request = time.monotonic(), prepared.request
    call = await turn.record(
        LlmCallStarted(
            model=turn.model.id,
            provider=turn.model.provider,
            estimated_input_tokens=prepared.estimated_tokens,
            request_id=request.request_id,
            rejected_through=turn.rejected_through,
        ),
        parent=turn.parent,
    )
    turn.parent = call.id
    turn.requests += 1
    turn.env.requests += 1
    yield call
    failed_attempts, complete = 0, None
    try:
        # Not guarded: the adapter handles an interrupt itself once `llm.call_started` is stored.
        await asyncio.to_thread(_validate_request, request)
        async with aclosing(turn.adapter.stream(request)) as stream:
            async for event in stream:
                yield event
                if isinstance(event, AttemptFailed):
                    failed_attempts += 1
                    yield await turn.record(_build_attempt_failed(turn, event), parent=call.id)
                    await check_cost_limit(turn)
                elif isinstance(event, MessageComplete):
                    complete = event
    except AdapterError as error:
        latency = _milliseconds_since(started)
        async for event in _record_call_failure(turn, error, complete, failed_attempts, latency):
            yield event
        return
    assert complete is not None, "an adapter ends its stream with message_complete or raises"
    if complete.stop_reason is StopReason.CANCELLED:
        error = AdapterError("stopped by the user")
        async for event in _record_call_failure(
            turn, error, complete, failed_attempts, complete.latency_ms
        ):
            yield event
        raise Interrupted
    async for event in _record_reply(turn, complete):
        yield event


def _validate_request(request: Request) -> None:
    if all(message.role is Role.SYSTEM for message in request.messages):
        raise InvalidRequestError("The conversation contains nothing that can be sent.")
    if problems := validate_session(request.messages):
        raise InvalidRequestError(f"The conversation cannot be sent: {'; '.join(problems)}.")


async def _record_reply(turn: Turn, reply: MessageComplete) -> AsyncGenerator[Event, None]:
    priced = price_tokens(turn, reply.usage, reply.latency_ms, reply.receipt)
    usage = priced.usage
    content = reply.final_content or (TextBlock(""),)
    calls = [block for block in content if isinstance(block, ToolUseBlock)]
    is_error = reply.stop_reason is StopReason.ERROR
    metadata = MessageMetadata(
        usage=usage,
        usage_extra=priced.extra,
        status=MessageStatus.ERROR if is_error else MessageStatus.COMPLETE,
        stop_detail=reply.stop_detail,
        provider_raw=reply.provider_raw,
        tool_input_errors=reply.tool_input_errors or None,
    )
    fact = await turn.record(
        LlmCallCompleted(
            model=turn.model.id,
            provider=turn.model.provider,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            cache_creation_input_tokens=usage.cache_creation_input_tokens,
            cost_usd=usage.cost_usd,
            pricing_version=usage.pricing_version,
            latency_ms=usage.latency_ms,
            stop_reason=reply.stop_reason,
            produced_tool_calls=len(calls),
            produced_thinking_blocks=sum(isinstance(block, ThinkingBlock) for block in content),
            provider_tool_ids={
                call.id: wire
                for call in calls
                if (wire := turn.env.tool_ids.issued_id(turn.model.provider, call.id))
            },
            message=_build_message(turn, reply, content, metadata),
        ),
        parent=turn.parent,
    )
    turn.parent = fact.id
    add_usage(turn, usage)
    turn.input_errors = dict(reply.tool_input_errors)
    yield fact
    for change in turn.record_outcome(None):
        yield await turn.record(change, parent=fact.id)


def _build_attempt_failed(turn: Turn, attempt: AttemptFailed) -> LlmCallFailed:
    priced = price_failure(turn, attempt)
    if priced is not None:
        add_usage(turn, priced.usage)
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
    )
    return with_usage(fact, priced)


async def _record_call_failure(
    turn: Turn,
    error: AdapterError,
    partial: MessageComplete | None,
    retry_count: int,
    latency_ms: int,
) -> AsyncGenerator[Event, None]:
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
        retry_count=retry_count,
        latency_ms=latency_ms,
        message=None if partial is None else _build_partial_message(turn, partial, info, priced),
        cut_calls={} if partial is None else _get_cut_calls(partial),
    )
    fact = await turn.record(with_usage(failure, priced), parent=turn.parent)
    turn.parent = fact.id
    if priced is not None:
        add_usage(turn, priced.usage)
    yield fact
    for change in turn.record_outcome(error_class):
        yield await turn.record(change, parent=fact.id)


def _build_partial_message(
    turn: Turn, reply: MessageComplete, error: ErrorInfo, priced: PricedUsage | None
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
    return _build_message(turn, reply, content, metadata)


def _build_message(
    turn: Turn, reply: MessageComplete, content: tuple[ContentBlock, ...], metadata: MessageMetadata
) -> Message:
    """Return the message of a reply.

    `metadata`: the fields that depend on how the reply ended.
    """
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
            request=request_options(turn),
        ),
        created_at=now(),
    )


def _get_cut_calls(reply: MessageComplete) -> dict[str, str]:
    return {
        block.id: block.name for block in reply.final_content if isinstance(block, ToolUseBlock)
    }


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
