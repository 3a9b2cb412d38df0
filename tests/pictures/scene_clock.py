"""A clock that only the script moves, for the package and nothing else."""

import sys
import time


class SceneClock:
    """Replaces `time.monotonic` and `time.perf_counter`: `yourtool` sees the time of the script.

    The event loop and the toolkit get the real time, so that their timers run.
    """

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self._real = time.monotonic

    def __call__(self) -> float:
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        return self.seconds if caller.partition(".")[0] == "yourtool" else self._real()

    def install(self) -> None:
        """Replace the clocks; call it before the package is imported, which binds them."""
        time.monotonic = time.perf_counter = self
