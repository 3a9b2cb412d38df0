"""The preview of an approval prompt: the complete command, change or arguments."""

import itertools
from collections.abc import Iterable, Iterator
from functools import partial

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.errors import NoWidget
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from yourtool.effects import Confirmation
from yourtool.text import escape_line_pieces
from yourtool.tui.approval_text import approval_details, argument_lines
from yourtool.tui.diff import approval_pieces, diff_lines
from yourtool.tui.slices import PAUSE_SECONDS
from yourtool.tui.styled_lines import StyledLine, iter_lines, wrap_pieces

_STYLE_CLASSES = (
    ("diff.added", "preview--added"),
    ("diff.removed", "preview--removed"),
    ("diff.", "preview--quiet"),
    ("quiet", "preview--quiet"),
)
_BAR, _CONTINUATION = "│ ", "  "
"""Prefixes of the first row of a line and of its continuation rows.

Quoted text never reaches these columns, so it cannot imitate the text of the approval prompt.
"""
_ABOUT_INDENT = "    "
_VISIBLE_SPACE = "␠"
_ROWS_PER_SLICE = 500
"""Rows that are built at once; a timer builds the others."""
_MAX_WIDTHS = 2
"""Number of widths whose rows are cached."""


class PreviewText(Widget):
    """The complete text of a preview; the container scrolls.

    Rows are built in slices, so that a very long text does not block the event loop, and painted
    when they are visible.
    """

    DEFAULT_CSS = """
    PreviewText {
        height: auto;
        .preview--added { color: $text-success; background: $success-muted; }
        .preview--removed { color: $text-error; background: $error-muted; }
        .preview--quiet { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"preview--added", "preview--removed", "preview--quiet"}  # noqa: RUF012 - Textual's form

    def __init__(self) -> None:
        super().__init__()
        self._confirmation: Confirmation | None = None
        self._rows_by_width: dict[int, _LazyRows] = {}
        """Rows by width: a layout uses the width with and without the scroll bar."""

    @property
    def is_complete(self) -> bool:
        """Whether all rows are built."""
        return all(rows.is_complete for rows in self._rows_by_width.values())

    def show(self, question: Confirmation) -> None:
        """Show the preview of a request."""
        self._confirmation = question
        self._rows_by_width.clear()
        self.refresh(layout=True)

    def rows(self, width: int) -> list[StyledLine]:
        """Return the rows for a width that are built so far; a timer builds the others."""
        if width not in self._rows_by_width:
            if len(self._rows_by_width) == _MAX_WIDTHS:
                del self._rows_by_width[next(iter(self._rows_by_width))]
            question = self._confirmation
            rows = _LazyRows(preview_rows(question, width) if question else iter(()))
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
        content = self._content(rows[y], width) if 0 <= y < len(rows) else Content("")
        strips = Visual.to_strips(self, content, width, 1, self.visual_style, apply_selection=False)
        strip = strips[0] if strips else Strip([])
        return strip.adjust_cell_length(width, self.visual_style.rich_style).apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected rows as drawn."""
        rows = self.rows(max(1, self.content_size.width))
        return selection.extract("\n".join(row.text for row in rows)), "\n"

    def _build_more(self, width: int, rows: "_LazyRows") -> None:
        """Build more rows unless the width or the request has changed."""
        if self._rows_by_width.get(width) is not rows:
            return
        rows.build_slice()
        if not rows.is_complete:
            self.set_timer(PAUSE_SECONDS, partial(self._build_more, width, rows))
        self.refresh(layout=True)

    def _content(self, row: StyledLine, width: int) -> Content:
        pieces = [Content(text).stylize(self._style_for(style)) for text, style in row.spans]
        content = Content.assemble(*pieces)
        if row.fill:
            fill = self._style_for(row.fill)
            content = content.pad_right(max(0, width - content.cell_length))
            content = content.stylize_before(fill, len(_BAR))
        return content

    def _style_for(self, style: str) -> Style | str:
        for prefix, name in _STYLE_CLASSES:
            if style.startswith(prefix):
                return self.get_visual_style(name)
        return ""


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


class PreviewPane(VerticalScroll):
    """Scrolls a preview and tracks which of its rows were visible."""

    class VisibleRowsChanged(Message):
        """Posted when other rows of the preview are visible."""

    def __init__(self) -> None:
        super().__init__(id="preview", can_focus=False)
        self.rows_below = 0
        """Rows below the last visible one."""
        self.is_complete = True
        """Whether `rows_below` is exact; otherwise more rows are being built."""
        self.was_read_to_end = False
        """Whether the last row was visible."""

    def compose(self) -> ComposeResult:
        """Compose the text."""
        yield PreviewText()

    @property
    def overflows(self) -> bool:
        """Whether the text is higher than the pane."""
        return self.show_vertical_scrollbar

    def show(self, question: Confirmation) -> None:
        """Show the start of another request."""
        self.was_read_to_end = False
        self.query_one(PreviewText).show(question)
        self.scroll_to(y=0, animate=False, immediate=True)

    def on_mount(self) -> None:
        """Check the visible rows when the text scrolls or its size changes."""
        for name in ("scroll_y", "show_vertical_scrollbar", "virtual_size"):
            self.watch(self, name, self._schedule_check, init=False)

    def on_resize(self) -> None:
        """Check the visible rows when the pane is resized."""
        self._schedule_check()

    def check_visible_rows(self) -> None:
        """Update the visible rows from the last layout."""
        text = self.query_one(PreviewText)
        try:
            placed = self.screen.find_widget(text)
        except NoWidget:
            return
        if placed.region.height != max(1, len(text.rows(placed.region.width))):
            return  # a new request or new rows are not laid out yet
        shown = placed.visible_region
        self.rows_below = placed.region.bottom - shown.bottom if shown else placed.region.height
        self.is_complete = text.is_complete
        self.was_read_to_end = self.was_read_to_end or (self.is_complete and self.rows_below == 0)
        self.post_message(self.VisibleRowsChanged())

    def _schedule_check(self) -> None:
        self.call_after_refresh(self.check_visible_rows)


def preview_rows(question: Confirmation, width: int) -> Iterator[StyledLine]:
    """Yield the rows of the preview of a request."""
    room, preview = max(8, width - len(_BAR)), question.preview
    if preview is not None and preview.kind == "diff":
        for line in diff_lines(preview.body, room, approval_pieces):
            bar = _BAR if line.separator else _CONTINUATION
            yield line._replace(spans=((bar, ""), *line.spans))
    else:
        lines = argument_lines(question) if preview is None else iter_lines(preview.body)
        yield from (StyledLine(((row, ""),)) for row in quote_lines(lines, room))
    for line in approval_details(question):
        for at, row in enumerate(_wrap_escaped(line, max(8, width - len(_ABOUT_INDENT)))):
            yield StyledLine(((_ABOUT_INDENT + row if at else row, "quiet"),))


def quote_lines(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield the rows of escaped lines, each at most `width` cells after its prefix."""
    for line in lines:
        for at, row in enumerate(_wrap_escaped(line, width)):
            yield (_CONTINUATION if at else _BAR) + row


def _wrap_escaped(line: str, width: int) -> Iterator[str]:
    """Break a line; a trailing space is visible, as it could hide before a wide character."""
    row = None
    for following in wrap_pieces(escape_line_pieces(line), width):
        if row is not None:
            yield row[:-1] + _VISIBLE_SPACE if row.endswith(" ") else row
        row = following
    yield row or ""
