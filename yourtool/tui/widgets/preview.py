"""Preview of an approval prompt.

It shows the complete command, change or arguments.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.errors import NoWidget
from textual.message import Message
from textual.widgets import Static

from yourtool.effects import Confirmation
from yourtool.foundation.text import escape_line, escape_line_pieces
from yourtool.tui.diff import rows
from yourtool.tui.lines.styled_lines import (
    HighlighterFactory,
    Span,
    StyledLine,
    cell_width,
    find_breaks,
    iter_lines,
    wrap_pieces,
)
from yourtool.tui.questions.approval_hints import SHORT_ROWS
from yourtool.tui.questions.approval_lines import approval_pieces, argument_lines
from yourtool.tui.questions.approval_text import approval_cautions, approval_details, is_sentence
from yourtool.tui.questions.rule_text import are_shortened
from yourtool.tui.widgets.styled_text import StyledText

_BAR, _CONTINUATION = "│ ", "  "
"""Prefixes of the first row of a line and of its continuation rows.

Quoted text never reaches these columns, so it cannot imitate the text of the approval prompt.
"""
_ABOUT_INDENT = "    "
_VISIBLE_SPACE = "␠"


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
        self._shown: tuple[Confirmation, HighlighterFactory | None] | None = None
        self._shortens = False
        self._spells = True
        """Whether the answers are written out below."""

    def compose(self) -> ComposeResult:
        """Compose the text."""
        yield StyledText()

    @property
    def overflows(self) -> bool:
        """Whether the text is higher than the pane, or would be with all rules."""
        shown = self._shown
        return self.show_vertical_scrollbar or (shown is not None and are_shortened(shown[0].rules))

    @property
    def is_at_end(self) -> bool:
        """Whether the last row is visible."""
        return self.is_complete and self.rows_below == 0

    def show(self, question: Confirmation, highlight: HighlighterFactory | None = None) -> None:
        """Show the start of another request; `highlight` has the colours of code."""
        self.was_read_to_end = False
        self._shown = question, highlight
        self._show(shortens=True)
        self.scroll_to(y=0, animate=False, immediate=True)

    def show_rules(self, *, expanded: bool) -> None:
        """Show all rules that the answers offer, or only the first of many."""
        if self._shortens is expanded and self.overflows:
            self._show(shortens=not expanded)

    def _show(self, *, shortens: bool) -> None:
        if self._shown is not None:
            question, highlight = self._shown
            self._shortens, self._spells = shortens, self.app.size.height >= SHORT_ROWS
            options = {"shortens": shortens, "spells": self._spells}
            rows = partial(preview_rows, question, highlight=highlight, **options)
            self.query_one(StyledText).show(rows)

    def on_mount(self) -> None:
        """Check the visible rows when the text scrolls or its size changes."""
        for name in ("scroll_y", "show_vertical_scrollbar", "virtual_size"):
            self.watch(self, name, self._schedule_check, init=False)

    def on_resize(self) -> None:
        """Check the visible rows when the pane is resized, and what else explains the answers."""
        if self._spells != (self.app.size.height >= SHORT_ROWS):
            self._show(shortens=self._shortens)
        self._schedule_check()

    def check_visible_rows(self) -> None:
        """Update the visible rows from the last layout."""
        text = self.query_one(StyledText)
        try:
            placed = self.screen.find_widget(text)
        except NoWidget:
            return
        if placed.region.height != max(1, len(text.rows(placed.region.width))):
            return  # a new request or new rows are not laid out yet
        shown = placed.visible_region
        self.rows_below = placed.region.bottom - shown.bottom if shown else placed.region.height
        self.is_complete = text.is_complete
        self.was_read_to_end = self.was_read_to_end or self.is_at_end
        self.post_message(self.VisibleRowsChanged())

    def _schedule_check(self) -> None:
        self.call_after_refresh(self.check_visible_rows)


class RemainingRows(Static):
    """Shows how many rows are below the visible part of a preview."""

    DEFAULT_CSS = """
    RemainingRows { display: none; height: auto; max-height: 1; color: $text-warning; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)

    def show(self, pane: PreviewPane, *, roomy: bool) -> None:
        """Update the number; with the way to allow the call if it was not read to its end."""
        self.display = pane.show_vertical_scrollbar
        below, is_complete = pane.rows_below, pane.is_complete
        count = f"{below:,}" if is_complete else f"more than {below:,}"
        lines = f"{count} {'line' if below == 1 and is_complete else 'lines'} not shown"
        locked = "; scroll to the end before you allow it" if roomy else "; read first"
        why = "" if pane.was_read_to_end else locked
        self.update(f"↓ {lines}{why}" if below or not is_complete else "the end")


def preview_rows(
    question: Confirmation,
    width: int,
    highlight: HighlighterFactory | None = None,
    *,
    shortens: bool = False,
    spells: bool = True,
) -> Iterator[StyledLine]:
    """Yield the rows of the preview of a request.

    `highlight` has the colours of code; `shortens` and `spells` as for `approval_details`.
    """
    room, preview = max(8, width - len(_BAR)), question.preview
    if preview is not None and preview.kind == "diff":
        diff = rows.Diff(preview.body, show=approval_pieces, highlight=highlight)
        if len(preview.paths) == 1:
            yield from _head_rows(preview.paths[0], diff, width)
        for line in diff.rows(room):
            yield line.with_prefix((_BAR if line.separator else _CONTINUATION, ""))
    else:
        lines = argument_lines(question) if preview is None else iter_lines(preview.body)
        yield from (StyledLine(((row, ""),)) for row in quote_lines(lines, room))
    for line in approval_cautions(question):
        yield from (StyledLine(((row, "warning"),)) for row in _wrap_indented(line, width))
    for line in question.consequences.lines:
        yield from (StyledLine(((row, ""),)) for row in _wrap_indented(line, width))
    for line in approval_details(question, shortens=shortens, spells=spells):
        wrapped = _wrap_sentence if is_sentence(line) else _wrap_indented
        yield from (StyledLine(((row, "muted"),)) for row in wrapped(line, width))


def _head_rows(path: str, diff: "rows.Diff", width: int) -> Iterator[StyledLine]:
    """Yield the rows of a path and the numbers of changed lines."""
    *rows, last = _wrap_indented(path, width)
    yield from (StyledLine(((row, "diff.file"),)) for row in rows)
    spans: tuple[Span, ...] = ((last, "diff.file"), ("  ", ""), *diff.counts)
    if cell_width(spans) > width:
        yield StyledLine(spans[:1])
        spans = ((_ABOUT_INDENT, ""), *diff.counts)
    yield StyledLine(spans)


def _wrap_indented(line: str, width: int) -> Iterator[str]:
    """Yield the rows of an escaped line of the approval prompt itself."""
    for at, row in enumerate(_wrap_escaped(line, max(8, width - len(_ABOUT_INDENT)))):
        yield _ABOUT_INDENT + row if at else row


def _wrap_sentence(line: str, width: int) -> Iterator[str]:
    """Yield the rows of an escaped line, broken at spaces where this hides none of several."""
    if "  " in line:
        yield from _wrap_indented(line, width)
        return
    text = escape_line(line)
    for at, (begin, end) in enumerate(find_breaks(text, max(8, width - len(_ABOUT_INDENT)))):
        yield _ABOUT_INDENT + text[begin:end] if at else text[begin:end]


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
