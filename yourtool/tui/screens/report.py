"""The screen for reports: help, cost, context."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from yourtool.agent.commands.base import Section
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import bindings, build_hint
from yourtool.tui.lines.styled_lines import wrap
from yourtool.tui.screens.dialog import Dialog
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

MIN_TEXT = 24
"""Minimum width of a text next to its name; narrower texts go below it."""


class ReportScreen(Dialog[None]):
    """A scrollable report; Esc, q and Enter close it."""

    DEFAULT_CSS = """
    ReportScreen #window {
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS = bindings("report")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(self, title: str, sections: tuple[Section, ...]) -> None:
        super().__init__()
        self._title = title
        self._sections = sections

    def compose(self) -> ComposeResult:
        """Lay out the sections."""
        with VerticalScroll(id="window") as window:
            window.border_title = Content(self._title)
            window.border_subtitle = build_hint("report.close", "closes")
            for section in self._sections:
                yield Rows(section)


class Rows(WrappedWidget):
    """A heading and rows of a name and a text, side by side or, in a narrow window, stacked."""

    DEFAULT_CSS = """
    Rows {
        margin-bottom: 1;
        .rows--heading { text-style: bold; color: $text-primary; }
        .rows--name { color: $text-accent; }
    }
    """
    COMPONENT_CLASSES = {"rows--heading", "rows--name"}  # noqa: RUF012 - Textual's form

    def __init__(self, section: Section) -> None:
        super().__init__()
        self._section = section

    def show(self, section: Section) -> None:
        """Show another section."""
        self._section = section
        self.refresh_rows()

    def rows(self, width: int) -> list[Content]:
        """Wrap the texts to a width."""
        heading = self.get_visual_style("rows--heading")
        style = self.get_visual_style("rows--name")
        column = max((len(name) for name, _ in self._section.rows), default=0) + 2
        side_by_side = column + MIN_TEXT <= width
        indent = column if side_by_side else 2
        lines = [Content(self._section.title).stylize(heading)]
        for name, text in self._section.rows:
            left = Content(printable(name)).stylize(style)
            rows = wrap([(printable(text), "")], max(8, width - indent))
            right = ["".join(part for part, _ in row) for row in rows]
            if side_by_side:
                first = Content.assemble(left, " " * (column - len(name)), right.pop(0))
            else:
                first = left
            lines.append(first)
            lines += [Content(" " * indent + each) for each in right]
        return lines
