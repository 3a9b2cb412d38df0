"""An adapter around an adapter: sends a request again while nothing of the reply was shown.

Attempts are 1 + `max_retries` at most, and the waits together have a bound. The wait doubles from
one second with a quarter of jitter either way, and is at least what the provider asked for.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from msgspec import Struct

from yourtool.deltas import (
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
from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError
from yourtool.interrupt import Interrupted
from yourtool.messages import Message, StopReason
from yourtool.providers.base import Adapter, Request

_NOT_CONTENT = (
    MessageStart,
    TextStart,
    ThinkingStart,
    UsageUpdate,
    MessageComplete,
    StreamError,
)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often and how long; times in seconds."""

    max_retries: int = 2
    first_delay: float = 1
    max_delay: float = 30
    jitter: float = 0.25
    """Share of the delay, either way."""
    max_retry_after: float = 60
    """A provider's demand for a longer wait needs the user's consent."""
    max_total_delay: float = 120
    """All waits together that nobody consented to; one that would go beyond is not begun."""

    def delay(self, failures: int, error: AdapterError, jitter: Callable[[], float]) -> float:
        """Return how long to wait after so many failures; `jitter` gives -1 to 1."""
        backoff = min(self.first_delay * 2 ** (failures - 1), self.max_delay)
        backoff = min(backoff * (1 + self.jitter * jitter()), self.max_delay)
        return max(backoff, error.retry_after or 0)


class RetryingAdapter:
    """Hides failures that another attempt mends, and says so while it waits.

    Each attempt that is followed by another gives an `AttemptFailed`, numbered from 0, and a
    `RetryScheduled` that names the coming attempt, the first of all being 1. The last error is
    raised.
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
        """`jitter` gives a number from -1 to 1; `clock` gives seconds."""
        self._adapter = adapter
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send the request and yield the reply as it comes, after as many attempts as needed.

        Raises:
            AdapterError: the last attempt failed, or one that must not be repeated.
        """
        failures, waited = 0, 0.0
        while True:
            started = self._clock()
            held: list[StreamEvent] = []
            delivered = False
            try:
                async with aclosing(self._adapter.stream(request)) as events:
                    async for event in events:
                        if delivered:
                            yield event
                            continue
                        delivered = not isinstance(event, _NOT_CONTENT)
                        held.append(event)
                        if delivered:
                            for ready in held:
                                yield ready
                            held.clear()
                for ready in held:
                    yield ready
            except AdapterError as error:
                latency = round((self._clock() - started) * 1000)
                endings = [event for event in held if isinstance(event, MessageComplete)]
                if endings and not delivered:
                    error.usage = endings[-1].usage
                delay = None if delivered else await self._delay(request, error, failures, waited)
                if delay is None:
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

    async def _delay(
        self, request: Request, error: AdapterError, failures: int, waited: float
    ) -> float | None:
        """Return how long to wait before the next attempt; None: there is none."""
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
        """Guess the prompt's size without the network."""
        return self._adapter.estimate_input_tokens(messages, tools)

    async def close(self) -> None:
        """Let go of connections; idempotent."""
        await self._adapter.close()


async def _is_wait_confirmed(request: Request, error: AdapterError) -> bool:
    """Return whether the user agrees to a long wait; no, where the turn is stopped meanwhile."""
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
