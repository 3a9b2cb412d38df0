"""Process with messages as lines.

The module sets its limits, writes its log and ends it. What the process prints is not trusted: a
line has a maximum size, and a line that is no message is counted. A process that breaks the
protocol is ended.
"""

import asyncio
import logging
import secrets
import signal
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from yourtool.foundation.json_sizes import MAX_PARTS, has_too_many_parts
from yourtool.process.environment import CALL
from yourtool.tools.processes.peer_process import (
    CHUNK_BYTES,
    LineLog,
    Peer,
    close_pipes,
    has_ended,
    send_signal,
    start_peer,
)
from yourtool.tools.processes.process import ShellCommand, end_processes_of

_log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 8 * 2**20
MAX_GARBAGE_LINES = 200
"""Lines in a row without a message after which a process is ended."""
SEND_SECONDS = 10.0
"""Time that a process has to read a message, if it has a limit."""
_THREAD_BYTES = 65_536
"""Longer messages are parsed in a thread; shorter ones have at most `MAX_PARTS`."""

M = TypeVar("M")


class LinePeer(Generic[M]):
    """Starts a program, exchanges lines with it, and ends all of its processes."""

    def __init__(
        self, name: str, kind: str, parse: Callable[[bytes], M | None], exit_seconds: float
    ) -> None:
        """`name`: as the log has it. `kind`: in the mark of its processes.

        `parse` returns the message of a line, or None, maybe in a thread. `exit_seconds`: time for
        an exit after the end of standard input, and then after SIGTERM.
        """
        self._name = name
        self._parse = parse
        self._exit_seconds = exit_seconds
        self._owner = f"{kind}-{secrets.token_hex(16)}"
        """In the environment of all processes of the program, which are found by it."""
        self._process: Peer | None = None
        self._errors: asyncio.Task[None] | None = None
        self._lines = LineLog(_log, name)
        self._garbage = 0
        self.received = 0
        """Bytes; the owner may set it back."""
        self.problem = ""
        """How the program broke the protocol, if it did."""

    @property
    def is_running(self) -> bool:
        """Whether messages can be exchanged."""
        process = self._process
        return process is not None and process.returncode is None and not self.problem

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs, or if it was closed."""
        return None if self._process is None else self._process.returncode

    @property
    def last_line(self) -> str:
        """The last line on standard error."""
        return self._lines.last_line

    async def start(self, command: ShellCommand) -> None:
        """Start the program in a separate session of processes.

        Raises:
            OSError: it could not be started.
        """
        environment = {**command.environment, CALL: f"{self._owner}.0"}
        self._process = process = await start_peer(replace(command, environment=environment))
        self._errors = asyncio.create_task(self._lines.read_errors(process))

    async def read(
        self, deliver: Callable[[M], Awaitable[None]], max_received: int | None = None
    ) -> None:
        """Pass on the messages of the program until it ends or breaks the protocol.

        `max_received`: a limit on `received`.

        Raises:
            OSError: the pipe is closed.
        """
        process = self._process
        assert process is not None and process.stdout is not None, "it runs, with pipes"
        buffer = bytearray()
        while not self.problem and (data := await process.stdout.read(CHUNK_BYTES)):
            self.received += len(data)
            *lines, rest = data.split(b"\n")
            for line in lines:
                buffer += line
                await self._pass_on(bytes(buffer), deliver)
                buffer.clear()
            buffer += rest
            if len(buffer) > MAX_MESSAGE_BYTES:
                self.stop(f"sent a message of over {MAX_MESSAGE_BYTES >> 20} MiB")
            elif max_received is not None and self.received > max_received:
                self.stop(f"sent over {max_received >> 20} MiB for one prompt")
            elif self._garbage > MAX_GARBAGE_LINES:
                self.stop("prints text that is no JSON-RPC message")

    async def wait(self) -> None:
        """Wait for the exit for a moment, so that its code is found out."""
        if self._process is not None:
            await has_ended(self._process, self._exit_seconds)

    async def send(self, message: bytes, seconds: float | None = None) -> None:
        """Write a message; without `seconds`, the program may take any time to read it.

        Raises:
            ConnectionError: the process has ended, closed its input, or reads nothing.
        """
        process = self._process
        if process is None or process.stdin is None or not self.is_running:
            raise ConnectionError("the program is not running")
        process.stdin.write(message + b"\n")
        try:
            async with asyncio.timeout(seconds):
                await process.stdin.drain()
        except TimeoutError:
            self.stop("reads no messages")
            raise ConnectionError("the program reads no messages") from None

    def stop(self, problem: str) -> None:
        """End a process that broke the protocol, or does not react."""
        self.problem = self.problem or problem
        if self._process is not None:
            send_signal(self._process, signal.SIGKILL)

    async def close(self) -> None:
        """End the process and all that it started; idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.stdin is not None:
                process.stdin.close()
            for number in (None, signal.SIGTERM, signal.SIGKILL):
                if number is not None:
                    send_signal(process, number)
                if await has_ended(process, self._exit_seconds):
                    break
            else:
                _log.warning("%s cannot be ended", self._name)
        finally:
            send_signal(process, signal.SIGKILL)  # what it left in its group
            if self._errors is not None:
                self._errors.cancel()
            await asyncio.to_thread(end_processes_of, self._owner)
            await close_pipes(process)

    async def _pass_on(self, line: bytes, deliver: Callable[[M], Awaitable[None]]) -> None:
        if not line.strip() or self.problem:
            return
        is_long = len(line) > _THREAD_BYTES
        if is_long and await asyncio.to_thread(has_too_many_parts, line):
            self.stop(f"sent a message with over {MAX_PARTS:,} values")
            return
        message = await asyncio.to_thread(self._parse, line) if is_long else self._parse(line)
        if message is None:
            self._garbage += 1
            await self._lines.add("no message", line)
        else:
            self._garbage = 0
            await deliver(message)
