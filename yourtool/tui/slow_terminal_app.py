"""An app that paints no faster than the terminal reads.

Textual writes in a thread whose queue has a limit, at which the app waits. A terminal that was
stopped (Ctrl+S in a multiplexer, a lost connection) would stop the turn and its timeouts with it.
"""

import time
from math import inf
from typing import Any, cast

from rich.console import RenderableType
from textual.app import App
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from yourtool.tui.terminal import OutputDriver

_SECONDS = 0.05
"""Between two looks at whether the terminal has read the last frames."""


class SlowTerminalApp(App[None]):
    """Skips frames while the terminal has not read earlier ones, and paints all afterwards."""

    shown_since = -inf
    """When the terminal had read all again; infinite while frames are skipped."""
    is_covered = False
    """Whether the terminal shows the early prompt in place of the screen."""
    _waiting: Timer | None = None

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if not self.is_behind:
            super()._display(screen, renderable)
        elif self._waiting is None:
            self.shown_since = inf
            self._waiting = self.set_timer(_SECONDS, self._paint_again)

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
        return isinstance(self._driver, OutputDriver) and self._driver.is_behind


def get_shown_since(widget: Widget) -> float:
    """Return since when the terminal shows what a widget has painted; infinite: it does not."""
    app = cast("App[Any]", widget.app)
    return app.shown_since if isinstance(app, SlowTerminalApp) else -inf


def is_covered(screen: Screen[Any]) -> bool:
    """Return whether the terminal shows the early prompt in place of a screen."""
    app = cast("App[Any]", screen.app)
    return isinstance(app, SlowTerminalApp) and app.is_covered
