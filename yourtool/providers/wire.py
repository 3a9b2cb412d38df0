"""Adapter from a dialect and a transport.

The response passes through three stages: chunks of bytes, frames (server-sent events, or one JSON
document), and the events that the dialect's parser makes of the frames that arrived together. A
body that ends without the dialect's end marker is an error, even if it looks complete; bytes after
the marker are not read.

Only this module turns a bug in a dialect or a transport, or a reply that they cannot handle, into
an `AdapterError`.
"""

import asyncio
import logging
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from itertools import islice

from msgspec.structs import replace

from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError, InvalidRequestError, NetworkError, OtherAdapterError
from yourtool.events.deltas import StreamEvent
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.message import Message
from yourtool.providers.base import Request, Transport, WireResponse
from yourtool.providers.chunk_gathering import gather_chunks
from yourtool.providers.dialects.base import Dialect, ResponseParser, WireRequest
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.idle_timer import IdleTimer, StreamTimeouts
from yourtool.providers.replies import error_mapping
from yourtool.providers.replies.body_decoder import BodyDecoder, SseEvent
from yourtool.providers.replies.joined_text import join_text
from yourtool.providers.replies.reply import Reply

_log = logging.getLogger(__name__)

_THREAD_THRESHOLD = 2**16
"""Bytes of a frame or of tool arguments above which frames are parsed in a thread."""
_FRAMES_PER_STEP = 32
"""Frames of one chunk that are parsed before other tasks run; proxies buffer thousands."""
STREAM_LIMIT = 128 * 2**20
"""Largest response in bytes, with pings and everything else that is not content."""


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
        self._encoded = dict[str, WireRequest]()
        """The request that was encoded ahead last, by its id."""

    def encode_ahead(self, request: Request) -> None:
        """Encode a request ahead; see `Adapter.encode_ahead`. `stream` raises the errors."""
        with suppress(AdapterError):
            self._encoded = {request.request_id: self._to_wire(request)}

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
            with _unexpected_errors_as(unreadable):
                parser = self._dialect.build_parser(reply)
                timer = self._build_timer(request)
                async with aclosing(self._exchange(request, parser, timer)) as frames:
                    async for events in frames:
                        for event in events:
                            timer.pause()  # methods, because a context per event is slow
                            yield event
                            timer.resume()
                if reply.error is not None:
                    raise reply.error
                request.interrupt.check()
                events = reply.finish()
                if reply.argument_size > _THREAD_THRESHOLD:
                    events = await _collect_in_thread(events)
                for event in events:
                    yield event
        except Interrupted:
            for event in await _collect_in_thread(reply.cancel()):
                yield event
        except AdapterError as error:
            with _unexpected_errors_as(unreadable):
                for event in await _collect_in_thread(reply.fail(error)):
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

    async def _exchange(
        self, request: Request, parser: ResponseParser, timer: IdleTimer
    ) -> AsyncGenerator[Iterable[StreamEvent], None]:
        """Send the request and yield the events of the frames that arrived together.

        The caller must exhaust each iterable: most frames are parsed while their events are
        iterated, so that a bug in the middle of a frame loses no earlier event.
        """
        wire_request = self._encoded.pop(request.request_id, None)
        if wire_request is None:
            encoding = asyncio.to_thread(self._to_wire, request)
            wire_request = await request.interrupt.guard(encoding)
        decoder = wire_request.framing()
        timer.start()
        async with AsyncExitStack() as stack:
            post = self._transport.post(wire_request.path, wire_request.body)
            response = await timer.run(stack.enter_async_context(post))
            if not 200 <= response.status < 300:
                body = await timer.run(response.read())
                raise error_mapping.error_from_response(
                    self._provider, response.status, body, response.headers
                )
            parser.reply.headers = response.headers
            async with (
                aclosing(_read_chunks(response, parser, timer)) as chunks,
                aclosing(_decode_frames(chunks, decoder, timer)) as batches,
            ):
                async for frames in batches:
                    events = join_text(_iter_events(frames, parser, timer, request.interrupt))
                    size = sum(len(frame.data) for frame in frames)
                    if max(size, parser.reply.argument_size) > _THREAD_THRESHOLD:
                        events = await _collect_in_thread(events)
                    yield events
                    request.interrupt.check()
            if decoder.is_document:
                yield await _collect_in_thread(parser.parse_document(decoder.document))
            if decoder.page:
                raise self._web_page_error(decoder.page)
            if not (parser.reply.is_done or parser.reply.error or parser.is_complete):
                raise NetworkError(
                    f"`{self._provider}` closed the stream before the reply was complete"
                )

    def _build_timer(self, request: Request) -> IdleTimer:
        timeouts = self._timeouts
        if not request.is_streaming:
            timeouts = replace(timeouts, first_event=max(timeouts.first_event, timeouts.document))
        return IdleTimer(request.interrupt, self._provider, timeouts, self._clock)

    def _to_wire(self, request: Request) -> WireRequest:
        with _unexpected_errors_as(
            InvalidRequestError(
                f"the conversation contains something that cannot be sent to `{self._provider}`;"
                " the log has the details"
            )
        ):
            return self._dialect.to_wire(request)

    def _web_page_error(self, page: bytes) -> AdapterError:
        message = error_mapping.error_from_response(self._provider, 200, page).message
        return OtherAdapterError(
            f"{message}; that is a web page, so look at its `base_url`", status=200
        )


async def _read_chunks(
    response: WireResponse, parser: ResponseParser, timer: IdleTimer
) -> AsyncGenerator[bytes, None]:
    """Yield the body of the response until it or the reply ends."""
    reply, size = parser.reply, 0
    async with aclosing(
        gather_chunks(response.chunks(), lambda: not reply.argument_size)
    ) as chunks:
        while (chunk := await _read_chunk(chunks, parser, timer)) is not None:
            size += len(chunk)
            if size > STREAM_LIMIT:
                raise OtherAdapterError(
                    f"the response is larger than {STREAM_LIMIT // 2**20} MiB; it was cut off"
                )
            yield chunk


async def _read_chunk(
    chunks: AsyncIterator[bytes], parser: ResponseParser, timer: IdleTimer
) -> bytes | None:
    """Return the next bytes; None at the end of the body or after the end of the reply."""
    has_ended = parser.reply.is_done or parser.reply.error is not None
    if parser.is_complete:
        timer.cap(timer.timeouts.trailer)
    try:
        if has_ended:
            return await timer.run(_next(chunks), limit=timer.timeouts.linger)
        timer.check()
        return await timer.run(_next(chunks))
    except NetworkError:
        if has_ended or parser.is_complete:
            timer.has_given_up = True
            return None
        raise


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def _decode_frames(
    chunks: AsyncIterator[bytes], decoder: BodyDecoder, timer: IdleTimer
) -> AsyncGenerator[Sequence[SseEvent], None]:
    """Yield frames that arrived together; a document has none and stays in the decoder."""
    async for chunk in chunks:
        for number, batch in enumerate(_split(decoder.feed(chunk))):
            if number:
                await asyncio.sleep(0)  # let the event loop run
            yield batch
        if decoder.is_document and chunk.strip():
            timer.reset(is_content=True)
    if not timer.has_given_up:  # else the last frame is cut
        for batch in _split(decoder.end()):
            yield batch


def _split(frames: Iterable[SseEvent]) -> Iterator[Sequence[SseEvent]]:
    """Yield the frames in batches."""
    remaining = iter(frames)
    while batch := list(islice(remaining, _FRAMES_PER_STEP)):
        yield batch


def _iter_events(
    frames: Iterable[SseEvent], parser: ResponseParser, timer: IdleTimer, interrupt: Interrupt
) -> Iterator[StreamEvent]:
    for number, frame in enumerate(frames):
        if parser.reply.is_done:
            return
        if number:
            interrupt.check()
        before = parser.reply.activity
        yield from parser.parse(frame)
        timer.reset(is_content=parser.reply.activity != before)


async def _collect_in_thread(events: Iterable[StreamEvent]) -> Iterable[StreamEvent]:
    """Collect events in a thread; an exception is raised after the events before it.

    Stopping the turn does not cancel this: no other code uses the reply meanwhile.
    """
    collected = list[StreamEvent]()
    try:
        await asyncio.to_thread(collected.extend, events)
    except Exception as error:  # noqa: BLE001 - raised again after the events
        return _raise_after(collected, error)
    return collected


def _raise_after(events: Iterable[StreamEvent], error: Exception) -> Iterator[StreamEvent]:
    yield from events
    raise error


@contextmanager
def _unexpected_errors_as(error: AdapterError) -> Generator[None, None, None]:
    """Raise `error` in place of an unexpected exception, and log its traceback.

    The same bytes would fail again, so `error` must not be retryable.
    """
    try:
        yield
    except (AdapterError, Interrupted):
        raise
    except Exception as unexpected:
        _log.exception("%s", error.message)
        raise error from unexpected
