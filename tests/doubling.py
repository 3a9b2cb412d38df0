"""Measures how the cost of some work grows with its input, in CPU time instead of wall time."""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

FACTOR = 8
LINEAR = 36
"""A limit well above the factor, for noise, and well below its square."""
_ENOUGH = 0.002
_SHORT = 0.004
_MOST = 5.0


def growth(work: Callable[[Any], object], sized: Callable[[int], Any], start: int = 250) -> float:
    """Return how much longer `work` takes for an input that is `FACTOR` times as long.

    The size starts small, so that work which grows too fast still ends soon.
    """
    size = start
    while (small := _seconds(work, sized(size))) < _ENOUGH and size < 2_000_000:
        size *= 2
    assert small < _MOST, f"{small:.1f} s for an input of size {size}"
    small = min(small, *(_seconds(work, sized(size)) for _ in range(2)))
    large = sized(FACTOR * size)
    ratio = _seconds(work, large) / small
    for _ in range(6):  # the caches of a busy machine are slow for the larger input
        if ratio <= LINEAR:
            break
        ratio = min(ratio, _seconds(work, large) / small)
    return ratio


def cpu_seconds(function: Callable[[], object]) -> float:
    """Return the CPU time that one call takes."""
    gc.disable()
    try:
        started = time.process_time()
        function()
        return time.process_time() - started
    finally:
        gc.enable()


def _seconds(work: Callable[[Any], object], given: Any) -> float:
    return cpu_seconds(lambda: work(given))


def ratio(capped: Callable[[], object], whole: Callable[[], object], *, limit: float) -> float:
    """Return how many times as long `whole` takes as `capped`, for work on a capped part of both.

    It does not show how cost grows: less than 4 ms counts as 4 ms. Measured again up to three
    times as long as the result is above `limit`.
    """
    ratios = list[float]()
    while len(ratios) < 3 and (not ratios or min(ratios) > limit):
        ratios.append(cpu_seconds(whole) / max(_SHORT, cpu_seconds(capped)))
    return min(ratios)


def steps(function: Callable[[], object]) -> int:
    """Return how many lines of Python one call runs; a call into C counts as one."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
