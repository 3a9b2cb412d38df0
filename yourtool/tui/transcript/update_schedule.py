"""Update times of widgets.

A widget updates often while text streams, in slices that do not delay keys.
"""

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from yourtool.tui.lines.slices import PAUSE_SECONDS, SLICE_SECONDS

FLUSHES_PER_SECOND = 12
"""Updates of the screen per second while a reply streams."""
_PAUSE_PER_LAYOUT = 10
"""Minimum time between two updates, as a multiple of the time that the layout took.

A reply that arrives faster than anyone reads is painted less often, and ends sooner.
"""


class UpdateSchedule:
    """Lays out and paints the changes of a widget; no timer runs while nothing changes.

    `lay_out` works on changes until a time; those that `has_changes` then still reports are left
    for the next slice.
    """

    def __init__(
        self,
        widget: Widget,
        *,
        has_changes: Callable[[], bool],
        lay_out: Callable[[float], None],
        paint: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._widget = widget
        self._has_changes = has_changes
        self._lay_out = lay_out
        self._paint = paint
        self._clock = clock
        self._painted_at = 0.0
        self._interval = 1 / FLUSHES_PER_SECOND
        """Seconds between two updates."""
        self._layout_seconds = 0.0
        """Time that the layout took since the last update."""
        self._is_flush_queued = False
        self._timer: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a timer runs until the next flush."""
        return self._timer is not None

    def request(self, *, at_once: bool = False) -> None:
        """Flush soon, or after the events that are queued now."""
        if self._is_flush_queued or (self._timer is not None and not at_once):
            return
        wait = self._painted_at + self._interval - self._clock()
        if not self._widget.is_mounted:
            return
        if at_once or wait <= 0:
            self._is_flush_queued = True
            self._widget.call_next(self.flush)
        else:
            self._timer = self._widget.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Lay out and paint what changed.

        A layout that takes too long continues with a timer, so that keys are not delayed. Painting
        waits for it, but not longer than the time between two flushes.
        """
        self._is_flush_queued = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._has_changes():
            return
        now = self._clock()
        self._lay_out(now + SLICE_SECONDS)
        self._layout_seconds += self._clock() - now
        is_partial = self._has_changes()
        if not is_partial or now > self._painted_at + self._interval:
            self._painted_at = now
            self._interval = max(1 / FLUSHES_PER_SECOND, _PAUSE_PER_LAYOUT * self._layout_seconds)
            self._layout_seconds = 0.0
            self._paint()
        if is_partial:
            self._timer = self._widget.set_timer(PAUSE_SECONDS, self.flush)


class Ticker:
    """Calls a function at an interval while something on the screen shows a time."""

    def __init__(self, widget: Widget, tick: Callable[[], None]) -> None:
        self._widget = widget
        self._tick = tick
        self._timer: Timer | None = None
        self._seconds = 0.0

    @property
    def is_running(self) -> bool:
        """Whether the timer runs."""
        return self._timer is not None

    def start(self, seconds: float) -> None:
        """Call the function at an interval in seconds."""
        if self._timer is None or self._seconds != seconds:
            self.stop()
            self._seconds = seconds
            self._timer = self._widget.set_interval(seconds, self._tick)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
