"""Screen of an answer that grows."""

from collections.abc import Iterator
from contextlib import aclosing

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from yourtool.agent.commands.base import ShowAnswer
from yourtool.errors import YourtoolError
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import bindings, build_hint
from yourtool.tui.lines.styled_lines import BLANK, HighlighterFactory, StyledLine, wrap
from yourtool.tui.markdown import stream
from yourtool.tui.screens.dialog import Dialog
from yourtool.tui.widgets.styled_text import StyledText

_WAITING = StyledLine((("…", "muted"),))


class AnswerScreen(Dialog[None]):
    """A question and its answer; closing it stops the answer."""

    DEFAULT_CSS = """
    AnswerScreen #window {
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS = bindings("report")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(self, answer: ShowAnswer, highlight: HighlighterFactory | None) -> None:
        super().__init__()
        self._answer, self._highlight = answer, highlight
        self._pieces: list[str] = []
        self._problem = ""
        self._streams: dict[int, stream.MarkdownStream] = {}  # by width
        self._text = StyledText(self._build_rows)

    def compose(self) -> ComposeResult:
        """Show the question above the answer."""
        with VerticalScroll(id="window") as window:
            window.border_title = Content("Side question")
            window.border_subtitle = build_hint("report.close", "stops and closes")
            yield self._text

    async def show_answer(self) -> None:
        """Show the answer until its end; runs on after the screen was closed."""
        try:
            async with aclosing(self._answer.pieces) as pieces:
                async for piece in pieces:
                    self._pieces.append(piece)
                    for each in self._streams.values():
                        each.feed(piece)
                    self._text.show(self._build_rows)
        except YourtoolError as error:
            self._problem = str(error)
        if self.is_attached:
            self.query_one("#window").border_subtitle = build_hint("report.close", "closes")
            self._text.show(self._build_rows)

    def on_unmount(self) -> None:
        """Stop the answer."""
        self._answer.stop()

    def _build_rows(self, width: int) -> Iterator[StyledLine]:
        for row in wrap([(printable(self._answer.title), "diff.call")], width):
            yield StyledLine(row)
        yield BLANK
        if (shown := self._streams.get(width)) is None:
            shown = self._streams[width] = stream.MarkdownStream(width, self._highlight)
            shown.feed("".join(self._pieces))
        yield from shown.rows
        for row in wrap([(printable(self._problem), "error")], width) if self._problem else ():
            yield StyledLine(row)
        if not (self._pieces or self._problem):
            yield _WAITING
