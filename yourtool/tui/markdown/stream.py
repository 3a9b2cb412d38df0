"""A Markdown text that grows, as lines that mostly stay.

Whole source lines are settled: their rows never change and are never made again. Only the open
block, the line that is still arriving included, is drawn afresh. The rows at the end are the same
however the text was cut.
"""

from yourtool.text import printable
from yourtool.tui.markdown.blocks import LONGEST, UNIT, Blocks, Highlight
from yourtool.tui.styled_lines import StyledLine


class MarkdownStream:
    """Rows of `width` cells of a text that is fed to it piece by piece."""

    def __init__(self, width: int, highlight: Highlight | None = None) -> None:
        self.settled: list[StyledLine] = []
        self.tail: list[StyledLine] = []
        """Rows after the settled ones; may change with every piece."""
        self._blocks = Blocks(width, highlight)
        self._partial = ""
        self._extends = False  # the line that is arriving has a beginning that is settled
        self._joint = ""  # what stood where that beginning was cut off

    def feed(self, text: str) -> None:
        """Take more of the text."""
        lines = (self._partial + text).split("\n")
        self._partial = lines.pop()
        for line in lines:
            self._line(line)
        self._partial = self._settle_beginning(self._partial)
        self._draw_tail()

    def finish(self) -> None:
        """The text is complete."""
        if self._partial or self._extends:
            self._line(self._partial)
            self._partial = ""
        self.settled += self._blocks.close()
        self.tail = []

    @property
    def rows(self) -> list[StyledLine]:
        """All rows, as of now."""
        return self.settled + self.tail

    def _line(self, line: str) -> None:
        rest = self._settle_beginning(line)
        self.settled += self._push(self._blocks, rest)
        self._extends = False

    def _settle_beginning(self, line: str) -> str:
        """Settle what a long line begins with, and return the rest of it.

        The cuts depend on the line alone. Text is cut at the first space after `UNIT` characters,
        and everything after `LONGEST`.
        """
        while (cut := self._cut(line)) is not None:
            joint = " " if line.startswith(" ", cut) and cut < LONGEST else ""
            self.settled += self._push(self._blocks, line[:cut], more=True)
            self._extends, self._joint, line = True, joint, line[cut + len(joint) :]
        return line

    def _cut(self, line: str) -> int | None:
        """Return where to cut a line; None: it is short, or more of it has to be known."""
        if len(line) <= UNIT:
            return None
        space = line.find(" ", UNIT, LONGEST)
        if space >= 0 and self._is_text(printable(line[:space])):
            return space
        return LONGEST if len(line) > LONGEST else None

    def _is_text(self, line: str) -> bool:
        return self._blocks.extends_text() if self._extends else self._blocks.flows(line)

    def _push(self, blocks: Blocks, line: str, *, more: bool = False) -> list[StyledLine]:
        shown = printable(line.removesuffix("\r"))
        if self._extends:
            return blocks.extend(shown, self._joint, more=more)
        return blocks.push(shown, more=more)

    def _draw_tail(self) -> None:
        line = self._partial
        if not line or (not self._extends and self._blocks.undecided(printable(line))):
            self.tail = self._blocks.tail()
            return
        trial = self._blocks.fork()
        rows = self._push(trial, line)
        self.tail = rows + trial.tail()


def markdown(text: str, width: int, highlight: Highlight | None = None) -> list[StyledLine]:
    """Return the rows of a complete text."""
    stream = MarkdownStream(width, highlight)
    stream.feed(text)
    stream.finish()
    return stream.settled
