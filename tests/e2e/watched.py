"""Runs the program with a watched event loop, and writes what blocks it to a file.

`Terminal` starts it instead of `yourtool`; the program itself is the same.
"""

import asyncio
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from yourtool import __main__ as program
from yourtool.process.early_prompt.handover import Handover

FILE = os.environ.pop("BLOCKED_LOOPS", "")
"""Reports of blocked loops are appended to this file."""


def watched(run: Callable[[Handover | None], int]) -> Callable[[Handover | None], int]:
    """Return `run` with watched loops in its process, the innermost of three."""

    def run_watched(handover: Handover | None) -> int:
        loops = import_module("tests.loop_watchdog")
        loops.watchdog.note = _write
        asyncio.set_event_loop_policy(loops.WatchedPolicy())
        return run(handover)

    return run_watched


def _write(blocked: str) -> None:
    with Path(FILE).open("a") as file:
        file.write(f"{blocked}\n")


if __name__ == "__main__":
    program.run = watched(program.run)
    program.main()
