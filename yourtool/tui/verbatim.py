"""Text as it is, as rows that stay while more of it arrives.

A row is settled as soon as another one begins, so a text of any length can be laid out in parts.
"""

from collections.abc import Sequence
from itertools import pairwise

from yourtool.text import printable
from yourtool.tui.styled_lines import BLANK, Source, StyledLine, breaks, expand_tabs

_PART = 2_000
"""Characters of a line that are cut into rows at once; more than any row has."""


class VerbatimStream:
    """Rows of `width` cells of a text that is fed to it piece by piece."""

    def __init__(self, width: int, ink: str = "") -> None:
        self.settled: list[StyledLine] = []
        self.tail: list[StyledLine] = []
        """Rows after the settled ones; may change with every piece."""
        self._width = width
        self._ink = ink
        self._begin_line()

    def feed(self, text: str) -> None:
        """Take more of the text."""
        first, *others = text.split("\n")
        self._extend_line(first)
        for line in others:
            self._end_line()
            self._extend_line(line)
        self.tail = self._last_rows() if self._row or self._rest else []

    def finish(self) -> None:
        """The text is complete; a line feed at its end begins no row."""
        if self._row or self._rest:
            self._end_line()
        self.tail = []

    def _begin_line(self) -> None:
        self._source = Source()
        self._row = ""  # what the last row begins with, as it is shown
        self._joint = "\n"
        self._rest = ""  # what comes after that, as it arrived

    def _extend_line(self, text: str) -> None:
        self._source.add(text)
        rest, at = self._rest + text, 0
        while len(rest) - at > _PART:
            shown = self._shown(rest[at : at + _PART])
            pieces = breaks(shown, self._width)
            *rows, last = self._rows(shown, pieces)
            self.settled += rows
            self._row, self._joint = shown[pieces[-1][0] :], last.joint
            at += _PART
        self._rest = rest[at:]

    def _end_line(self) -> None:
        self._rest = self._rest.removesuffix("\r")
        self.settled += self._last_rows()
        self._begin_line()

    def _last_rows(self) -> list[StyledLine]:
        shown = self._shown(self._rest)
        return self._rows(shown, breaks(shown, self._width))

    def _shown(self, more: str) -> str:
        return self._row + expand_tabs(printable(more))

    def _rows(self, shown: str, pieces: Sequence[tuple[int, int]]) -> list[StyledLine]:
        joints = [" " if before[1] < after[0] else "" for before, after in pairwise(pieces)]
        return [
            StyledLine(
                ((shown[begin:end], self._ink),) if begin < end else (), self._source, "", joint
            )
            for (begin, end), joint in zip(pieces, [self._joint, *joints], strict=True)
        ]


def plain_lines(text: str, ink: str, width: int) -> list[StyledLine]:
    """Return all rows of a short text; one at least."""
    stream = VerbatimStream(width, ink)
    stream.feed(text.removesuffix("\n"))
    stream.finish()
    return stream.settled or [BLANK]
