"""What a question asks about, whole: the command, the change, or the arguments."""

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
from yourtool.tui.questions import approval_details, argument_lines
from yourtool.tui.styled_lines import StyledLine, cut_pieces, lines_of
from yourtool.tui.widgets.diff import approved_pieces, diff_lines
from yourtool.tui.widgets.view import PAUSE

_INKS = (
    ("diff.added", "preview--added"),
    ("diff.removed", "preview--removed"),
    ("diff.", "preview--quiet"),
    ("quiet", "preview--quiet"),
)
_BAR, _INDENT = "│ ", "  "
"""Before the first row of a line, and before the others: a row that was broken is no new line.

Quoted text never reaches these columns, so it cannot be taken for the words of the question.
"""
_ABOUT_INDENT = "    "
_SPACE = "␠"
_SLICE = 500
"""Rows that are made at once; more wait for the loop's next turn."""
_WIDTHS = 2
"""Widths for which rows are kept."""


class PreviewText(Widget):
    """Nothing is cut; the container scrolls.

    Rows are made in slices, so that a very long text does not block the event loop, and painted
    when they are on the screen.
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
        self._question: Confirmation | None = None
        self._made: dict[int, _Rows] = {}
        """By width: layout asks for that with a scroll bar and that without."""

    @property
    def is_complete(self) -> bool:
        """Whether all rows are made."""
        return all(rows.is_complete for rows in self._made.values())

    def show(self, question: Confirmation) -> None:
        """Show what this question is about."""
        self._question = question
        self._made.clear()
        self.refresh(layout=True)

    def rows(self, width: int) -> list[StyledLine]:
        """Return the rows for a width that are made so far; the others follow by and by."""
        if width not in self._made:
            if len(self._made) == _WIDTHS:
                del self._made[next(iter(self._made))]
            question = self._question
            rows = _Rows(question_rows(question, width) if question else iter(()))
            self._made[width] = rows
            if not rows.is_complete:
                self.set_timer(PAUSE, partial(self._go_on, width, rows))
        return self._made[width].lines

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
        """Return the selected rows as they are drawn."""
        rows = self.rows(max(1, self.content_size.width))
        return selection.extract("\n".join(row.text for row in rows)), "\n"

    def _go_on(self, width: int, rows: "_Rows") -> None:
        """Make more rows, unless the width or the question is another by now."""
        if self._made.get(width) is not rows:
            return
        rows.make()
        if not rows.is_complete:
            self.set_timer(PAUSE, partial(self._go_on, width, rows))
        self.refresh(layout=True)

    def _content(self, row: StyledLine, width: int) -> Content:
        pieces = [Content(text).stylize(self._style_of(ink)) for text, ink in row.spans]
        content = Content.assemble(*pieces)
        if row.fill:
            fill = self._style_of(row.fill)
            content = content.pad_right(max(0, width - content.cell_length))
            content = content.stylize_before(fill, len(_BAR))
        return content

    def _style_of(self, ink: str) -> Style | str:
        for prefix, name in _INKS:
            if ink.startswith(prefix):
                return self.get_visual_style(name)
        return ""


class _Rows:
    """Rows for one width, made in slices."""

    def __init__(self, more: Iterator[StyledLine]) -> None:
        self.lines: list[StyledLine] = []
        self.is_complete = False
        self._more = more
        self.make()

    def make(self) -> None:
        """Make one slice."""
        made = len(self.lines)
        self.lines += itertools.islice(self._more, _SLICE)
        self.is_complete = len(self.lines) < made + _SLICE


class ReadingPane(VerticalScroll):
    """Scrolls the text of a question, and knows how much of it was on the screen."""

    class Looked(Message):
        """There may be more, or less, that was not shown."""

    def __init__(self) -> None:
        super().__init__(id="preview", can_focus=False)
        self.below = 0
        """Rows below the last one that is on the screen."""
        self.is_complete = True
        """Whether `below` counts all rows; there are more that are not made yet."""
        self.was_read = False
        """The last row was on the screen."""

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield PreviewText()

    @property
    def overflows(self) -> bool:
        """Whether there is more than has room."""
        return self.show_vertical_scrollbar

    def show(self, question: Confirmation) -> None:
        """Show the beginning of another question."""
        self.was_read = False
        self.query_one(PreviewText).show(question)
        self.scroll_to(y=0, animate=False, immediate=True)

    def on_mount(self) -> None:
        """Look again when the text moves, or the room for it changes."""
        for name in ("scroll_y", "show_vertical_scrollbar", "virtual_size"):
            self.watch(self, name, self._look_later, init=False)

    def on_resize(self) -> None:
        """Look again when the room changes."""
        self._look_later()

    def look(self) -> None:
        """Find out which rows are on the screen, as it was last laid out."""
        text = self.query_one(PreviewText)
        try:
            place = self.screen.find_widget(text)
        except NoWidget:
            return
        if place.region.height != max(1, len(text.rows(place.region.width))):
            return  # another question, or more of this one, which is not laid out yet
        shown = place.visible_region
        self.below = place.region.bottom - shown.bottom if shown else place.region.height
        self.is_complete = text.is_complete
        self.was_read = self.was_read or (self.is_complete and self.below == 0)
        self.post_message(self.Looked())

    def _look_later(self) -> None:
        self.call_after_refresh(self.look)


def question_rows(question: Confirmation, width: int) -> Iterator[StyledLine]:
    """Return the rows of what a question asks about, each made when it is asked for."""
    room, preview = max(8, width - len(_BAR)), question.preview
    if preview is not None and preview.kind == "diff":
        for line in diff_lines(preview.body, room, approved_pieces):
            bar = _BAR if line.joint else _INDENT
            yield line._replace(spans=((bar, ""), *line.spans))
    else:
        lines = argument_lines(question) if preview is None else lines_of(preview.body)
        yield from (StyledLine(((row, ""),)) for row in quoted(lines, room))
    for line in approval_details(question):
        for at, row in enumerate(_broken(line, max(8, width - len(_ABOUT_INDENT)))):
            yield StyledLine(((_ABOUT_INDENT + row if at else row, "quiet"),))


def quoted(lines: Iterable[str], width: int) -> Iterator[str]:
    """Return the rows of lines, escaped, each at most `width` cells after its bar or indent."""
    for line in lines:
        for at, row in enumerate(_broken(line, width)):
            yield (_INDENT if at else _BAR) + row


def _broken(line: str, width: int) -> Iterator[str]:
    """Break a line; a space at the end of a row would look like room for a wide character."""
    row = None
    for following in cut_pieces(escape_line_pieces(line), width):
        if row is not None:
            yield row[:-1] + _SPACE if row.endswith(" ") else row
        row = following
    yield row or ""
