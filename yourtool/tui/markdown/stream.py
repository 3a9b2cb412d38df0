"""Incremental rendering of streaming Markdown.

Complete source lines are settled: their rows never change and are not rendered again. Only the open
block, with the incomplete last line, is rendered with every piece. The final rows do not depend on
how the text was split.
"""

from yourtool.foundation.text import printable
from yourtool.tui.lines.styled_lines import HighlighterFactory, StyledLine
from yourtool.tui.markdown.blocks import (
    MAX_LINE_LENGTH,
    SETTLE_LENGTH,
    BlockParser,
)


class MarkdownStream:
    """Renders a text piece by piece as rows of at most `width` cells."""

    def __init__(self, width: int, highlight: HighlighterFactory | None = None) -> None:
        self.settled: list[StyledLine] = []
        self.tail: list[StyledLine] = []
        """Rows after the settled ones; they can change with every piece."""
        self._blocks = BlockParser(width, highlight)
        self._partial = ""
        self._continues = False  # the start of the incomplete line is settled
        self._separator = ""  # the text where that start was split

    def feed(self, text: str) -> None:
        """Render more of the text."""
        lines = (self._partial + text).split("\n")
        self._partial = lines.pop()
        for line in lines:
            self._push_line(line)
        self._partial = self._settle_start(self._partial)
        self._draw_tail()

    def finish(self) -> None:
        """Settle all rows, because the text is complete."""
        if self._partial or self._continues:
            self._push_line(self._partial)
            self._partial = ""
        self.settled += self._blocks.close()
        self.tail = []

    @property
    def rows(self) -> list[StyledLine]:
        """All current rows."""
        return self.settled + self.tail

    def _push_line(self, line: str) -> None:
        rest = self._settle_start(line)
        self.settled += self._push(self._blocks, rest)
        self._continues = False

    def _settle_start(self, line: str) -> str:
        """Settle the start of a long line, and return the rest.

        The splits depend only on the line: text is split at the first space after
        `SETTLE_LENGTH` characters, and every line after `MAX_LINE_LENGTH`.
        """
        while (cut := self._find_cut(line)) is not None:
            separator = " " if line.startswith(" ", cut) and cut < MAX_LINE_LENGTH else ""
            self.settled += self._push(self._blocks, line[:cut], more=True)
            self._continues, self._separator, line = True, separator, line[cut + len(separator) :]
        return line

    def _find_cut(self, line: str) -> int | None:
        """Return where to split a line; None if it is short or more of it is needed."""
        if len(line) <= SETTLE_LENGTH:
            return None
        space = line.find(" ", SETTLE_LENGTH, MAX_LINE_LENGTH)
        if space >= 0 and self._is_text(printable(line[:space])):
            return space
        return MAX_LINE_LENGTH if len(line) > MAX_LINE_LENGTH else None

    def _is_text(self, line: str) -> bool:
        return (
            self._blocks.continues_text()
            if self._continues
            else self._blocks.starts_paragraph(line)
        )

    def _push(self, blocks: BlockParser, line: str, *, more: bool = False) -> list[StyledLine]:
        shown = printable(line.removesuffix("\r"))
        if self._continues:
            return blocks.continue_line(shown, self._separator, more=more)
        return blocks.push(shown, more=more)

    def _draw_tail(self) -> None:
        line = self._partial
        if not line or (not self._continues and self._blocks.is_undecided(printable(line))):
            self.tail = self._blocks.open_rows()
            return
        trial = self._blocks.fork()
        rows = self._push(trial, line)
        self.tail = rows + trial.open_rows()


def render_markdown(
    text: str, width: int, highlight: HighlighterFactory | None = None
) -> list[StyledLine]:
    """Return the rows of a complete Markdown text."""
    stream = MarkdownStream(width, highlight)
    stream.feed(text)
    stream.finish()
    return stream.settled
