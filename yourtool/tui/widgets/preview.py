"""What a question asks about, whole: the command, the change, or the arguments."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.errors import NoWidget
from textual.message import Message
from textual.style import Style

from yourtool.effects import Confirmation
from yourtool.text import escaped_line
from yourtool.tui.lines import Line, breaks
from yourtool.tui.questions import about, arguments
from yourtool.tui.widgets.block import Block
from yourtool.tui.widgets.diff import approved_line, diff_lines

_INKS = (
    ("diff.added", "preview--added"),
    ("diff.removed", "preview--removed"),
    ("diff.", "preview--quiet"),
)
_BAR, _INDENT = "│ ", "  "
"""Before the first row of a line, and before the others: a row that was broken is no new line.

Quoted text never reaches these columns, so it cannot be taken for the words of the question.
"""
_ABOUT_INDENT = "    "
_SPACE = "␠"


class PreviewText(Block):
    """Nothing is cut; the container scrolls."""

    DEFAULT_CSS = """
    PreviewText {
        .preview--added { color: $text-success; background: $success-muted; }
        .preview--removed { color: $text-error; background: $error-muted; }
        .preview--quiet { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"preview--added", "preview--removed", "preview--quiet"}  # noqa: RUF012 - Textual's form

    def __init__(self) -> None:
        super().__init__()
        self._question: Confirmation | None = None
        self._drawn: tuple[int, list[Content]] = (0, [])

    def show(self, question: Confirmation) -> None:
        """Show what this question is about."""
        self._question, self._drawn = question, (0, [])
        self.changed()

    def rows(self, width: int) -> list[Content]:
        """Break the text for a width; kept until the width is another."""
        if self._drawn[0] != width:
            self._drawn = (width, self._made(width))
        return self._drawn[1]

    def _made(self, width: int) -> list[Content]:
        if self._question is None:
            return []
        quiet = self.get_visual_style("preview--quiet")
        rows = self._quoted(self._question, max(8, width - len(_BAR)))
        for line in about(self._question):
            first, *others = _broken(line, max(8, width - len(_ABOUT_INDENT)))
            rows += [Content(first).stylize(quiet)]
            rows += [Content(_ABOUT_INDENT + other).stylize(quiet) for other in others]
        return rows

    def _quoted(self, question: Confirmation, width: int) -> list[Content]:
        preview = question.preview
        if preview is not None and preview.kind == "diff":
            return [
                Content(_BAR if line.joint else _INDENT) + self._diff_row(line, width)
                for line in diff_lines(preview.body, width, approved_line)
            ]
        if preview is None:
            return [Content(row) for row in quoted(arguments(question), width)]
        return [Content(row) for row in quoted(map(escaped_line, preview.body.split("\n")), width)]

    def _diff_row(self, line: Line, width: int) -> Content:
        pieces = [Content(text).stylize(self._style_of(ink)) for text, ink in line.spans]
        row = Content.assemble(*pieces)
        if not line.fill:
            return row
        return row.pad_right(max(0, width - row.cell_length)).stylize_before(
            self._style_of(line.fill)
        )

    def _style_of(self, ink: str) -> Style | str:
        for prefix, name in _INKS:
            if ink.startswith(prefix):
                return self.get_visual_style(name)
        return ""


class ReadingPane(VerticalScroll):
    """Scrolls the text of a question, and knows how much of it was on the screen."""

    class Looked(Message):
        """There may be more, or less, that was not shown."""

    def __init__(self) -> None:
        super().__init__(id="preview", can_focus=False)
        self.below = 0
        """Rows below the last one that is on the screen."""
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
            return  # another question, which is not laid out yet
        shown = place.visible_region
        self.below = place.region.bottom - shown.bottom if shown else place.region.height
        self.was_read = self.was_read or self.below == 0
        self.post_message(self.Looked())

    def _look_later(self) -> None:
        self.call_after_refresh(self.look)


def quoted(lines: Iterable[str], width: int) -> list[str]:
    """Return the rows of escaped lines, each row at most `width` cells after its bar or indent."""
    return [
        (_INDENT if at else _BAR) + row
        for line in lines
        for at, row in enumerate(_broken(line, width))
    ]


def _broken(text: str, width: int) -> list[str]:
    """Break a line; a space at the end of a row would look like room for a wide character."""
    *rows, last = (text[begin:end] for begin, end in breaks(text, width, words=False))
    return [*(row[:-1] + _SPACE if row.endswith(" ") else row for row in rows), last]
