"""Limit on requests with unread answers.

The library runs a task for each request until its answer is written. A server that asks and reads
nothing would fill the memory with them.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias

import anyio
import mcp_types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage

MAX_WAITING = 1_000
"""Includes requests that the server cancelled, which get no answer."""
_ANSWERS = (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError)
_Received: TypeAlias = SessionMessage | Exception


class _Source(Protocol):
    async def receive(self) -> _Received: ...
    async def aclose(self) -> None: ...


class _Sink(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class UnreadAnswers:
    """Counts the answers that a server has still to read, and ends a connection with too many."""

    def __init__(self, end: Callable[[], object]) -> None:
        """`end` is called when there are too many."""
        self.problem = ""
        """How the server exceeded the limit, if it did."""
        self._end = end
        self._waiting = 0

    @asynccontextmanager
    async def limit(
        self, transport: Transport
    ) -> AsyncGenerator[tuple["_Incoming", "_Outgoing"], None]:
        """Yield the streams of a transport; the incoming one ends at the limit."""
        async with transport as (incoming, outgoing):
            yield _Incoming(incoming, self), _Outgoing(outgoing, self)

    def accepts(self, received: _Received) -> bool:
        """Count a message of the server, and return whether it is within the limit."""
        if isinstance(received, SessionMessage):
            self._waiting += isinstance(received.message, mcp_types.JSONRPCRequest)
        if self._waiting > MAX_WAITING:
            self.problem = f"sent over {MAX_WAITING:,} requests without reading the answers"
            self._end()
        return not self.problem

    def note_sent(self, sent: SessionMessage) -> None:
        """Count a message to the server."""
        self._waiting -= isinstance(sent.message, _ANSWERS)


class _Incoming(ObjectReceiveStream[_Received]):
    def __init__(self, stream: _Source, unread: UnreadAnswers) -> None:
        self._stream = stream
        self._unread = unread

    async def receive(self) -> _Received:
        received = await self._stream.receive()
        if not self._unread.accepts(received):
            raise anyio.EndOfStream
        return received

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Outgoing(ObjectSendStream[SessionMessage]):
    def __init__(self, stream: _Sink, unread: UnreadAnswers) -> None:
        self._stream = stream
        self._unread = unread

    async def send(self, item: SessionMessage) -> None:
        await self._stream.send(item)
        self._unread.note_sent(item)

    async def aclose(self) -> None:
        await self._stream.aclose()
