"""Enclosed servers for the user's browser.

Each port on which a background process listens gets a listener on 127.0.0.1 of the machine, with
the same number if it is free. Its connections lead to this port of the enclosure and nowhere else.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, repeat

from yourtool.tools.processes.process import ShellCommand, StandardStreams
from yourtool.tools.sandbox.enclosed_process import EnclosedProcess
from yourtool.tools.sandbox.enclosure import Enclosure
from yourtool.tools.sandbox.network.proxy import copy_stream

_HOST = "127.0.0.1"
_FIRST_FREE_PORT = 1024
"""The ports below are those of the system."""
_MAX_OFFERS = 16
_MAX_CONNECTIONS = 256
_MAX_CONNECTING = 8
_OFTEN_SECONDS, _OFTEN, _SELDOM_SECONDS = 1.0, 60, 5.0
"""Pauses between looks at the ports: most servers start soon, or after a build."""


class Servers:
    """Starts one command, and offers what it serves; a `ProcessStarter`."""

    def __init__(self, enclosure: Enclosure) -> None:
        self._enclosure = enclosure
        self._process: EnclosedProcess | None = None
        self._offers = dict[int, asyncio.Server]()
        self._refused: tuple[int, ...] = ()
        self._shown = set[str]()
        self._show: Callable[[str], None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._connecting = asyncio.Semaphore(_MAX_CONNECTING)
        self._connections = set[asyncio.Task[None]]()
        self._is_closed = False

    async def start(
        self, command: ShellCommand, streams: StandardStreams, grace: float
    ) -> EnclosedProcess:
        """Start the command in the enclosure.

        Raises:
            OSError: the runner has ended.
        """
        self._process = await self._enclosure.start(command, streams, grace)
        return self._process

    def offer(self, show: Callable[[str], None]) -> None:
        """Offer its servers from now on; `show` gets each new address as `describe` writes it."""
        if self._watcher is None and not self._is_closed:
            self._show = show
            self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        for pause in chain(repeat(_OFTEN_SECONDS, _OFTEN), repeat(_SELDOM_SECONDS)):
            await self.look()
            await asyncio.sleep(pause)

    async def look(self) -> None:
        """Offer the servers that have started, and no more those that have ended."""
        if self._show is None or self._process is None:
            return
        async with self._looking:
            found = await self._process.find_ports()
            if self._is_closed:
                return
            for port in self._offers.keys() - set(found):
                self._offers.pop(port).close()
            refused = [each for each in found if not await self._offer_port(each)]
            self._refused = tuple(refused)
            for address in map(_format_address, self._offers.items()):
                if address not in self._shown:
                    self._shown.add(address)
                    self._show(f"listens on {address}")

    async def _offer_port(self, port: int) -> bool:
        if port in self._offers:
            return True
        if self._is_closed or len(self._offers) >= _MAX_OFFERS:
            return False
        for number in (port, 0) if port >= _FIRST_FREE_PORT else (0,):
            with suppress(OSError):
                listener = socket.create_server((_HOST, number))
                break
        else:
            return False
        serve = partial(self._serve, port)
        server = await asyncio.start_server(serve, sock=listener, start_serving=False)
        self._offers[port] = server  # before it serves, so that `close` closes it
        await server.start_serving()
        return True

    async def _serve(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served in a task"
        self._connections.add(task)
        try:
            if len(self._connections) <= _MAX_CONNECTIONS and not self._is_closed:
                await self._join(port, reader, writer)
        except OSError:
            pass  # one of the two is gone
        except asyncio.CancelledError:
            pass  # the command ended
        finally:
            self._connections.discard(task)
            writer.close()

    async def _join(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async with self._connecting:
            inside = await self._enclosure.connect(port)
        if inside is None:
            return
        answers, out = await asyncio.open_connection(sock=inside)
        try:
            await asyncio.gather(copy_stream(reader, out), copy_stream(answers, writer))
        finally:
            out.close()

    def describe(self) -> str:
        """Return the addresses, such as `listens on http://127.0.0.1:5173`; empty without any."""
        if self._is_closed:
            return ""
        addresses = " and ".join(map(_format_address, sorted(self._offers.items())))
        described = f"listens on {addresses}" if addresses else ""
        if self._refused:
            named = ", ".join(map(str, self._refused))
            described += f"; not offered to the user: the ports {named}"
        return described.removeprefix("; ")

    def close(self) -> None:
        """End all that is offered; idempotent."""
        self._is_closed = True
        if self._watcher is not None:
            self._watcher.cancel()
        for server in self._offers.values():
            server.close()
        self._offers.clear()
        for connection in self._connections:
            connection.cancel()


def _format_address(offer: tuple[int, asyncio.Server]) -> str:
    port, server = offer
    outside = server.sockets[0].getsockname()[1]
    address = f"http://{_HOST}:{outside}"
    if port == outside:
        return address
    is_taken = port >= _FIRST_FREE_PORT
    why = f"another program uses {port}" if is_taken else f"{port} is a port of the system"
    return f"port {port} in the sandbox, {address} for the user, because {why}"
