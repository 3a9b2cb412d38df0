"""Idle timeouts of a request.

They are measured by the clock from the last content, without the time that the consumer of the
events takes; pings are not content.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from yourtool.errors import ErrorCode, NetworkError
from yourtool.interrupt import Interrupt

T = TypeVar("T")

_CONNECTION_ERRORS = (OSError, EOFError)
"""Errors that a transport can raise by mistake instead of a `NetworkError`."""


class StreamTimeouts(Struct, frozen=True):
    """Idle timeouts in seconds."""

    first_event: float = 60
    """Between the request and the first event."""
    document: float = 600
    """The same for a reply that is not streamed, which arrives after it is complete."""
    content: float = 90
    """Between two pieces of content; pings and comments do not count."""
    trailer: float = 15
    """After the stop reason, for trailing events such as the usage."""
    linger: float = 0.25
    """After the reply, for the end of the body, so that the connection can be reused."""


class IdleTimer:
    """Awaits network operations within the idle timeouts."""

    def __init__(
        self,
        interrupt: Interrupt,
        provider: str,
        timeouts: StreamTimeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeouts = timeouts
        self._interrupt = interrupt
        self._provider = provider
        self._clock = clock
        self._limit = timeouts.first_event
        self._deadline = 0.0
        self._paused_at = 0.0
        self._has_started = False
        self.has_given_up = False
        """True if the rest of a reply that had ended was not waited for."""

    def start(self) -> None:
        """Start the timeout of the first event."""
        self._deadline = self._clock() + self._limit

    def reset(self, *, is_content: bool) -> None:
        """Restart the timeout on content, and on the first event of any kind."""
        if is_content or not self._has_started:
            self._has_started = True
            self._limit = self.timeouts.content
            self._deadline = self._clock() + self._limit

    def cap(self, seconds: float) -> None:
        """Lower the remaining time before the next content."""
        self._deadline = min(self._deadline, self._clock() + seconds)

    def check(self) -> None:
        """Raise if the timeout has expired, also while bytes are available without waiting.

        Raises:
            NetworkError: it has expired.
        """
        if self._clock() >= self._deadline:
            raise self._stalled_error()

    def pause(self) -> None:
        """Exclude the time from now until `resume` from the timeout."""
        self._paused_at = self._clock()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._deadline += self._clock() - self._paused_at

    async def run(self, awaitable: Awaitable[T], limit: float | None = None) -> T:
        """Await, until the turn is stopped or the timeout expires.

        `limit`: a timeout in seconds for this wait alone.

        Raises:
            Interrupted: the turn was stopped.
            NetworkError: the timeout expired, or the connection was lost.
        """
        timer = asyncio.timeout(self._deadline - self._clock() if limit is None else limit)
        try:
            async with timer:
                return await self._interrupt.guard(awaitable)
        except _CONNECTION_ERRORS as error:  # the timer's TimeoutError is an OSError
            self._interrupt.check()
            if timer.expired():
                raise self._stalled_error() from error
            reason = str(error) or type(error).__name__
            raise NetworkError(
                f"the connection to `{self._provider}` was lost: {reason}"
            ) from error

    def _stalled_error(self) -> NetworkError:
        return NetworkError(
            f"`{self._provider}` sent nothing of a reply for {self._limit:g} seconds",
            code=ErrorCode.STALLED,
        )
