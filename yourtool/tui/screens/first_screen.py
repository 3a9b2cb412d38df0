"""Stored first screen for the early prompt."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.segment import Segment
from textual.screen import Screen
from textual.strip import Strip

from yourtool.foundation.files import path_exists, replace_file
from yourtool.process.early_prompt.first_screen import (
    FirstScreen,
    first_screen_file,
    output_encoding,
)
from yourtool.tui.textual_internals.painting import render_screen
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.widgets.prompt import Prompt

MAX_FILES = 24
"""Maximum number of files: one for each size of the window and each change of the settings."""

_log = logging.getLogger(__name__)


class FirstScreenStore:
    """The screen to store for the early prompt of the next start."""

    def __init__(self) -> None:
        self._taken: tuple[Path, FirstScreen] | None = None

    def take(self, screen: Screen[Any], console: Console) -> None:
        """Take the screen as it is painted now if the early prompt did not have it."""
        prompt = screen.query_one(Prompt)
        space = screen.query_one(Transcript).size.height - 1
        if (file := find_missing_file(screen, prompt)) is not None:
            self._taken = file, get_first_screen(screen, prompt, space, console)

    async def write(self) -> None:
        """Write the screen that was taken."""
        if self._taken is not None:
            await asyncio.to_thread(write_first_screen, *self._taken)
            self._taken = None


def find_missing_file(screen: Screen[Any], prompt: Prompt) -> Path | None:
    """Return the file of this screen if it does not exist, and if the screen can be stored now."""
    scrolls = screen.max_scroll_y > 0  # on a very small screen
    if prompt.text or not prompt.has_focus or scrolls or output_encoding() != "utf-8":
        return None
    file = Path(first_screen_file(*screen.size))
    return None if path_exists(file) else file


def get_first_screen(
    screen: Screen[Any], prompt: Prompt, space: int, console: Console
) -> FirstScreen:
    """Return the screen as it is painted now; `space` is the number of free rows above the prompt.

    The prompt must be empty, with the cursor in its first cell.
    """
    strips = render_screen(screen)
    box, content = prompt.region, prompt.content_region
    row = strips[content.y]
    largest = box.height
    if prompt.styles.max_height is not None:
        largest = int(prompt.styles.max_height.resolve(screen.size, screen.size))
    text = Strip([Segment("x", prompt.rich_style)])
    for line_filter in prompt.get_line_filters():
        text = text.apply_filter(line_filter, prompt.background_colors[1])
    return FirstScreen(
        place=(box.y, content.y - box.y),
        width=content.width,
        max_rows=min(1 + space, largest - (box.height - content.height)),
        styles=(
            row.crop(0, content.x).render(console),
            row.crop(content.right).render(console),
            _start(text, console),
            _start(row.crop(content.x, content.x + 1), console),
        ),
        rows=tuple(strip.render(console) for strip in strips),
    )


def write_first_screen(file: Path, screen: FirstScreen) -> None:
    """Write the file, and delete the oldest ones if there are too many."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = sorted(file.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        replace_file(file, str(screen).encode())
        for path in others[: max(0, len(others) + 1 - MAX_FILES)]:
            path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("the first screen cannot be stored: %s", error)


def _start(strip: Strip, console: Console) -> str:
    """Return the sequence that starts the style of a strip's first cell."""
    return strip.render(console).partition(strip.text)[0]
