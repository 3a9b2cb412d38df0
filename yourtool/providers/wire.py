"""An adapter built from a dialect and a transport: sends one request and streams the reply.

Idle timeouts are measured by the clock from the last content, without the time that the consumer
of the events takes; pings are not content. A body that ends without the dialect's end marker is an
error, even if it looks complete; bytes after the marker are not read.

Only this module turns a bug in a dialect or a transport, or a reply that they cannot handle, into
an `AdapterError`.
"""

import asyncio
import logging
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing, contextmanager
from http import HTTPStatus
from typing import TypeVar

import httpx
from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import ToolDefinition
from yourtool.errors import (
    AdapterError,
    ErrorCode,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
)
from yourtool.events.deltas import StreamEvent
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.message import Message
from yourtool.providers.base import Request, Transport
from yourtool.providers.dialects.base import Dialect, ResponseParser, WireRequest
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.replies.reply import Reply

T = TypeVar("T")

_log = logging.getLogger(__name__)

_THREAD_THRESHOLD = 2**16
"""Bytes of an event or of tool arguments above which events are parsed in a thread."""
_FRAMES_PER_STEP = 32
"""Events of one network chunk that are read before other tasks run; proxies buffer thousands."""
STREAM_LIMIT = 128 * 2**20
"""Largest response in bytes, with pings and everything else that is not content."""
_CONNECTION_ERRORS = (OSError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL)
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


class WireAdapter:
    """Adapter that sends requests in a dialect over a transport."""

    def __init__(
        self,
        dialect: Dialect,
        transport: Transport,
        provider: str,
        *,
        timeouts: StreamTimeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dialect = dialect
        self._transport = transport
        self._provider = provider
        self._timeouts = timeouts or StreamTimeouts()
        self._clock = clock

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send the request and yield the reply; see `Adapter.stream`.

        Raises:
            AdapterError: the request failed.
        """
        reply = Reply(request, self._clock, api=self._dialect.api)
        unreadable = OtherAdapterError(
            f"the reply of `{self._provider}` could not be read; the log has the details"
        )
        try:
            with _faults_raise(unreadable):
                parser = self._dialect.build_parser(reply)
                wait = self._idle_timer(request)
                async with aclosing(self._event_batches(request, parser, wait)) as pieces:
                    async for events in pieces:
                        for event in events:
                            with wait.paused():
                                yield event
                if reply.error is not None:
                    raise reply.error
                request.interrupt.check()
                for event in await _collect(reply.finish()):
                    yield event
        except Interrupted:
            for event in await _collect(reply.cancel()):
                yield event
        except AdapterError as error:
            with _faults_raise(unreadable):
                for event in await _collect(reply.fail(error)):
                    yield event
            raise

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the prompt offline."""
        return estimate_tokens(messages, tools, self._provider)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        await self._transport.close()

    async def _event_batches(
        self, request: Request, parser: ResponseParser, wait: "_IdleTimer"
    ) -> AsyncGenerator[Iterable[StreamEvent], None]:
        """Yield the events of each frame; the caller must exhaust each iterable.

        Frames are parsed lazily, so that a bug in the middle of a frame loses no earlier event.
        """
        reply = parser.reply
        wire_request = await request.interrupt.guard(asyncio.to_thread(self._to_wire, request))
        wait.start()
        async with AsyncExitStack() as stack:
            post = self._transport.post(wire_request.path, wire_request.body)
            wire = await wait.run(stack.enter_async_context(post))
            if not HTTPStatus.OK <= wire.status < HTTPStatus.MULTIPLE_CHOICES:
                body = await wait.run(wire.read())
                raise error_from_response(self._provider, wire.status, body, wire.headers)
            reply.headers = wire.headers
            chunks = aiter(wire.chunks())
            stack.push_async_callback(_close_generator, chunks)
            framing, size = wire_request.framing(), 0
            while (chunk := await self._next_chunk(chunks, parser, wait)) is not None:
                size += len(chunk)
                if size > STREAM_LIMIT:
                    raise OtherAdapterError(
                        f"the response is larger than {STREAM_LIMIT // 2**20} MiB; it was cut off"
                    )
                for number, frame in enumerate(framing.feed(chunk), 1):
                    yield await self._frame_events(frame, parser, wait)
                    request.interrupt.check()
                    if number % _FRAMES_PER_STEP == 0:
                        await asyncio.sleep(0)  # let the event loop run
                if framing.is_document and chunk.strip():
                    wait.reset(is_content=True)
            for frame in framing.end():
                yield await self._frame_events(frame, parser, wait)
                request.interrupt.check()
            if framing.is_document:
                yield await _collect(parser.parse_document(framing.document))
            if framing.page:
                raise self._web_page_error(framing.page)
            if not (reply.is_done or reply.error or parser.is_complete):
                raise NetworkError(
                    f"`{self._provider}` closed the stream before the reply was complete"
                )

    def _idle_timer(self, request: Request) -> "_IdleTimer":
        timeouts = self._timeouts
        if not request.is_streaming:
            timeouts = replace(timeouts, first_event=max(timeouts.first_event, timeouts.document))
        return _IdleTimer(request.interrupt, self._provider, timeouts, self._clock)

    def _to_wire(self, request: Request) -> WireRequest:
        with _faults_raise(
            InvalidRequestError(
                f"the conversation contains something that cannot be sent to `{self._provider}`;"
                " the log has the details"
            )
        ):
            return self._dialect.to_wire(request)

    def _web_page_error(self, page: bytes) -> AdapterError:
        message = error_from_response(self._provider, HTTPStatus.OK, page).message
        return OtherAdapterError(
            f"{message}; that is a web page, so look at its `base_url`", status=200
        )

    async def _frame_events(
        self, frame: SseEvent, parser: ResponseParser, wait: "_IdleTimer"
    ) -> Iterable[StreamEvent]:
        events = _parse_frame(frame, parser, wait)
        size = max(len(frame.data), parser.reply.argument_size)
        return await _collect(events) if size > _THREAD_THRESHOLD else events

    async def _next_chunk(
        self, chunks: AsyncIterator[bytes], parser: ResponseParser, wait: "_IdleTimer"
    ) -> bytes | None:
        """Return the next bytes; None at the end of the body or after the end of the reply."""
        is_over = parser.reply.is_done or parser.reply.error is not None
        if parser.is_complete:
            wait.cap(self._timeouts.trailer)
        try:
            if is_over:
                return await wait.run(_next(chunks), limit=self._timeouts.linger)
            wait.check()
            return await wait.run(_next(chunks))
        except NetworkError:
            if is_over or parser.is_complete:
                return None
            raise


def _parse_frame(
    frame: SseEvent, parser: ResponseParser, wait: "_IdleTimer"
) -> Iterator[StreamEvent]:
    if parser.reply.is_done:
        return
    before = parser.reply.activity
    yield from parser.parse(frame)
    wait.reset(is_content=parser.reply.activity != before)


@contextmanager
def _faults_raise(typed: AdapterError) -> Generator[None, None, None]:
    """Raise `typed` in place of an unexpected exception, and log its traceback.

    The same bytes would fail again, so `typed` must not be retryable.
    """
    try:
        yield
    except (AdapterError, Interrupted):
        raise
    except Exception as fault:
        _log.exception("%s", typed.message)
        raise typed from fault


async def _collect(events: Iterable[StreamEvent]) -> Iterable[StreamEvent]:
    """Collect events in a thread; an exception is raised after the events before it.

    Stopping the turn does not cancel this: no other code uses the reply meanwhile.
    """
    read = list[StreamEvent]()
    try:
        await asyncio.to_thread(read.extend, events)
    except Exception as fault:  # noqa: BLE001 - raised again after the events
        return _then_raise(read, fault)
    return read


def _then_raise(events: Iterable[StreamEvent], fault: Exception) -> Iterator[StreamEvent]:
    yield from events
    raise fault


async def _close_generator(chunks: object) -> None:
    if isinstance(chunks, AsyncGenerator):
        await chunks.aclose()


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


class _IdleTimer:
    """Awaits network operations within the idle timeouts."""

    def __init__(
        self,
        interrupt: Interrupt,
        provider: str,
        timeouts: StreamTimeouts,
        clock: Callable[[], float],
    ) -> None:
        self._interrupt = interrupt
        self._provider = provider
        self._timeouts = timeouts
        self._clock = clock
        self._limit = timeouts.first_event
        self._deadline = 0.0
        self._has_started = False

    def start(self) -> None:
        """Start the timeout of the first event."""
        self._deadline = self._clock() + self._limit

    def reset(self, *, is_content: bool) -> None:
        """Restart the timeout on content, and on the first event of any kind."""
        if is_content or not self._has_started:
            self._has_started = True
            self._limit = self._timeouts.content
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
            raise self._stalled()

    def _stalled(self) -> NetworkError:
        silence = f"`{self._provider}` sent nothing of a reply for {self._limit:g} seconds"
        return NetworkError(silence, code=ErrorCode.STALLED)

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Exclude the time in this context from the timeout."""
        paused_at = self._clock()
        yield
        self._deadline += self._clock() - paused_at

    async def run(self, awaitable: Awaitable[T], limit: float | None = None) -> T:
        """Await, until the turn is stopped or the timeout expires.

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
                raise self._stalled() from error
            reason = str(error) or type(error).__name__
            raise NetworkError(
                f"the connection to `{self._provider}` was lost: {reason}"
            ) from error
