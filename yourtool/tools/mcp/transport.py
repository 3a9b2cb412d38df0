"""The connection to an MCP server that is a child process: one JSON-RPC message per line.

Unlike that of the library, it limits the size of a line, counts what is no message, starts the
process in a sandbox and in a session of processes, and ends all of them.
"""

import asyncio
import logging
import secrets
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams  # pyright: ignore[reportPrivateImportUsage]
from mcp.shared.message import SessionMessage
from msgspec.structs import replace

from yourtool.environment import CALL
from yourtool.json_sizes import MAX_PARTS, has_too_many_parts
from yourtool.tools.peer_process import (
    CHUNK_BYTES,
    LineLog,
    Peer,
    close_pipes,
    has_ended,
    send_signal,
    start_peer,
)
from yourtool.tools.process import ShellCommand, end_processes_of

_log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 8 * 2**20
"""Maximum size of a message; the event loop parses it, so it takes a fraction of a second."""
MAX_GARBAGE_LINES = 200
"""Lines in a row without a message after which a server is ended."""
_EXIT_SECONDS, _TERM_SECONDS = 1.0, 1.0
"""Time for an exit after the end of standard input, and then after SIGTERM."""


class StdioTransport:
    """Starts the process of a server and ends it."""

    def __init__(self, name: str, command: ShellCommand) -> None:
        self._name = name
        self._command = command
        self._owner = f"mcp-{secrets.token_hex(16)}"
        """In the environment of all processes of the server, which are found by it."""
        self.problem = ""
        """How the server broke the protocol, if it did."""
        self._lines = LineLog(_log, f"MCP server {name}")
        self.ended = anyio.Event()
        """Set when no further message can arrive."""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[TransportStreams, None]:
        """Start the process, yield the streams of messages, and end the process.

        Raises:
            OSError: it could not be started.
        """
        environment = {**self._command.environment, CALL: f"{self._owner}.0"}
        process = await start_peer(replace(self._command, environment=environment))
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](16)
        try:
            async with anyio.create_task_group() as group, to_us, to_server:
                group.start_soon(self._read, process, to_us)
                group.start_soon(self._write, process, to_server)
                group.start_soon(self._lines.read_errors, process)
                try:
                    yield incoming, outgoing
                finally:
                    incoming.close()
                    outgoing.close()
                    with anyio.CancelScope(shield=True):
                        await self._end(process)
                    group.cancel_scope.cancel()
        finally:
            await asyncio.to_thread(end_processes_of, self._owner)
            await close_pipes(process)

    async def _read(
        self,
        process: Peer,
        to_us: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        """Pass on the messages of the server until it ends or breaks the protocol."""
        assert process.stdout is not None, "it is a pipe"
        buffer, garbage = bytearray(), 0
        try:
            while data := await process.stdout.read(CHUNK_BYTES):
                *lines, rest = data.split(b"\n")
                for line in lines:
                    whole = bytes(buffer + line)
                    buffer.clear()
                    if await _is_too_large(whole):
                        self._stop(process, f"sent a message with over {MAX_PARTS:,} values")
                        return
                    if (message := _parse(whole)) is None:
                        garbage += bool(whole.strip())
                        await self._lines.add("no JSON-RPC", whole)
                    else:
                        garbage = 0
                        await to_us.send(message)
                buffer += rest
                if len(buffer) > MAX_MESSAGE_BYTES:
                    self._stop(process, f"sent a message of over {MAX_MESSAGE_BYTES >> 20} MiB")
                    return
                if garbage > MAX_GARBAGE_LINES:
                    self._stop(process, "prints text that is no JSON-RPC message")
                    return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return  # the other side is closed
        finally:
            self.ended.set()
            to_us.close()

    async def _write(
        self,
        process: Peer,
        messages: MemoryObjectReceiveStream[SessionMessage],
    ) -> None:
        assert process.stdin is not None, "it is a pipe"
        with suppress(OSError, anyio.ClosedResourceError):
            async for each in messages:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode("utf-8", "replace") + b"\n")
                await process.stdin.drain()

    @property
    def last_line(self) -> str:
        """The last line on standard error."""
        return self._lines.last_line

    def _stop(self, process: Peer, problem: str) -> None:
        self.problem = problem
        send_signal(process, signal.SIGKILL)

    async def _end(self, process: Peer) -> None:
        """End the process and all that it started."""
        assert process.stdin is not None, "it is a pipe"
        process.stdin.close()
        if not await has_ended(process, _EXIT_SECONDS):
            send_signal(process, signal.SIGTERM)
            await has_ended(process, _TERM_SECONDS)
        send_signal(process, signal.SIGKILL)
        if not await has_ended(process, _TERM_SECONDS):
            _log.warning("MCP server %s cannot be ended", self._name)


async def _is_too_large(line: bytes) -> bool:
    """Return whether a line has too many values; most lines are too short for that."""
    return len(line) > MAX_PARTS and await asyncio.to_thread(has_too_many_parts, line)


def _parse(line: bytes) -> SessionMessage | None:
    """Return the message in a line, or None."""
    try:
        parsed = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None
    return SessionMessage(parsed)
