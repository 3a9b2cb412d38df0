"""Connection to a child process.

The child is an MCP server, with one JSON-RPC message per line. Unlike that of the library, it has
the limits of `line_peer`, starts the process in a sandbox and in a session of processes, and ends
all of them.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from yourtool.tools.processes.line_peer import LinePeer
from yourtool.tools.processes.process import ShellCommand

_Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
_Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]
_EXIT_SECONDS = 1.0


class StdioTransport:
    """Starts the process of a server and ends it."""

    def __init__(self, name: str, command: ShellCommand) -> None:
        self._command = command
        self._peer = LinePeer(f"MCP server {name}", "mcp", _parse, _EXIT_SECONDS)
        self.ended = anyio.Event()
        """Set when no further message can arrive."""

    @property
    def problem(self) -> str:
        """How the server broke the protocol; empty if it did not."""
        return self._peer.problem

    @property
    def last_line(self) -> str:
        """The last line on standard error."""
        return self._peer.last_line

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[tuple[_Incoming, _Outgoing], None]:
        """Start the process, yield the streams of messages, and end the process.

        Raises:
            OSError: it could not be started.
        """
        await self._peer.start(self._command)
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](16)
        async with anyio.create_task_group() as group, to_us, to_server:
            group.start_soon(self._read, to_us)
            group.start_soon(self._write, to_server)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()
                outgoing.close()
                with anyio.CancelScope(shield=True):
                    await self._peer.close()
                group.cancel_scope.cancel()

    async def _read(self, to_us: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            await self._peer.read(to_us.send)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return  # the other side is closed
        finally:
            self.ended.set()
            to_us.close()

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(OSError, anyio.ClosedResourceError):
            async for each in messages:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._peer.send(text.encode("utf-8", "replace"))


def _parse(line: bytes) -> SessionMessage | None:
    """Return the message in a line, or None."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None
