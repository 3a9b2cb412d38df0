"""A child process with a protocol on its pipes: the log of its lines, and its end."""

import asyncio
import logging
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Iterable
from contextlib import suppress

from yourtool.text import printable

CHUNK_BYTES = 65_536
_MAX_LOGGED = 500
"""Characters of a line in the log."""
_MAX_LOGGED_LINES = 1_000
"""Lines of one process in the log."""
_POLL_SECONDS = 0.02


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

    async def read_errors(self, process: Process) -> None:
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


async def has_ended(process: Process, seconds: float) -> bool:
    """Wait for the end of a process, not for that of its output, which others can hold open."""
    for _ in range(round(seconds / _POLL_SECONDS)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


async def close_pipes(process: Process) -> None:
    """Close our ends of the pipes, which stay open while there is output that was not read."""
    process._transport.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - there is no public method
    await asyncio.sleep(0)  # the loop closes them


def send_signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to the group of a process, which may have ended before the others."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _decode(line: bytes) -> str:
    return printable(line[:_MAX_LOGGED].decode("utf-8", "replace"))
