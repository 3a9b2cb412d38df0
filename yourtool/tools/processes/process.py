"""Commands and their processes.

Each command runs in a separate session. On Linux, its processes are found by session and by a
marker in their environment, so daemons are ended too. A daemon that clears its environment is ended
by the guardian when this program ends. On other systems the process group is ended.
"""

import asyncio
import os
import secrets
import signal
import sys
import threading
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.process.environment import CALL
from yourtool.process.guardian import GRACE_SECONDS
from yourtool.tools.processes.output_streams import OutputSink, Streams
from yourtool.tools.processes.pseudo_terminal import PseudoTerminal
from yourtool.tools.processes.terminal_text import apply_erasures
from yourtool.tools.workspace.directory_opening import child_directory

_MAX_LIVE_CHARACTERS = 64_000
_FIRST_POLL_SECONDS = 0.001
_MAX_POLL_SECONDS = 0.02
_SETTLE_SECONDS = 0.2
"""Time for processes that end just after the command, such as `tee` in `>(tee log)`."""


StandardStreams: TypeAlias = tuple[int, int, int]
"""The descriptors that a process gets as its input, output and errors."""


class StartedProcess(Protocol):
    """A process with all that it starts."""

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal; None while it runs, and if it was stopped."""
        ...

    async def wait(self) -> int | None:
        """Wait until it ends, and return its exit code."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        ...

    async def finish(self) -> bool:
        """End what is left of it, and return whether the command left anything running."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to all of it."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class ProcessStarter(Protocol):
    """Starts processes at another place, such as a sandbox."""

    async def start(
        self, command: "ShellCommand", streams: StandardStreams, grace: float
    ) -> StartedProcess:
        """Start a command; `grace`: the seconds between SIGTERM and SIGKILL at its end.

        Raises:
            OSError: it could not be started.
        """
        ...


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
    starter: ProcessStarter | None = None
    """What starts it; None: this program does."""
    is_lasting: bool = False
    """Whether it is meant to run on while nothing waits for it."""


class ProcessExit(Struct, frozen=True):
    """The result of running a command."""

    code: int | None
    """The exit code; negative for a signal; None after a timeout."""
    seconds: float
    left_processes: bool = False
    """Whether processes that it had left running were ended."""


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
            self._pending = apply_erasures(self._pending + text)[-_MAX_LIVE_CHARACTERS:]
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
    streams = Streams(output, errors, terminal)
    command = replace(command, environment={**command.environment, CALL: marker})
    try:
        with _opened_input(command, terminal) as given:
            files = (given, streams.writing, streams.writing_errors)
            process = await (command.starter or _DirectStarter()).start(command, files, grace)
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
        try:
            left = await asyncio.shield(asyncio.ensure_future(_finish(process, pump, ended)))
        finally:
            if terminal is not None:
                terminal.close()
    return ProcessExit(process.returncode if in_time else None, time.monotonic() - started, left)


@contextmanager
def _opened_input(
    command: ShellCommand, terminal: PseudoTerminal | None
) -> Generator[int, None, None]:
    """Yield the descriptor of the input: the terminal, what was given, or nothing to read."""
    if terminal is not None:
        yield terminal.program_side
    elif command.standard_input is not None:
        yield command.standard_input
    else:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing.fileno()


async def _finish(
    process: StartedProcess, pump: asyncio.Future[list[None]], ended: threading.Event
) -> bool:
    """End the processes of a command, and read their last output; return if it left any."""
    try:
        left = await process.finish()
    except asyncio.CancelledError:  # this program exits
        process.kill()
        raise
    finally:
        ended.set()
    await pump
    return left


class _DirectStarter:
    """Starts processes of this program; a `ProcessStarter`."""

    async def start(
        self, command: ShellCommand, streams: StandardStreams, grace: float
    ) -> StartedProcess:
        given, output, errors = streams
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=given,
            stdout=output,
            stderr=errors,
            cwd=_find_entrance(command),
            env=dict(command.environment),
            start_new_session=True,
            pass_fds=command.descriptors,
        )
        return _DirectProcess(process, command.environment[CALL], grace)


def _find_entrance(command: ShellCommand) -> str | Path:
    if command.opened_directory is None:
        return command.directory
    return child_directory(command.opened_directory, command.directory)


class _DirectProcess:
    """A process of this program, whose others are found by its session and by a marker."""

    def __init__(self, process: Process, marker: str, grace: float) -> None:
        self._process = process
        self._marker = marker
        self._grace = grace

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self) -> int | None:
        return await self._process.wait()

    @property
    def has_ended(self) -> bool:
        return self.returncode is not None

    def terminate(self) -> None:
        _send_signal(_find_processes(self._process.pid, self._marker), signal.SIGTERM)

    async def finish(self) -> bool:
        left_processes = False
        start = time.monotonic() + (0.0 if self.returncode is None else _SETTLE_SECONDS)
        deadline = start + self._grace
        terminated = set[int]()
        pause = _FIRST_POLL_SECONDS
        while pids := await asyncio.to_thread(_find_processes, self._process.pid, self._marker):
            now = time.monotonic()
            left_processes = left_processes or now > start
            if now > deadline:
                _send_signal(pids, signal.SIGKILL)
            elif now > start:
                _send_signal(pids - terminated, signal.SIGTERM)
                terminated.update(pids)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_POLL_SECONDS)
            if time.monotonic() > deadline + self._grace:
                return left_processes  # no permission to kill it, or it waits uninterruptibly
        await self._process.wait()
        return left_processes

    def kill(self) -> None:
        _send_signal(_find_processes(self._process.pid, self._marker), signal.SIGKILL)


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
