"""Adapter with retries.

It wraps another adapter and retries requests that failed before any content. There are at most 1 +
`max_retries` attempts, and the total delay is limited. The delay doubles from one second with 25 %
jitter and is at least the provider's `retry-after`.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError, ErrorCode
from yourtool.events.deltas import (
    AttemptFailed,
    MessageComplete,
    MessageStart,
    RetryScheduled,
    StreamError,
    StreamEvent,
    TextStart,
    ThinkingStart,
    TokenUsage,
    UsageUpdate,
)
from yourtool.interrupt import Interrupted
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Adapter, Request
from yourtool.providers.requests.output_limits import LEAST_OUTPUT, find_advice

_NO_ROOM = "(No reply is short enough for this limit.)"
_NOT_CONTENT = (
    MessageStart,
    TextStart,
    ThinkingStart,
    UsageUpdate,
    MessageComplete,
    StreamError,
)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Limits and delays of retries; times in seconds."""

    max_retries: int = 2
    first_delay: float = 1
    overloaded_delay: float = 5
    """The first delay if the provider has too much to do."""
    max_delay: float = 30
    jitter: float = 0.25
    """Fraction of the delay, in both directions."""
    max_retry_after: float = 60
    """A longer `retry-after` needs a confirmation by the user."""
    max_total_delay: float = 120
    """Limit on the sum of delays, without confirmed ones; a retry beyond it is not made."""

    def delay(self, failures: int, error: AdapterError, jitter: Callable[[], float]) -> float:
        """Return the delay after a number of failures; `jitter` returns -1 to 1."""
        is_overloaded = error.code is ErrorCode.OVERLOADED
        first = self.overloaded_delay if is_overloaded else self.first_delay
        backoff = min(first * 2 ** (failures - 1), self.max_delay)
        backoff = min(backoff * (1 + self.jitter * jitter()), self.max_delay)
        return max(backoff, error.retry_after or 0)


class RetryingAdapter:
    """Adapter that retries temporary failures.

    A failed attempt that is retried yields an `AttemptFailed`, numbered from 0, and a
    `RetryScheduled` with the number of the next attempt, counted from 1. The last error is raised.
    """

    def __init__(
        self,
        adapter: Adapter,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - no secret
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`jitter` returns a number from -1 to 1; `clock` returns seconds."""
        self._adapter = adapter
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._most_output: dict[str, int] = {}
        """The output limits that errors named, by model."""

    def encode_ahead(self, request: Request) -> None:
        """Encode a request ahead; see `Adapter.encode_ahead`."""
        self._adapter.encode_ahead(request)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send the request, with retries, and yield the reply as it arrives.

        Raises:
            AdapterError: the last attempt failed, or an attempt that cannot be retried.
        """
        failures, waited, is_shorter = 0, 0.0, False
        if (most := self._most_output.get(request.model.id)) is not None:
            request = _limit_output(request, most)
        while True:
            started = self._clock()
            buffered: list[StreamEvent] = []
            delivered = False
            try:
                async with aclosing(self._adapter.stream(request)) as events:
                    async for event in events:
                        if delivered:
                            yield event
                            continue
                        delivered = not isinstance(event, _NOT_CONTENT)
                        buffered.append(event)
                        if delivered:
                            for ready in buffered:
                                yield ready
                            buffered.clear()
                for ready in buffered:
                    yield ready
            except AdapterError as error:
                latency = round((self._clock() - started) * 1000)
                endings = [event for event in buffered if isinstance(event, MessageComplete)]
                if endings and not delivered:
                    error.usage = endings[-1].usage
                shorter = None if delivered or is_shorter else self._shorten(request, error)
                if shorter is not None:
                    request, is_shorter, delay = shorter, True, 0.0
                elif (
                    delivered
                    or (delay := await self._delay(request, error, failures, waited)) is None
                ):
                    raise
                failed = error
            else:
                return
            failures += 1
            waited += delay if delay <= self._policy.max_retry_after else 0
            yield _attempt_failed(failures - 1, failed, latency)
            yield RetryScheduled(
                attempt=failures + 1,
                max_attempts=1 + max(failures, self._policy.max_retries),
                delay_seconds=delay,
                error_class=failed.error_class,
                message=failed.message,
            )
            try:
                await request.interrupt.guard(self._sleep(delay))
            except Interrupted:
                yield MessageStart(message_id=request.message_id, model=request.model.id)
                yield _cancelled_completion(request, latency)
                return

    def _shorten(self, request: Request, error: AdapterError) -> Request | None:
        """Return the request with the output limit that an error names; None: it names none.

        An error about a limit that no reply can meet has this added to its message.
        """
        advice = find_advice(error.message, request.max_output_tokens)
        if advice is None or advice.tokens >= request.max_output_tokens:
            return None
        if advice.tokens < LEAST_OUTPUT:
            error.retryable = False
            error.args = (f"{error.message} {_NO_ROOM}",)
            error.message = f"{error.message} {_NO_ROOM}"
            return None
        if advice.is_of_model:
            self._most_output[request.model.id] = advice.tokens
        return _limit_output(request, advice.tokens)

    async def _delay(
        self, request: Request, error: AdapterError, failures: int, waited: float
    ) -> float | None:
        """Return the delay before the next attempt; None: do not retry."""
        if not error.retryable:
            return None
        delay = self._policy.delay(failures + 1, error, self._jitter)
        if delay > self._policy.max_retry_after:
            return delay if await _is_wait_confirmed(request, error) else None
        is_over = waited + delay > self._policy.max_total_delay
        return None if is_over or failures >= self._policy.max_retries else delay

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the prompt offline."""
        return self._adapter.estimate_input_tokens(messages, tools)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        await self._adapter.close()


def _limit_output(request: Request, most: int) -> Request:
    return replace(request, max_output_tokens=min(request.max_output_tokens, most))


async def _is_wait_confirmed(request: Request, error: AdapterError) -> bool:
    """Return whether the user confirms a long wait; False if the turn is stopped meanwhile."""
    if request.confirm_wait is None:
        return False
    try:
        return await request.interrupt.guard(request.confirm_wait(error))
    except Interrupted:
        return False


def _attempt_failed(attempt: int, error: AdapterError, latency_ms: int) -> AttemptFailed:
    return AttemptFailed(
        attempt=attempt,
        error_class=error.error_class,
        message=error.message,
        retryable=error.retryable,
        status=error.status,
        latency_ms=latency_ms,
        code=error.code,
        usage=error.usage if isinstance(error.usage, TokenUsage) else None,
    )


def _cancelled_completion(request: Request, latency_ms: int) -> MessageComplete:
    return MessageComplete(
        message_id=request.message_id,
        stop_reason=StopReason.CANCELLED,
        final_content=(),
        usage=TokenUsage(input_tokens=0, output_tokens=0),
        latency_ms=latency_ms,
    )
