"""How the cost of a function grows with its input, measured in CPU time of the calling thread."""

import time
from collections.abc import Callable

_FLOOR = 0.004
"""Seconds; less is noise."""


def cpu_seconds(function: Callable[[], object]) -> float:
    """Return the CPU time that one call takes in this thread."""
    started = time.thread_time()
    function()
    return time.thread_time() - started


def growth(small: Callable[[], object], large: Callable[[], object], *, limit: float) -> float:
    """Return how many times as much CPU time `large` takes as `small`.

    Measured again, up to three times, as long as the result is above `limit`: other work on the
    machine makes single measurements too high, and never lets a quadratic function look linear.
    """
    ratios = [_ratio(small, large)]
    while min(ratios) > limit and len(ratios) < 3:
        ratios.append(_ratio(small, large))
    return min(ratios)


def _ratio(small: Callable[[], object], large: Callable[[], object]) -> float:
    return cpu_seconds(large) / max(_FLOOR, cpu_seconds(small))
