"""Stored first screen of the interface.

The interface writes the file after it has painted a screen without a file. The name of the file is
a checksum of everything that the screen depends on, so an outdated file is never read.
"""

import os
import sys
import zlib
from collections.abc import Iterator

from yourtool import __version__
from yourtool.process.early_prompt.line_editor import LineEditor, text_width

_VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TEXTUAL_COLOR_SYSTEM")
"""Variables that decide which colours are drawn; ours override the settings."""
_PROGRAM_VARIABLES = "YOURTOOL_"
_SEPARATOR = "\n"
_MAX_BYTES = 1 << 20


class FirstScreen:
    """The rows of the screen with an empty prompt, as text with colours, and the prompt in it.

    `place` is the first row of the prompt and the number of rows of its border above the text,
    `width` the number of columns for text, and `max_rows` the number of rows that the text can
    have. `styles` are the borders left and right of a row of text, and the sequences that start the
    colours of the text and of the cursor.
    """

    def __init__(
        self,
        place: tuple[int, int],
        width: int,
        max_rows: int,
        styles: tuple[str, str, str, str],
        rows: tuple[str, ...],
    ) -> None:
        self.width = width
        self.max_rows = max_rows
        self.rows = rows
        self._top, self._border = place
        self._left, self._right, self._text_style, self._cursor_style = styles

    def __str__(self) -> str:
        """Return the content of the file."""
        numbers = (self._top, self._border, self.width, self.max_rows)
        styles = (self._left, self._right, self._text_style, self._cursor_style)
        return _SEPARATOR.join([*map(str, numbers), *styles, *self.rows])

    def rows_with(self, editor: LineEditor) -> tuple[str, ...]:
        """Return the rows with a text in the prompt, which grows upwards.

        After a resize the text can be too long: then its end is shown.
        """
        if not editor.text:
            return self.rows
        content = [self._row(*line) for line in _lines(editor)][-self.max_rows :]
        first = self._top + self._border
        above = self.rows[: self._top - len(content) + 1]
        return (*above, *self.rows[self._top : first], *content, *self.rows[first + 1 :])

    def _row(self, before: str, cursor: str, after: str) -> str:
        blank = " " * (self.width - text_width(before + cursor + after))
        drawn = f"{self._cursor_style}{cursor}\x1b[m" if cursor else ""
        rest = f"{self._text_style}{after}{blank}\x1b[m"
        return f"{self._left}\x1b[m{self._text_style}{before}\x1b[m{drawn}{rest}{self._right}\x1b[m"


def _lines(editor: LineEditor) -> Iterator[tuple[str, str, str]]:
    """Yield each line as the text before the cursor, the character under it, and the rest."""
    *above, before = editor.before.split("\n")
    after, *below = editor.after.split("\n")
    for line in above:
        yield line, "", ""
    yield before, after[:1] or " ", after[1:]
    for line in below:
        yield line, "", ""


def first_screen_file(columns: int, rows: int) -> str:
    """Return the file for a size of the terminal, with the current settings."""
    home, cache = _directories()
    variables = {
        name: value
        for name, value in sorted(os.environ.items())
        if name in _VARIABLES or name.startswith(_PROGRAM_VARIABLES)
    }
    facts = (__version__, columns, rows, output_encoding(), variables, *_settings_files(home))
    return f"{cache}/first-screens/{zlib.crc32(repr(facts).encode()):08x}"


def output_encoding() -> str:
    """Return the encoding of standard output, also while Textual captures what is printed."""
    return sys.__stdout__.encoding.lower() if sys.__stdout__ is not None else ""


def load_first_screen(columns: int, rows: int) -> FirstScreen | None:
    """Read the first screen for a size of the terminal, None if no valid file exists."""
    try:
        parts = _read(first_screen_file(columns, rows)).decode().split(_SEPARATOR)
        top, border, width, max_rows = map(int, parts[:4])
        left, right, text_style, cursor_style, *painted = parts[4:]
    except (OSError, ValueError):
        return None
    if len(painted) != rows:
        return None
    styles = (left, right, text_style, cursor_style)
    return FirstScreen((top, border), width, max_rows, styles, tuple(painted))


def _read(file: str) -> bytes:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)


def _directories() -> tuple[str, str]:
    """Return the directories of the settings and of the cache, as `yourtool.paths` does.

    Its imports, and `pathlib`, would take longer than everything else here.
    """
    user = os.path.expanduser("~")  # noqa: PTH111 - see the docstring
    if root := os.environ.get("YOURTOOL_HOME"):
        home = os.path.abspath(user + root[1:] if root.startswith("~/") else root)  # noqa: PTH100 - see the docstring
        return home, f"{home}/cache"
    home = f"{user}/.yourtool"
    if sys.platform == "darwin":
        return home, f"{user}/Library/Caches/yourtool"
    return home, f"{os.environ.get('XDG_CACHE_HOME', '').strip() or f'{user}/.cache'}/yourtool"


def _settings_files(home: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, time and size of the files that choose and define the colours."""
    try:
        with os.scandir(f"{home}/themes") as entries:
            themes = sorted(entry.path for entry in entries)
    except OSError:
        themes = []
    for path in (f"{home}/config.toml", *themes):
        try:
            found = os.stat(path)  # noqa: PTH116 - `pathlib` is slow to import
        except OSError:
            continue
        yield path, found.st_mtime_ns, found.st_size
