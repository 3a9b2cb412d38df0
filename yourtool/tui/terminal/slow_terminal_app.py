"""App for terminals that accept output slowly.

Textual writes in a thread whose queue has a limit, at which the app waits. A terminal that was
stopped (Ctrl+S in a multiplexer, a lost connection) would stop the turn and its timeouts with it.
"""

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Any, cast

from textual import events, on
from textual.app import App
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from yourtool.process.terminal_modes import Settings
from yourtool.tui.terminal.terminal import OutputDriver
from yourtool.tui.textual_internals.app import HookedApp

_SECONDS = 0.05
"""Between two looks at whether the terminal has read the last frames."""
_SECONDS_OF_KEYS = 0.1
"""How long keys are handled without a pause."""


class SlowTerminalApp(HookedApp):
    """Skips frames while the terminal has not read earlier ones, and paints all afterwards.

    So it does after a start until the typed keys are handled: the early prompt shows the same.
    """

    terminal: OutputDriver | None = None
    """None if nothing is drawn, as in tests."""
    take_keys: Callable[[], bytes] = bytes
    """Returns the bytes typed before the app reads keys; set before `run`."""
    shell_settings: Settings | None = None
    """The settings of the terminal for other programs; set before `run`."""
    shown_since = -inf
    """When the terminal had read all again; infinite while frames are skipped."""
    is_covered = False
    """Whether the terminal shows the early prompt in place of the screen."""
    _waiting: Timer | None = None
    _paused_at = 0.0

    def use_terminal(self, terminal: OutputDriver) -> None:
        """Draw on a terminal; called before it is started."""
        self.terminal = terminal
        terminal.is_early_prompt_shown = self.is_covered

    def write_to_terminal(self, sequence: str) -> None:
        """Write a sequence that draws nothing."""
        if self.terminal is not None:
            self.terminal.write(sequence)

    def replace_early_prompt(self) -> None:
        """Paint nothing before the typed keys are handled; call before `run`."""
        self.is_covered = True

    @on(events.DescendantFocus)
    def start_reading_keys(self) -> None:
        """Start reading keys once a widget has the focus and the first screen is painted."""
        if self.terminal is not None:
            self.call_after_refresh(self._start_reading, self.terminal)

    def _start_reading(self, terminal: OutputDriver) -> None:
        if not terminal.is_reading:
            self.before_reading()
            terminal.start_reading(self.take_keys)

    def before_reading(self) -> None:
        """Called when the first screen is painted, before the first key is read."""

    @on(OutputDriver.TypedAheadHandled)
    def show_after_typed_ahead(self) -> None:
        """Paint once the keys that were typed ahead have changed the layout."""
        self.call_after_refresh(self.call_after_refresh, self._uncover)

    def _uncover(self) -> None:
        if self.is_covered:
            self.is_covered = False
            self.refresh()

    @on(OutputDriver.ReadingFailed)
    def end_without_keys(self, failed: OutputDriver.ReadingFailed) -> None:
        """End the program with the error, because no key could end it."""
        raise failed.error

    async def pause_between_keys(self) -> None:
        """Let the event loop run now and then while thousands of keys arrive."""
        if time.monotonic() - self._paused_at > _SECONDS_OF_KEYS:
            await asyncio.sleep(0)
            self._paused_at = time.monotonic()

    def refresh_css(self, animate: bool = True) -> None:
        """Parse the style sheets again; before there is a screen, only set the colours."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:  # the first screen parses them
            self.stylesheet.set_variables(self.get_css_variables())

    def accepts_frame(self) -> bool:
        """Whether the terminal is ready for a frame; if not, all is painted when it is."""
        if self.is_covered or not self.is_behind:
            return not self.is_covered
        if self._waiting is None:
            self.shown_since = inf
            self._waiting = self.set_timer(_SECONDS, self._paint_again)
        return False

    def _paint_again(self) -> None:
        if self.is_behind:
            self._waiting = self.set_timer(_SECONDS, self._paint_again)
            return
        self._waiting = None
        self.screen.refresh()
        self.call_after_refresh(self._mark_shown)

    def _mark_shown(self) -> None:
        if self._waiting is None:
            self.shown_since = time.monotonic()

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has not read what was written last."""
        return self.terminal is not None and self.terminal.is_behind


def get_shown_since(widget: Widget) -> float:
    """Return since when the terminal shows what a widget has painted; infinite: it does not."""
    app = cast("App[Any]", widget.app)
    return app.shown_since if isinstance(app, SlowTerminalApp) else -inf


def is_covered(screen: Screen[Any]) -> bool:
    """Return whether the terminal shows the early prompt in place of a screen."""
    app = cast("App[Any]", screen.app)
    return isinstance(app, SlowTerminalApp) and app.is_covered
