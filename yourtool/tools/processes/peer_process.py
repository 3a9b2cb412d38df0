"""Process with a protocol on its pipes.

The module starts it, logs its lines and ends it.
"""

import asyncio
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TypeAlias

from yourtool.foundation.text import printable
from yourtool.tools.processes.process import (
    GRACE_SECONDS,
    ProcessStarter,
    ShellCommand,
    StartedProcess,
)

CHUNK_BYTES = 65_536
_MAX_LOGGED = 500
"""Characters of a line in the log."""
_MAX_LOGGED_LINES = 1_000
"""Lines of one process in the log."""
_POLL_SECONDS = 0.02


class EnclosedPeer:
    """A process in a sandbox, with its pipes."""

    def __init__(
        self,
        process: StartedProcess,
        stdin: asyncio.StreamWriter,
        outputs: tuple[asyncio.StreamReader, asyncio.StreamReader],
        transports: tuple[asyncio.ReadTransport, asyncio.ReadTransport],
    ) -> None:
        self.process = process
        self.stdin = stdin
        self.stdout, self.stderr = outputs
        self._transports = transports

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal; None while it runs."""
        if not self.process.has_ended:
            return None
        code = self.process.returncode
        return -signal.SIGKILL if code is None else code

    def close(self) -> None:
        """Close our ends of the pipes."""
        self.stdin.close()
        for each in self._transports:
            each.close()


Peer: TypeAlias = Process | EnclosedPeer


async def start_peer(command: ShellCommand) -> Peer:
    """Start a process with pipes, where its command starts.

    Raises:
        OSError: it could not be started.
    """
    if command.starter is not None:
        return await _start_enclosed(command, command.starter)
    return await asyncio.create_subprocess_exec(
        *command.arguments,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=command.directory,
        env=dict(command.environment),
        start_new_session=True,
        pass_fds=command.descriptors,
        limit=CHUNK_BYTES,
    )


async def _start_enclosed(command: ShellCommand, starter: ProcessStarter) -> EnclosedPeer:
    loop = asyncio.get_running_loop()
    with ExitStack() as theirs, ExitStack() as ours:
        pairs = [os.pipe() for _ in range(3)]
        given, writing = pairs[0]
        reads, written = zip(*pairs[1:], strict=True)
        for each in (given, *written):
            theirs.callback(os.close, each)
        for each in (writing, *reads):
            ours.callback(os.close, each)
        process = await starter.start(command, (given, *written), GRACE_SECONDS)
        ours.pop_all()
    outputs, transports = list[asyncio.StreamReader](), list[asyncio.ReadTransport]()
    for each in reads:
        reader = asyncio.StreamReader(CHUNK_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_read_pipe(lambda p=protocol: p, os.fdopen(each, "rb", 0))
        outputs.append(reader)
        transports.append(transport)
    closing = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, protocol = await loop.connect_write_pipe(
        lambda: closing, os.fdopen(writing, "wb", 0)
    )
    stdin = asyncio.StreamWriter(transport, protocol, None, loop)
    first, second = outputs
    return EnclosedPeer(process, stdin, (first, second), (transports[0], transports[1]))


class LineLog:
    """Writes lines of one process to the log; what they contain is not trusted."""

    def __init__(self, log: logging.Logger, name: str) -> None:
        """`name`: the process, as the log has it."""
        self._log = log
        self._name = name
        self._logged = 0
        self.last_line = ""
        """The last line on standard error."""

    async def add(self, kind: str, line: bytes) -> None:
        """Log the start of a line."""
        await self._add_all(kind, [line])

    async def read_errors(self, process: Peer) -> None:
        """Log the standard error of the process until its end."""
        assert process.stderr is not None, "it is a pipe"
        rest = b""
        while data := await process.stderr.read(CHUNK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-CHUNK_BYTES:]
            if lines := [line for line in lines if line.strip()]:
                self.last_line = _decode(lines[-1]).strip()
                await self._add_all("stderr", lines)

    async def _add_all(self, kind: str, lines: Iterable[bytes]) -> None:
        """Log lines in a thread: to mask the keys in them, files are read."""
        filled = [line for line in lines if line.strip()]
        logged = filled[: _MAX_LOGGED_LINES - self._logged]
        self._logged += len(logged)
        if logged:
            await asyncio.to_thread(self._write, kind, logged)

    def _write(self, kind: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._log.info("%s, %s: %s", self._name, kind, _decode(line))


async def has_ended(process: Peer, seconds: float) -> bool:
    """Wait for the end of a process, not for that of its output, which others can hold open."""
    for _ in range(round(seconds / _POLL_SECONDS)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


async def close_pipes(process: Peer) -> None:
    """Close our ends of the pipes, which stay open while there is output that was not read."""
    if isinstance(process, EnclosedPeer):
        process.close()
    else:
        process._transport.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - there is no public method
    await asyncio.sleep(0)  # the loop closes them


def send_signal(process: Peer, number: signal.Signals) -> None:
    """Send a signal to the group of a process, which may have ended before the others."""
    if isinstance(process, EnclosedPeer):
        process.process.kill() if number == signal.SIGKILL else process.process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _decode(line: bytes) -> str:
    return printable(line[:_MAX_LOGGED].decode("utf-8", "replace"))
