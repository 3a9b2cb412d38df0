"""Runs commands and ends all of their processes with them.

Each command runs in a separate session. On Linux, its processes are found by session and by a
marker in their environment, so daemons are ended too. A daemon that clears its environment is ended
by the guardian when this program ends. On other systems the process group is ended.
"""

import asyncio
import errno
import os
import secrets
import select
import signal
import sys
import threading
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from yourtool.environment import CALL
from yourtool.guardian import GRACE_SECONDS
from yourtool.tools.directory_opening import child_directory
from yourtool.tools.pseudo_terminal import PlainText, PseudoTerminal

_MAX_LIVE_CHARACTERS = 64_000
_MAX_LATE_BYTES = 2**20
_FIRST_POLL_SECONDS = 0.001
_MAX_POLL_SECONDS = 0.02
_SETTLE_SECONDS = 0.2
"""Time for processes that end just after the command, such as `tee` in `>(tee log)`."""


class ShellCommand(Struct, frozen=True):
    """A command with its working directory and environment."""

    arguments: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    opened_directory: int | None = None
    """The working directory as a descriptor, which decides if it is not at its path any more."""
    descriptors: tuple[int, ...] = ()
    """Open files that the process inherits."""
    owner: str = ""
    """The session, which marks its processes; `end_processes_of` finds them after a crash."""
    standard_input: int | None = None
    """A descriptor that it reads; None: it reads nothing."""
    is_contained: bool = False
    """Whether all of its processes end with the first one, which must not get SIGTERM."""


class ProcessExit(Struct, frozen=True):
    """The result of running a command."""

    code: int | None
    """The exit code; negative for a signal; None after a timeout."""
    seconds: float
    left_processes: bool = False
    """Whether processes that it had left running were ended."""


class OutputSink(Protocol):
    """Gets the output of a command, in a thread."""

    def feed(self, data: bytes) -> None:
        """Add the next bytes of output."""
        ...

    def close(self) -> None:
        """End the output."""
        ...


class LiveText:
    """Passes text from a thread to the event loop with a bounded buffer."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._emit = emit
        self._lock = threading.Lock()
        self._pending = ""

    def __call__(self, text: str) -> None:
        """Schedule `text` for display; only the latest part of a flood is displayed."""
        with self._lock:
            idle = not self._pending
            self._pending = (self._pending + text)[-_MAX_LIVE_CHARACTERS:]
        if idle:
            self._loop.call_soon_threadsafe(self._flush)

    def _flush(self) -> None:
        with self._lock:
            text, self._pending = self._pending, ""
        self._emit(text)


async def run_process(
    command: ShellCommand,
    output: OutputSink,
    *,
    errors: OutputSink | None = None,
    seconds: float | None,
    grace: float = GRACE_SECONDS,
    terminal: PseudoTerminal | None = None,
) -> ProcessExit:
    """Run a command until it exits, times out (`seconds`, None: no timeout) or is cancelled.

    `errors` gets its standard error; by default, `output` does. A `terminal` is closed at its end.
    Processes that it leaves running get SIGTERM after a moment, and SIGKILL `grace` seconds later.

    Raises:
        OSError: it could not be started.
    """
    started = time.monotonic()
    marker = f"{command.owner}.{secrets.token_hex(16)}"
    streams = _Streams(output, errors, terminal)
    given = DEVNULL if command.standard_input is None else command.standard_input
    try:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=given if terminal is None else streams.writing,
            stdout=streams.writing,
            stderr=streams.writing_errors,
            cwd=_find_entrance(command),
            env={**command.environment, CALL: marker},
            start_new_session=True,
            pass_fds=command.descriptors,
        )
    except BaseException:
        streams.close()
        raise
    finally:
        streams.close_writing()
    ended = threading.Event()
    pump = streams.pump(ended)
    in_time, left = True, False
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        in_time = False
    finally:
        spared = {process.pid} if command.is_contained else set[int]()
        ending = _finish(process, _Call(marker, spared, grace), pump, ended)
        try:
            left = await asyncio.shield(asyncio.ensure_future(ending))
        finally:
            if terminal is not None:
                terminal.close()
    return ProcessExit(process.returncode if in_time else None, time.monotonic() - started, left)


class _Streams:
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
        plain = None if self._terminal is None else PlainText()
        pumps = [
            asyncio.wrap_future(threads.submit(_pump_output, reading, sink, ended, plain))
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


def _find_entrance(command: ShellCommand) -> str | Path:
    if command.opened_directory is None:
        return command.directory
    return child_directory(command.opened_directory, command.directory)


class _Call(Struct, frozen=True):
    """How the processes of a command are found and ended."""

    marker: str
    spared: set[int]
    """They end by themselves when the others have ended, so they get no SIGTERM."""
    grace: float
    """Seconds between SIGTERM and SIGKILL."""


async def _finish(
    process: Process, call: _Call, pump: asyncio.Future[list[None]], ended: threading.Event
) -> bool:
    """End the processes of a command; return whether there were any besides those to spare."""
    left_processes = False
    marker, grace = call.marker, call.grace
    start = time.monotonic() + (0.0 if process.returncode is None else _SETTLE_SECONDS)
    deadline = start + grace
    terminated = set(call.spared)
    pause = _FIRST_POLL_SECONDS
    try:
        while pids := await asyncio.to_thread(_find_processes, process.pid, marker):
            now = time.monotonic()
            left_processes = left_processes or (now > start and bool(pids - call.spared))
            if now > deadline:
                _send_signal(pids, signal.SIGKILL)
            elif now > start:
                _send_signal(set(pids) - terminated, signal.SIGTERM)
                terminated.update(pids)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_POLL_SECONDS)
            if time.monotonic() > deadline + grace:
                break  # no permission to kill it, or it is in an uninterruptible wait
        else:
            await process.wait()
    except asyncio.CancelledError:  # this program exits
        _send_signal(_find_processes(process.pid, marker), signal.SIGKILL)
        raise
    finally:
        ended.set()
    await pump
    return left_processes


def end_processes_of(owner: str) -> None:
    """End the processes that a session left when its program and the guardian were killed; blocks.

    On other systems than Linux, nothing finds them.
    """
    deadline = time.monotonic() + GRACE_SECONDS
    number = signal.SIGTERM
    while sys.platform == "linux" and (pids := _find_marked(f"{CALL}={owner}.".encode())):
        if time.monotonic() > deadline:
            if number == signal.SIGKILL:
                return  # no permission to kill it, or it is in an uninterruptible wait
            number, deadline = signal.SIGKILL, time.monotonic() + GRACE_SECONDS
        _send_signal(pids, number)
        time.sleep(_MAX_POLL_SECONDS)


def _find_marked(start: bytes) -> set[int]:
    """Return the processes with a variable in their environment that starts so."""
    found = set[int]()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and any(
                each.startswith(start) for each in (entry / "environ").read_bytes().split(b"\0")
            ):
                found.add(int(entry.name))
    return found


def _send_signal(pids: set[int], number: signal.Signals) -> None:
    for pid in sorted(pids):  # a shell before its command, or it would start the next one
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _find_processes(leader: int, marker: str) -> set[int]:
    """Return the process ids of a call; a negative number is a process group."""
    if sys.platform != "linux":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, 0)
            return {-leader}
        return set()
    entry_marker = f"{CALL}={marker}".encode()
    return {
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _belongs_to_call(entry, leader, entry_marker)
    }


def _belongs_to_call(process: Path, leader: int, marker: bytes) -> bool:
    try:
        # The name can contain spaces and parentheses:
        # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
        fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
        state, session = fields[0], int(fields[3])
        if state in (b"Z", b"X"):
            return False
        return session == leader or marker in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _pump_output(
    reading: int, output: OutputSink, ended: threading.Event, plain: PlainText | None
) -> None:
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
            output.feed(data if plain is None else plain.feed(data))
            late += len(data) if ended.is_set() else 0
    finally:
        os.close(reading)
        if plain is not None:
            output.feed(plain.close())
        output.close()


def _read(reading: int) -> bytes:
    """Return the next output; nothing if all writers have closed their side."""
    try:
        return os.read(reading, 65_536)
    except OSError as error:  # a pseudo-terminal has no other end
        if error.errno == errno.EIO:
            return b""
        raise
