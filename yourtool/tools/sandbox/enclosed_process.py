"""A call in an enclosure."""

import asyncio
import json
import os
import signal
import socket
from contextlib import suppress
from typing import Any

_MAX_REPLY_BYTES = 65_536


class EnclosedProcess:
    """A process tree in an enclosure; ends with its first process."""

    def __init__(self, reply: socket.socket) -> None:
        self._reply = reply
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._asked: asyncio.Future[tuple[int, ...]] | None = None
        reply.setblocking(False)
        self._loop.add_reader(reply.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = self._reply.recv(_MAX_REPLY_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        answer: dict[str, Any] = json.loads(data) if data else {}
        if "ports" in answer:
            if self._asked is not None:
                self._asked.set_result(tuple(answer["ports"]))
                self._asked = None
            return
        self._loop.remove_reader(self._reply.fileno())
        self._reply.close()
        if not self._ended.done():
            self._ended.set_result(answer)

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal; None while it runs, and if it was stopped."""
        if not self._ended.done():
            return None
        if (status := self._ended.result().get("status")) is not None:
            return os.waitstatus_to_exitcode(status)
        return None if self._is_stopped else -signal.SIGKILL  # by another, such as the kernel

    async def wait(self) -> int | None:
        """Wait until it ends, and return its exit code.

        Raises:
            OSError: it could not be started.
        """
        ended = await asyncio.shield(self._ended)
        if "problem" in ended:
            raise OSError(ended.get("errno", 0), ended["problem"])
        return self.returncode

    async def find_ports(self) -> tuple[int, ...]:
        """Return the TCP ports on which it listens; none if it has ended."""
        if self._ended.done():
            return ()
        if (asked := self._asked) is None:
            asked = self._asked = self._loop.create_future()
            with suppress(OSError):
                self._reply.send(b"ports")
        await asyncio.wait({asked, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else ()

    def terminate(self) -> None:
        """Send SIGTERM to all of it, and SIGKILL after its time of grace."""
        if not self._ended.done():
            self._is_stopped = True
            with suppress(OSError):
                self._reply.send(b"end")

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def finish(self) -> bool:
        """End what is left of it, and return whether the command left anything running."""
        self.terminate()
        with suppress(OSError):
            ended = await asyncio.shield(self._ended)
            return bool(ended.get("left"))
        return False

    def kill(self) -> None:
        if not self._ended.done():
            self._is_stopped = True
            self._loop.remove_reader(self._reply.fileno())
            self._ended.set_result({})
        self._reply.close()
