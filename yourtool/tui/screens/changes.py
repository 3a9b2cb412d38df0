"""Screen of `/diff`."""

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from yourtool.agent.commands.base import CallChanges, FileChange
from yourtool.foundation.text import printable
from yourtool.tui.diff.rows import Diff
from yourtool.tui.keys.active_keys import bindings, build_hint
from yourtool.tui.lines.styled_lines import BLANK, HighlighterFactory, StyledLine, truncate
from yourtool.tui.screens.dialog import Dialog
from yourtool.tui.widgets.styled_text import StyledText


class ChangesScreen(Dialog[None]):
    """A scrollable list of diffs by call; Esc, q and Enter close it."""

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
        self, title: str, calls: Sequence[CallChanges], highlight: HighlighterFactory | None
    ) -> None:
        super().__init__()
        self._title = title
        self._calls = calls
        self._highlight = highlight

    def compose(self) -> ComposeResult:
        """Show the calls below each other, each with its changes."""
        with VerticalScroll(id="window") as window:
            window.border_title = Content(self._title)
            window.border_subtitle = build_hint("report.close", "closes")
            yield StyledText(self._build_rows)

    def _build_rows(self, width: int) -> Iterator[StyledLine]:
        for number, call in enumerate(self._calls):
            if number:
                yield BLANK
            yield StyledLine(((_shorten(call.call, width), "diff.call"),))
            for change in call.changes:
                yield from self._build_change(change, width)

    def _build_change(self, change: FileChange, width: int) -> Iterator[StyledLine]:
        diff = Diff(change.diff, highlight=self._highlight)
        name = _shorten(change.path, max(8, width - 20))
        counts = (("  ", ""), *diff.counts) if change.diff else ()
        yield StyledLine(((name, "diff.file"), *counts))
        if change.note:
            yield StyledLine(((_shorten(change.note, width), "diff.hunk"),))
        if change.diff:
            yield from diff.rows(width)


def _shorten(text: str, width: int) -> str:
    return truncate(printable(text).replace("\n", " "), width)
