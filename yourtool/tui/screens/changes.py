"""The screen of `/diff`: the changes that a session made to files."""

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from yourtool.agent.commands.base import FileChange
from yourtool.text import printable
from yourtool.tui.active_keys import bindings, build_hint
from yourtool.tui.diff.rows import Diff
from yourtool.tui.screens.dialog import Dialog
from yourtool.tui.styled_lines import BLANK, HighlighterFactory, StyledLine, truncate
from yourtool.tui.widgets.styled_text import StyledText


class ChangesScreen(Dialog[None]):
    """A scrollable list of diffs; Esc, q and Enter close it."""

    DEFAULT_CSS = """
    ChangesScreen #window {
        width: 100%;
        max-width: 100%;
        height: 90%;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS = bindings("report")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(
        self, title: str, changes: Sequence[FileChange], highlight: HighlighterFactory | None
    ) -> None:
        super().__init__()
        self._title = title
        self._changes = [
            (change.path, Diff(change.diff, highlight=highlight)) for change in changes
        ]

    def compose(self) -> ComposeResult:
        """Show the changes below each other."""
        with VerticalScroll(id="window") as window:
            window.border_title = Content(self._title)
            window.border_subtitle = build_hint("report.close", "closes")
            yield StyledText(self._build_rows)

    def _build_rows(self, width: int) -> Iterator[StyledLine]:
        for number, (path, diff) in enumerate(self._changes):
            if number:
                yield BLANK
            name = truncate(printable(path).replace("\n", " "), max(8, width - 20))
            yield StyledLine(((name, "diff.file"), ("  ", ""), *diff.counts))
            yield from diff.rows(width)
