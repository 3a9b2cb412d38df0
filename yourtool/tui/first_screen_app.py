"""The first screen of the app: it replaces the early prompt, and is stored for the next start."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual import events, on
from textual.driver import Driver
from textual.screen import Screen

from yourtool.early_prompt.first_screen import FirstScreen
from yourtool.terminal_modes import Settings
from yourtool.tui.first_screen import find_missing_file, get_first_screen, write_first_screen
from yourtool.tui.slow_terminal_app import SlowTerminalApp
from yourtool.tui.terminal import OutputDriver
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.widgets.prompt import Prompt

_SECONDS_OF_KEYS = 0.1
"""How long keys are handled without a pause."""


class FirstScreenApp(SlowTerminalApp):
    """Paints first, then reads keys, beginning with those that were typed before."""

    take_keys: Callable[[], bytes] = bytes
    """Returns the bytes typed before the app reads keys; set before `run`."""
    shell_settings: Settings | None = None
    """The settings of the terminal for other programs; set before `run`."""
    _first_screen: tuple[Path, FirstScreen] | None = None
    """The screen to store for the early prompt of the next start, and its file."""
    _paused_at = 0.0

    def replace_early_prompt(self) -> None:
        """Paint nothing before the typed keys are handled; call before `run`.

        Until then the terminal shows the early prompt, which shows the same.
        """
        self.is_covered = True

    async def store_first_screen(self) -> None:
        """Write the first screen if the early prompt did not have it."""
        if self._first_screen is not None:
            await asyncio.to_thread(write_first_screen, *self._first_screen)
            self._first_screen = None

    @on(events.DescendantFocus)
    def start_reading_keys(self) -> None:
        """Start reading keys once a widget has the focus and the first screen is painted."""
        if isinstance(self._driver, OutputDriver):
            self.call_after_refresh(self._start_reading, self._driver)

    def _start_reading(self, driver: OutputDriver) -> None:
        if not driver.is_reading:
            screen, prompt = self.screen, self.screen.query_one(Prompt)
            if (file := find_missing_file(screen, prompt)) is not None:
                space = screen.query_one(Transcript).size.height - 1
                first_screen = get_first_screen(screen, prompt, space, self.console)
                self._first_screen = file, first_screen
            driver.start_reading(self.take_keys)

    async def pause_between_keys(self) -> None:
        """Let the event loop run now and then while thousands of keys arrive."""
        if time.monotonic() - self._paused_at > _SECONDS_OF_KEYS:
            await asyncio.sleep(0)
            self._paused_at = time.monotonic()

    @on(OutputDriver.ReadingFailed)
    def end_without_keys(self, failed: OutputDriver.ReadingFailed) -> None:
        """End the program with the error, because no key could end it."""
        raise failed.error

    @on(OutputDriver.TypedAheadHandled)
    def show_after_typed_ahead(self) -> None:
        """Paint once the keys that were typed ahead have changed the layout."""
        self.call_after_refresh(self.call_after_refresh, self._replace_early_prompt)

    def _replace_early_prompt(self) -> None:
        if self.is_covered:
            self.is_covered = False
            self.refresh()

    def _build_driver(self, *arguments: Any, **options: Any) -> Driver:
        driver = super()._build_driver(*arguments, **options)
        if isinstance(driver, OutputDriver):
            driver.is_early_prompt_shown = self.is_covered
        return driver

    def refresh_css(self, animate: bool = True) -> None:
        """Parse the style sheets again; before there is a screen, only set the colours."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:  # the first screen parses them
            self.stylesheet.set_variables(self.get_css_variables())

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if not self.is_covered:
            super()._display(screen, renderable)
