"""Output streams of a process."""

import asyncio
import errno
import os
import select
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from yourtool.tools.processes.pseudo_terminal import PseudoTerminal

_MAX_LATE_BYTES = 2**20
"""Bytes that are read after the end of a process."""


class OutputSink(Protocol):
    """Gets the output of a command, in a thread."""

    def feed(self, data: bytes) -> None:
        """Add the next bytes of output."""
        ...

    def close(self) -> None:
        """End the output."""
        ...


class Streams:
    """The output of a process: what it writes to, what is read, and what gets it."""

    def __init__(
        self, output: OutputSink, errors: OutputSink | None, terminal: PseudoTerminal | None
    ) -> None:
        self._terminal = terminal
        if terminal is None:
            reading, self.writing = os.pipe()
        else:
            reading, self.writing = terminal.duplicate(), terminal.program_side
        self._read = [(reading, output)]
        self.writing_errors = self.writing
        if errors is not None:
            reading, self.writing_errors = os.pipe()
            self._read.append((reading, errors))

    def pump(self, ended: threading.Event) -> asyncio.Future[list[None]]:
        """Pass on the output until it ends; returns what is done then."""
        # Other threads than those of the loop, because they are busy while the command runs.
        threads = ThreadPoolExecutor(len(self._read))
        pumps = [
            asyncio.wrap_future(threads.submit(_pump_output, reading, sink, ended))
            for reading, sink in self._read
        ]
        threads.shutdown(wait=False)
        return asyncio.gather(*pumps)

    def close_writing(self) -> None:
        """Close what only the process needs."""
        for each in {self.writing, self.writing_errors}:
            os.close(each)

    def close(self) -> None:
        """Close what would have been read."""
        for reading, _ in self._read:
            os.close(reading)
        if self._terminal is not None:
            self._terminal.close()


def _pump_output(reading: int, output: OutputSink, ended: threading.Event) -> None:
    """Collect output until the pipe is closed, or idle after the call's processes have ended."""
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    late = 0
    try:
        while late < _MAX_LATE_BYTES:
            if not poller.poll(100):
                if ended.is_set():
                    break
                continue
            if not (data := _read(reading)):
                break
            output.feed(data)
            late += len(data) if ended.is_set() else 0
    finally:
        os.close(reading)
        output.close()


def _read(reading: int) -> bytes:
    """Return the next output; nothing if all writers have closed their side."""
    try:
        return os.read(reading, 65_536)
    except OSError as error:  # a pseudo-terminal has no other end
        if error.errno == errno.EIO:
            return b""
        raise
