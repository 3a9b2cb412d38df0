"""Incremental layout of plain text.

A row is settled when the next one starts, so a text of any length can be laid out in slices.
"""

from collections.abc import Sequence
from itertools import pairwise

from yourtool.foundation.text import printable
from yourtool.tui.lines.styled_lines import BLANK, Source, StyledLine, expand_tabs, find_breaks

_SLICE = 2_000
"""Characters of a line that are wrapped at once; more than the longest row."""


class VerbatimStream:
    """Lays out a text piece by piece as rows of at most `width` cells."""

    def __init__(self, width: int, style: str = "") -> None:
        self.settled: list[StyledLine] = []
        self.tail: list[StyledLine] = []
        """Rows after the settled ones; they can change with every piece."""
        self._width = width
        self._style = style
        self._start_line()

    def feed(self, text: str) -> None:
        """Lay out more of the text."""
        first, *others = text.split("\n")
        self._extend_line(first)
        for line in others:
            self._end_line()
            self._extend_line(line)
        self.tail = self._last_rows() if self._row or self._rest else []

    def finish(self) -> None:
        """Settle all rows, because the text is complete; a trailing line feed adds no row."""
        if self._row or self._rest:
            self._end_line()
        self.tail = []

    def _start_line(self) -> None:
        self._source = Source()
        self._row = ""  # the start of the last row, as shown
        self._separator = "\n"
        self._rest = ""  # the unwrapped text after it

    def _extend_line(self, text: str) -> None:
        self._source.append(text)
        rest, at = self._rest + text, 0
        while len(rest) - at > _SLICE:
            shown = self._visible(rest[at : at + _SLICE])
            pieces = find_breaks(shown, self._width)
            *rows, last = self._rows(shown, pieces)
            self.settled += rows
            self._row, self._separator = shown[pieces[-1][0] :], last.separator
            at += _SLICE
        self._rest = rest[at:]

    def _end_line(self) -> None:
        self._rest = self._rest.removesuffix("\r")
        self.settled += self._last_rows()
        self._start_line()

    def _last_rows(self) -> list[StyledLine]:
        shown = self._visible(self._rest)
        return self._rows(shown, find_breaks(shown, self._width))

    def _visible(self, more: str) -> str:
        return self._row + expand_tabs(printable(more))

    def _rows(self, shown: str, pieces: Sequence[tuple[int, int]]) -> list[StyledLine]:
        separators = [" " if before[1] < after[0] else "" for before, after in pairwise(pieces)]
        return [
            StyledLine(
                ((shown[begin:end], self._style),) if begin < end else (),
                self._source,
                "",
                separator,
            )
            for (begin, end), separator in zip(pieces, [self._separator, *separators], strict=True)
        ]


def plain_lines(text: str, style: str, width: int) -> list[StyledLine]:
    """Return all rows of a short text, at least one."""
    stream = VerbatimStream(width, style)
    stream.feed(text.removesuffix("\n"))
    stream.finish()
    return stream.settled or [BLANK]
