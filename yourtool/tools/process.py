"""Programs that leave nothing behind: each has a session of its own and is ended with all it began.

On Linux whatever a program started is found by its session and by a mark in its environment, so
daemons are ended too; one that also cleared its environment is ended with the program, by its
guardian. Elsewhere the process group is ended.
"""

import asyncio
import os
import secrets
import select
import signal
import sys
import threading
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.environment import CALL
from yourtool.guardian import GRACE_SECONDS
from yourtool.tools.output import Output

_LIVE = 64_000
_LATE = 2**20
_POLL_SECONDS = 0.02


class ShellCommand(Struct, frozen=True):
    """What to start."""

    arguments: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]


class ProcessExit(Struct, frozen=True):
    """How a program ended."""

    code: int | None
    """The exit status; negative for a signal; None: its time was up."""
    seconds: float


class Live:
    """Passes text from a thread to the event loop, never queueing more than a screen shows."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._emit = emit
        self._lock = threading.Lock()
        self._pending = ""

    def __call__(self, text: str) -> None:
        """Show `text` soon; under a flood only the latest is shown."""
        with self._lock:
            idle = not self._pending
            self._pending = (self._pending + text)[-_LIVE:]
        if idle:
            self._loop.call_soon_threadsafe(self._flush)

    def _flush(self) -> None:
        with self._lock:
            text, self._pending = self._pending, ""
        self._emit(text)


async def run(
    command: ShellCommand, output: Output, *, seconds: float | None, grace: float = GRACE_SECONDS
) -> ProcessExit:
    """Run a program to its end, or until its time is up (None: never) or the call is cancelled.

    It has no terminal and an empty standard input. Whatever it leaves running is ended with it:
    asked first, killed `grace` seconds later.

    Raises:
        OSError: it could not be started.
    """
    started = time.monotonic()
    mark = secrets.token_hex(16)
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd=command.directory,
            env={**command.environment, CALL: mark},
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    ended = threading.Event()
    pump = asyncio.ensure_future(asyncio.to_thread(_pump, reading, output, ended))
    in_time = True
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        in_time = False
    finally:
        await asyncio.shield(asyncio.ensure_future(_finish(process, mark, grace, pump, ended)))
    return ProcessExit(process.returncode if in_time else None, time.monotonic() - started)


async def _finish(
    process: Process,
    mark: str,
    grace: float,
    pump: asyncio.Future[None],
    ended: threading.Event,
) -> None:
    patience = time.monotonic() + grace
    asked = set[int]()
    try:
        while pids := await asyncio.to_thread(_survivors, process.pid, mark):
            if time.monotonic() > patience:
                _send(pids, signal.SIGKILL)
            else:
                _send(set(pids) - asked, signal.SIGTERM)
                asked.update(pids)
            await asyncio.sleep(_POLL_SECONDS)
            if time.monotonic() > patience + grace:
                break  # not ours to kill, or in an uninterruptible wait
        else:
            await process.wait()
    except asyncio.CancelledError:  # the program ends
        _send(_survivors(process.pid, mark), signal.SIGKILL)
        raise
    finally:
        ended.set()
    await pump


def _send(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _survivors(leader: int, mark: str) -> set[int]:
    """Return the processes of a call; a negative number stands for a group."""
    if sys.platform != "linux":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, 0)
            return {-leader}
        return set()
    wanted = f"{CALL}={mark}".encode()
    return {
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _belongs(entry, leader, wanted)
    }


def _belongs(process: Path, leader: int, mark: bytes) -> bool:
    try:
        # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: the name may hold anything.
        fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
        state, session = fields[0], int(fields[3])
        if state in (b"Z", b"X"):
            return False
        return session == leader or mark in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _pump(reading: int, output: Output, ended: threading.Event) -> None:
    """Collect what is printed until nobody can print any more, or nobody who counts."""
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    late = 0
    try:
        while late < _LATE:
            if not poller.poll(100):
                if ended.is_set():
                    break
                continue
            if not (data := os.read(reading, 65_536)):
                break
            output.feed(data)
            late += len(data) if ended.is_set() else 0
    finally:
        os.close(reading)
        output.close()
