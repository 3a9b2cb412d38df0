"""Detection of blocked event loops: every loop of the tests is one of `WatchedPolicy`.

A loop is blocked from the moment its selector returns until it calls the selector again. Only time
that the program itself causes counts, however busy the machine is:

- the CPU time of the loop's thread;
- where every look at the thread found it asleep in a system call, such as `nanosleep` or `read`,
  all the time, without what it waited for a processor;
- otherwise, all the time without what any thread waited for a processor: a thread that holds the
  interpreter lock without one keeps the loop waiting. Nothing counts while a new thread has not
  started, which needs only a processor, or while the program ends and the terminal has not read
  everything.

The waits are those in `schedstat` (https://docs.kernel.org/scheduler/sched-stats.html); where the
system has none, only CPU time counts. Full garbage collections are subtracted: their time depends
on all the tests that ran before, and the program freezes its objects.
"""

import asyncio
import gc
import os
import platform
import re
import selectors
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

LIMIT = 0.25
"""Seconds that a loop may be blocked at a time."""
_INTERVAL = 0.05
_TASKS = Path("/proc/self/task")
_LOCKS = {"x86_64": b"202", "aarch64": b"98"}.get(platform.machine(), b"")
"""The system call `futex`, in which threads wait for the interpreter lock."""
_STARTS_A_THREAD = "in start\n    self._started.wait()"
"""Part of the stack of `threading.Thread.start`."""
_ENDS_THE_OUTPUT = "in close\n    self._writer_thread.stop()"
"""Part of the stack in which the program ends after its terminal read everything."""
_TEST_RUNS_A_PROGRAM = re.compile(
    rf'File "{re.escape(str(Path(__file__).parent))}/.*\n.*\n.*subprocess.py", line \d+, in run\n'
)
"""Frames in which a test waits for git or another program, which waits for a processor."""


class LoopBlockedError(AssertionError):
    """The event loop was blocked for too long."""


class _Selector(selectors.DefaultSelector):
    """Records when its loop is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = self.tid = 0
        self.since: float | None = None
        """When the loop became busy; None if it is idle."""
        self.cpu = self.wait = 0.0
        self.collected = 0.0
        self.waits: dict[int, float] = {}
        self.looks = self.asleep = 0
        """How often the thread was sampled, and found in a system call."""
        self.stack = ""
        self._schedstat = -1
        """Stays open: the loop reads it before each round."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.end()
        try:
            return super().select(timeout)
        finally:
            self.begin()

    def close(self) -> None:
        watchdog.selectors.discard(self)
        if self._schedstat >= 0:
            os.close(self._schedstat)
            self._schedstat = -1
        super().close()

    def begin(self) -> None:
        """The loop has something to do."""
        if not self.thread:
            self.thread, self.tid = threading.get_ident(), threading.get_native_id()
            with suppress(OSError):
                self._schedstat = os.open(f"{_TASKS}/{self.tid}/schedstat", os.O_RDONLY)
        self.looks = self.asleep = 0
        self.stack = ""
        self.waits, self.collected = watchdog.waits, watchdog.collected
        self.wait, self.cpu = self._waited(), time.thread_time()
        self.since = time.monotonic()
        watchdog.look_at(self)

    def _waited(self) -> float:
        return _wait_in(os.pread(self._schedstat, 100, 0)) if self._schedstat >= 0 else 0.0

    def end(self) -> None:
        """The loop has done it."""
        since, self.since = self.since, None  # from here on it is not sampled
        if since is not None and (seconds := time.monotonic() - since) > LIMIT:
            watchdog.judge(self, seconds)


class _Watchdog:
    """Samples the threads of busy loops, and records those that are blocked for too long."""

    def __init__(self) -> None:
        self.selectors: set[_Selector] = set()
        self.waits: dict[int, float] = {}
        """By thread: how long it had waited for a processor at the last sample."""
        self.collected = 0.0
        """Seconds of full garbage collections."""
        self._collecting = 0.0
        self._blocked: list[str] = []
        self.note: Callable[[str], None] = self._blocked.append
        """Called with a report when a blocked loop is free again."""
        self._sampler: threading.Thread | None = None

    def look_at(self, selector: _Selector) -> None:
        """Sample a loop while it is busy."""
        self.selectors.add(selector)
        if self._sampler is None:
            self._sampler = threading.Thread(target=self._sample, name="watchdog", daemon=True)
            self._sampler.start()
            gc.callbacks.append(self._time_collection)

    def judge(self, selector: _Selector, seconds: float) -> None:
        """Record a loop, in its own thread, if it was blocked for too long."""
        seconds -= self.collected - selector.collected
        blocked = time.thread_time() - selector.cpu - (self.collected - selector.collected)
        is_excused = any(part in selector.stack for part in (_STARTS_A_THREAD, _ENDS_THE_OUTPUT))
        is_excused |= _TEST_RUNS_A_PROGRAM.search(selector.stack) is not None
        is_measured = (_TASKS / str(selector.tid) / "schedstat").exists()
        if selector.stack and is_measured and not is_excused:
            waited = _wait_of(selector.tid) - selector.wait
            if selector.asleep < selector.looks:
                waits = _waits(without=selector.tid).items()
                waited += sum(max(0.0, now - selector.waits.get(tid, 0.0)) for tid, now in waits)
            blocked = max(blocked, seconds - waited)
        if blocked > LIMIT:
            where = selector.stack or "(in one call that never released the interpreter lock)\n"
            self.note(f"blocked for {blocked * 1000:.0f} ms, in\n{where}")

    def take(self) -> tuple[str, ...]:
        """Return the reports since the last call."""
        blocked = tuple(self._blocked)
        del self._blocked[: len(blocked)]
        return blocked

    def _time_collection(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            if phase == "start":
                self._collecting = time.thread_time()
            else:
                self.collected += time.thread_time() - self._collecting

    def _sample(self) -> None:
        while True:
            time.sleep(_INTERVAL)
            if not self.selectors:
                continue
            self.waits = _waits()
            for selector in tuple(self.selectors):
                if (since := selector.since) is None:
                    continue
                asleep = _is_in_a_call(selector.tid)
                frame = sys._current_frames().get(selector.thread)
                if frame is not None and selector.since == since:
                    selector.looks += 1
                    selector.asleep += asleep
                    if time.monotonic() - since > LIMIT / 2 or not selector.stack:
                        selector.stack = _stack_of(frame)


def _wait_of(tid: int) -> float:
    """Return for how many seconds a thread has been ready without a processor."""
    with suppress(OSError, IndexError, ValueError):
        return _wait_in((_TASKS / str(tid) / "schedstat").read_bytes())
    return 0.0


def _wait_in(schedstat: bytes) -> float:
    return int(schedstat.split()[1]) / 1e9


def _waits(without: int = 0) -> dict[int, float]:
    try:
        threads = [int(path.name) for path in _TASKS.iterdir()]
    except OSError:
        return {}
    return {tid: _wait_of(tid) for tid in threads if tid != without}


def _is_in_a_call(tid: int) -> bool:
    """Whether a thread sleeps, and not for a lock."""
    with suppress(OSError):
        call = (_TASKS / str(tid) / "syscall").read_bytes().split(maxsplit=1)[0]
        return call not in (b"running", b"-1", _LOCKS)
    return False


def _stack_of(frame: FrameType) -> str:
    """Return the stack below the loop's own code; empty if it changed while it was read."""
    try:
        frames = traceback.extract_stack(frame)
    except AttributeError:  # the thread runs on, and its finished frames can be used again
        return ""
    own = [at for at, one in enumerate(frames) if one.name == "_run_once"]
    return "".join(traceback.format_list(frames[own[-1] + 1 if own else 0 :]))


watchdog = _Watchdog()


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._watched = _Selector()
        super().__init__(self._watched)

    def run_forever(self) -> None:
        self._watched.begin()
        try:
            super().run_forever()
        finally:
            self._watched.end()


class WatchedPolicy(asyncio.DefaultEventLoopPolicy):
    """Creates watched loops."""

    def _loop_factory(self) -> asyncio.AbstractEventLoop:
        return _Loop()


def fail_if_blocked() -> None:
    """Raise if a loop was blocked since the last call.

    Raises:
        LoopBlockedError: with the stack of what blocked it.
    """
    if blocked := watchdog.take():
        raise LoopBlockedError(f"The event loop was {'; and '.join(blocked)}")
