"""The first screen of the interface as a file, so that the next start can paint it at once.

The interface writes the file after it has painted a screen that has none. The name of the file is
a checksum of everything that the screen depends on, so an outdated file is never read.
"""

import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from yourtool import __version__
from yourtool.early_prompt.line_editor import LineEditor, text_width

_VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TEXTUAL_COLOR_SYSTEM")
"""Variables that decide which colours are drawn; those of the program override its settings."""
_PROGRAM_VARIABLES = "YOURTOOL_"
_SEPARATOR = "\n"


class FirstScreen(NamedTuple):
    """The rows of the screen with an empty prompt, as text with colours, and the prompt in it."""

    top: int
    """The first row of the prompt with its border."""
    border: int
    """Rows of the border above the text."""
    column: int
    """The first column of the text."""
    width: int
    """The number of columns for text."""
    max_rows: int
    """The number of rows that the text can have."""
    left: str
    """The border left of a row of text."""
    right: str
    """The border right of a row of text."""
    text_style: str
    """The sequence that starts the colours of the text."""
    cursor_style: str
    """The sequence that starts the colours of the cursor."""
    rows: tuple[str, ...]

    def rows_with(self, editor: LineEditor) -> tuple[str, ...]:
        """Return the rows with a text in the prompt, which grows upwards."""
        if not editor.text:
            return self.rows
        content = [self._row(*line) for line in _lines(editor)]
        first = self.top + self.border
        above = self.rows[: self.top - len(content) + 1]
        return (*above, *self.rows[self.top : first], *content, *self.rows[first + 1 :])

    def _row(self, before: str, cursor: str, after: str) -> str:
        blank = " " * (self.width - text_width(before + cursor + after))
        drawn = f"{self.cursor_style}{cursor}\x1b[m" if cursor else ""
        rest = f"{self.text_style}{after}{blank}\x1b[m"
        return f"{self.left}\x1b[m{self.text_style}{before}\x1b[m{drawn}{rest}{self.right}\x1b[m"


def _lines(editor: LineEditor) -> Iterator[tuple[str, str, str]]:
    """Yield each line as the text before the cursor, the character under it, and the rest."""
    *above, before = editor.before.split("\n")
    after, *below = editor.after.split("\n")
    for line in above:
        yield line, "", ""
    yield before, after[:1] or " ", after[1:]
    for line in below:
        yield line, "", ""


def first_screen_file(columns: int, rows: int) -> Path:
    """Return the file for a size of the terminal, with the current settings."""
    home, cache = _directories()
    variables = {
        name: value
        for name, value in sorted(os.environ.items())
        if name in _VARIABLES or name.startswith(_PROGRAM_VARIABLES)
    }
    facts = (__version__, columns, rows, output_encoding(), variables, *_settings_files(home))
    return cache / "first-screens" / f"{zlib.crc32(repr(facts).encode()):08x}"


def output_encoding() -> str:
    """Return the encoding of standard output, also while Textual captures what is printed."""
    return sys.__stdout__.encoding.lower() if sys.__stdout__ is not None else ""


def load_first_screen(columns: int, rows: int) -> FirstScreen | None:
    """Read the first screen for a size of the terminal, None without a usable one."""
    try:
        parts = first_screen_file(columns, rows).read_bytes().decode().split(_SEPARATOR)
        top, border, column, width, max_rows = map(int, parts[:5])
        left, right, text_style, cursor_style, *painted = parts[5:]
    except (OSError, ValueError):
        return None
    if len(painted) != rows:
        return None
    return FirstScreen(
        top=top,
        border=border,
        column=column,
        width=width,
        max_rows=max_rows,
        left=left,
        right=right,
        text_style=text_style,
        cursor_style=cursor_style,
        rows=tuple(painted),
    )


def format_first_screen(screen: FirstScreen) -> str:
    """Return the content of the file."""
    return _SEPARATOR.join([*map(str, screen[:-1]), *screen.rows])


def _directories() -> tuple[Path, Path]:
    """Return the directories of the settings and of the cache, as `yourtool.paths` does.

    Its imports would take longer than everything else here.
    """
    if root := os.environ.get("YOURTOOL_HOME"):
        home = Path(root).expanduser().absolute()
        return home, home / "cache"
    home = Path.home() / ".yourtool"
    if sys.platform == "darwin":
        return home, Path.home() / "Library/Caches/yourtool"
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return home, (Path(cache) if cache else Path.home() / ".cache") / "yourtool"


def _settings_files(home: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, time and size of the files that choose and define the colours."""
    themes = home / "themes"
    try:
        files = sorted(themes.iterdir())
    except OSError:
        files = []
    for path in (home / "config.toml", *files):
        try:
            found = path.stat()
        except OSError:
            continue
        yield str(path), found.st_mtime_ns, found.st_size
