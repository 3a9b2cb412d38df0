"""The process of an agent, and its JSON-RPC messages: one per line, in both directions.

https://agentclientprotocol.com/protocol/transports and https://www.jsonrpc.org/specification

What the process prints is not trusted: a line has a maximum size, and so has all that one prompt
can send. A line that is no message is counted, and too many of them end the process.
"""

import asyncio
import logging
import secrets
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

import msgspec

from yourtool.environment import CALL
from yourtool.json_sizes import MAX_PARTS, has_too_many_parts
from yourtool.tables import is_table
from yourtool.text import storable_json
from yourtool.tools.peer_process import CHUNK_BYTES, LineLog, close_pipes, has_ended, send_signal
from yourtool.tools.process import ShellCommand, end_processes_of

_log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 8 * 2**20
MAX_PROMPT_BYTES = 64 * 2**20
"""What an agent may send for one prompt."""
MAX_GARBAGE_LINES = 200
"""Lines in a row without a message after which an agent is ended."""
EXIT_SECONDS = 2.0
"""Time for an exit after the end of standard input, and then after SIGTERM."""
SEND_SECONDS = 10.0
"""Time that an agent has to read a message."""
_THREAD_BYTES = 65_536
"""Longer messages are parsed in a thread; shorter ones have at most `MAX_PARTS`."""


class AgentProcess:
    """Starts the program of an agent, exchanges messages with it, and ends all of its processes."""

    def __init__(
        self,
        name: str,
        receive: Callable[[dict[str, Any]], None],
        ended: Callable[[], None],
    ) -> None:
        """`receive` gets each message; `ended` is called once, when no more can arrive."""
        self._name = name
        self._receive = receive
        self._ended = ended
        self._owner = f"acp-{secrets.token_hex(16)}"
        """In the environment of all processes of the agent, which are found by it."""
        self._process: Process | None = None
        self._tasks = list[asyncio.Task[None]]()
        self._received = self._garbage = 0
        self.problem = ""
        """How the agent broke the protocol, if it did."""
        self._lines = LineLog(_log, f"agent {name}")

    @property
    def is_running(self) -> bool:
        """Whether messages can be exchanged."""
        process = self._process
        return process is not None and process.returncode is None and not self.problem

    async def start(self, command: ShellCommand) -> None:
        """Start the program in a separate session of processes.

        Raises:
            OSError: it could not be started.
        """
        self._process = process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=command.directory,
            env={**command.environment, CALL: f"{self._owner}.0"},
            start_new_session=True,
            limit=CHUNK_BYTES,
        )
        self._tasks = [
            asyncio.create_task(self._read(process), name=f"agent {self._name}, output"),
            asyncio.create_task(
                self._lines.read_errors(process), name=f"agent {self._name}, errors"
            ),
        ]

    def begin_prompt(self) -> None:
        """Count what the agent sends from here on."""
        self._received = 0

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message.

        Raises:
            ConnectionError: the process has ended, or closed its input.
        """
        process = self._process
        if process is None or process.stdin is None or not self.is_running:
            raise ConnectionError("the program is not running")
        process.stdin.write(msgspec.json.encode(message) + b"\n")
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await process.stdin.drain()
        except TimeoutError:
            self.stop("reads no messages")
            raise ConnectionError("the program reads no messages") from None

    def describe_end(self) -> str:
        """Return why no more messages can arrive, as the end of a sentence about the agent."""
        code = None if self._process is None else self._process.returncode
        how = self.problem or ("ended" if code is None else f"ended with exit code {code}")
        return f"{how}; its last line: {last}" if (last := self._lines.last_line) else how

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
                if await has_ended(process, EXIT_SECONDS):
                    break
        finally:
            send_signal(process, signal.SIGKILL)  # what it left in its group
            for task in self._tasks:
                task.cancel()
            await asyncio.to_thread(end_processes_of, self._owner)
            await close_pipes(process)

    def stop(self, problem: str) -> None:
        """End a process that broke the protocol, or does not react."""
        self.problem = self.problem or problem
        if self._process is not None:
            send_signal(self._process, signal.SIGKILL)

    async def _read(self, process: Process) -> None:
        """Pass on the messages of the agent until it ends or breaks the protocol."""
        assert process.stdout is not None, "it is a pipe"
        buffer = bytearray()
        try:
            while not self.problem and (data := await process.stdout.read(CHUNK_BYTES)):
                self._received += len(data)
                *lines, rest = data.split(b"\n")
                for line in lines:
                    buffer += line
                    await self._pass_on(bytes(buffer))
                    buffer.clear()
                buffer += rest
                self._check_limits(len(buffer))
            await has_ended(process, EXIT_SECONDS)  # then the exit code is found out
        except OSError:
            pass  # the pipe is closed
        finally:
            self._ended()

    def _check_limits(self, line: int) -> None:
        if line > MAX_MESSAGE_BYTES:
            self.stop(f"sent a message of over {MAX_MESSAGE_BYTES >> 20} MiB")
        elif self._received > MAX_PROMPT_BYTES:
            self.stop(f"sent over {MAX_PROMPT_BYTES >> 20} MiB for one prompt")
        elif self._garbage > MAX_GARBAGE_LINES:
            self.stop("prints text that is no message of the protocol")

    async def _pass_on(self, line: bytes) -> None:
        if not line.strip() or self.problem:
            return
        is_long = len(line) > _THREAD_BYTES
        if is_long and await asyncio.to_thread(has_too_many_parts, line):
            self.stop(f"sent a message with over {MAX_PARTS:,} values")
            return
        message = await asyncio.to_thread(_parse, line) if is_long else _parse(line)
        if message is None:
            self._garbage += 1
            await self._lines.add("no message", line)
            return
        self._garbage = 0
        try:
            self._receive(message)
        except Exception:  # noqa: BLE001 - what the agent sends is not trusted
            _log.exception("agent %s: a message could not be used", self._name)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the message in a line, or None."""
    try:
        message = storable_json(msgspec.json.decode(line))
    except (ValueError, RecursionError):
        return None
    if not is_table(message) or not isinstance(message.get("method", ""), str):
        return None
    identity = message.get("id")
    if isinstance(identity, bool) or not isinstance(identity, int | str | None):
        return None
    return message if "method" in message or identity is not None else None
