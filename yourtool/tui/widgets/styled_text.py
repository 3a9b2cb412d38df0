"""Widget for any number of styled lines."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial

from rich.segment import Segment
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from yourtool.tui.lines.slices import PAUSE_SECONDS
from yourtool.tui.lines.styled_lines import StyledLine
from yourtool.tui.theme.themes import get_palette

_ROWS_PER_SLICE = 500
"""Rows that are built at once; a timer builds the others."""
_MAX_WIDTHS = 2
"""Number of widths whose rows are cached."""


class StyledText(Widget):
    """Rows are built in slices, so that a very long text does not block the event loop.

    They are painted, with their colours, when they are visible.
    """

    DEFAULT_CSS = """
    StyledText { height: auto; }
    """

    def __init__(self, build_rows: Callable[[int], Iterator[StyledLine]] | None = None) -> None:
        """`build_rows` yields the rows for a width."""
        super().__init__()
        self._build_rows = build_rows
        self._rows_by_width: dict[int, _LazyRows] = {}
        """Rows by width: a layout uses the width with and without the scroll bar."""

    @property
    def is_complete(self) -> bool:
        """Whether all rows are built."""
        return all(rows.is_complete for rows in self._rows_by_width.values())

    def show(self, build_rows: Callable[[int], Iterator[StyledLine]]) -> None:
        """Show another text."""
        self._build_rows = build_rows
        self._rows_by_width.clear()
        self.refresh(layout=True)

    def rows(self, width: int) -> list[StyledLine]:
        """Return the rows for a width that are built so far; a timer builds the others."""
        if width not in self._rows_by_width:
            if len(self._rows_by_width) == _MAX_WIDTHS:
                del self._rows_by_width[next(iter(self._rows_by_width))]
            rows = _LazyRows(self._build_rows(width) if self._build_rows else iter(()))
            self._rows_by_width[width] = rows
            if not rows.is_complete:
                self.set_timer(PAUSE_SECONDS, partial(self._build_more, width, rows))
        return self._rows_by_width[width].lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return max(1, len(self.rows(width)))

    def render_line(self, y: int) -> Strip:
        """Paint one row."""
        width, rows = self.content_size.width, self.rows(max(1, self.content_size.width))
        style, base = get_palette(self.app.theme).style, self.rich_style
        row = rows[y] if 0 <= y < len(rows) else StyledLine(())
        segments = [Segment(text, base + style(name)) for text, name in row.painted_spans if text]
        fill = base + style(row.fill) if row.fill else base
        return Strip(segments).adjust_cell_length(width, fill).apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected rows as drawn."""
        rows = self.rows(max(1, self.content_size.width))
        return selection.extract("\n".join(row.text for row in rows)), "\n"

    def _build_more(self, width: int, rows: "_LazyRows") -> None:
        """Build more rows unless the width or the text has changed."""
        if self._rows_by_width.get(width) is not rows:
            return
        rows.build_slice()
        if not rows.is_complete:
            self.set_timer(PAUSE_SECONDS, partial(self._build_more, width, rows))
        self.refresh(layout=True)


class _LazyRows:
    """Rows for one width, built in slices."""

    def __init__(self, more: Iterator[StyledLine]) -> None:
        self.lines: list[StyledLine] = []
        self.is_complete = False
        self._more = more
        self.build_slice()

    def build_slice(self) -> None:
        """Build one slice."""
        before = len(self.lines)
        self.lines += itertools.islice(self._more, _ROWS_PER_SLICE)
        self.is_complete = len(self.lines) < before + _ROWS_PER_SLICE
