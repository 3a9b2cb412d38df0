"""Host ports for enclosed commands.

Each connection leads to the same port of the loopback address of the machine and nowhere else.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from yourtool.tools.sandbox.network.proxy import copy_stream

_HOSTS = ("127.0.0.1", "::1")
_MAX_CONNECTIONS = 256
_RESET = struct.pack("ii", 1, 0)
"""Ends a connection so that its client gets an error."""


@asynccontextmanager
async def serve(listener: socket.socket, port: int) -> AsyncGenerator[None, None]:
    """Pass on what connects to a listening socket; at the end every connection is closed."""
    tasks = set[asyncio.Task[None]]()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served in a task"
        tasks.add(task)
        try:
            if len(tasks) <= _MAX_CONNECTIONS:
                await _join(port, reader, writer)
        except asyncio.CancelledError:
            pass  # the sandbox ended
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(join, sock=listener)
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _join(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for host in _HOSTS:
        try:
            answers, out = await asyncio.open_connection(host, port)
        except OSError:
            continue
        try:
            await asyncio.gather(copy_stream(reader, out), copy_stream(answers, writer))
        finally:
            out.close()
        return
    made: socket.socket = writer.get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
