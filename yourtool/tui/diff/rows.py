"""Rows of a diff.

All rows of a diff can be built without colours in a short time; a row gets its colours when it is
painted. On a wide screen the old and the new lines are side by side.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise, zip_longest
from typing import NamedTuple

from yourtool.foundation.text import printable
from yourtool.tui.diff.parsing import (
    Change,
    DiffRow,
    DiffSize,
    DiffSummary,
    parse_diff,
    summarize_diff,
)
from yourtool.tui.diff.syntax import HunkSide
from yourtool.tui.diff.word_marks import Range, find_changed_words
from yourtool.tui.lines.styled_lines import (
    HighlighterFactory,
    Source,
    Span,
    StyledLine,
    cut_spans,
    expand_tabs,
    max_cell_width,
    wrap_pieces,
)

SIDE_BY_SIDE_WIDTH = 150
"""Columns from which on old and new lines are side by side; screens of 160 columns have them."""
_DIVIDER = " │ "
_MAX_COLORED = 2_000
"""Characters of a line; longer ones are usually data and have no colours."""
_STYLES = {"+": "diff.added", "-": "diff.removed"}


def printable_pieces(text: str) -> Iterator[str]:
    """Yield a line as it is shown outside of the approval prompt."""
    yield expand_tabs(printable(text))


class Diff:
    """A unified diff; `show` escapes the characters of a line, `highlight` has the colours."""

    def __init__(
        self,
        text: str,
        *,
        show: Callable[[str], Iterable[str]] = printable_pieces,
        highlight: HighlighterFactory | None = None,
    ) -> None:
        self.text = text
        self._show = show
        self._highlight = highlight

    @property
    def size(self) -> DiffSize:
        """The numbers of changed lines."""
        return self._summary.size

    @property
    def counts(self) -> tuple[Span, ...]:
        """The numbers of changed lines, in colours."""
        added, removed = str(self.size).split(" ")
        return (added, "success"), (" ", ""), (removed, "error")

    def rows(self, width: int) -> Iterator[StyledLine]:
        """Yield the rows; file names are shown if there are several."""
        summary, layout = self._summary, self._build_layout(width)
        is_first = True
        for part in parse_diff(self.text):
            if isinstance(part, Change):
                yield from layout.change_rows(part)
            elif part.kind == "f":
                layout.lines.name = part.text
                if summary.needs_names:
                    shown = "".join(self._show(part.text))
                    yield StyledLine(((shown, "diff.file"),), Source(part.text))
            elif part.kind == "@":
                layout.lines.start_hunk()
                if not is_first:
                    yield layout.gap_row(part)
            else:
                yield from layout.unchanged_rows(part)
            is_file = isinstance(part, DiffRow) and part.kind == "f"
            is_first = is_first and is_file and not summary.needs_names

    @cached_property
    def _summary(self) -> DiffSummary:
        return summarize_diff(self.text)

    def _build_layout(self, width: int) -> "_Layout":
        digits = len(str(self._summary.highest_number))
        is_wide = width >= SIDE_BY_SIDE_WIDTH and not self._summary.is_one_sided
        kind = _SideBySideLayout if is_wide else _Layout
        return kind(_LineBuilder(self._show, self._highlight), digits, width)


class _Line:
    """A line as it is shown; its colours are computed once, when its first row is painted."""

    __slots__ = ("_at", "_show", "_side", "_spans", "pair", "row", "shown", "style")

    def __init__(self, row: DiffRow, show: Callable[[str], Iterable[str]], side: HunkSide) -> None:
        self.row = row
        self.style = _STYLES.get(row.kind, "")
        self.shown = "".join(show(row.text)) if len(row.text) <= _MAX_COLORED else None
        """The complete line; None if it is too long for colours."""
        self.pair: _Pair | None = None
        self._show = show
        self._side = side
        self._at = side.append(self.shown or "")
        self._spans: Sequence[Span] | None = None

    @property
    def pieces(self) -> Iterable[str]:
        """The line in pieces."""
        return self._show(self.row.text) if self.shown is None else (self.shown,)

    @property
    def spans(self) -> Sequence[Span]:
        """The complete line with its colours."""
        if self._spans is None:
            self._spans = self._build_spans()
        return self._spans

    def _build_spans(self) -> Sequence[Span]:
        colored = self._side.spans(self._at)
        spans = [(text, f"{style} {self.style}".strip()) for text, style in colored]
        ranges = self.pair.ranges[self.row.kind == "+"] if self.pair is not None else ()
        if not ranges:
            return spans
        edges = [0, *(edge for each in ranges for edge in each), len(self.shown or "")]
        parts = cut_spans(spans, list(pairwise(edges)))
        return [
            (text, f"{style} {self.style}.word" if at % 2 else style)
            for at, part in enumerate(parts)
            for text, style in part
        ]


class _Pair:
    """A removed line and its replacement."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    @cached_property
    def ranges(self) -> tuple[Sequence[Range], Sequence[Range]]:
        """The ranges of both lines that differ."""
        return find_changed_words(self._old, self._new)


class _LineBuilder:
    """Builds the lines of both sides of the current hunk."""

    def __init__(
        self, show: Callable[[str], Iterable[str]], highlight: HighlighterFactory | None
    ) -> None:
        self.show = show
        self.name = ""
        """Name of the current file, which determines the language."""
        self._highlight = highlight
        self.start_hunk()

    def start_hunk(self) -> None:
        """Discard the lines of the previous hunk."""
        self._old = HunkSide(self._highlight, self.name)
        self._new = HunkSide(self._highlight, self.name)

    def unchanged(self, row: DiffRow) -> _Line:
        """Return the line of an unchanged row."""
        line = _Line(row, self.show, self._new)
        self._old.append(line.shown or "")
        return line

    def changed(self, change: Change) -> tuple[list[_Line], list[_Line]]:
        """Return the removed and the added lines of a change."""
        removed = [_Line(row, self.show, self._old) for row in change.removed]
        added = [_Line(row, self.show, self._new) for row in change.added]
        for before, after in zip(removed, added, strict=False):
            if before.shown and after.shown and before.row.kind == "-" and after.row.kind == "+":
                before.pair = after.pair = _Pair(before.shown, after.shown)
        return removed, added


class _Cell(NamedTuple):
    """A row of a line in its column."""

    head: tuple[Span, ...]
    line: _Line
    begin: int
    text: str

    def spans(self, *, painted: bool) -> Sequence[Span]:
        if painted and self.line.shown is not None:
            [part] = cut_spans(self.line.spans, [(self.begin, self.begin + len(self.text))])
            return (*self.head, *part)
        return (*self.head, (self.text, self.line.style)) if self.text else self.head

    @property
    def width(self) -> int:
        return sum(len(text) for text, _ in self.head) + max_cell_width(self.text)


class _Layout:
    """Removed lines above the added ones."""

    def __init__(self, lines: _LineBuilder, digits: int, width: int) -> None:
        self.lines = lines
        self._digits = digits
        self._width = width

    def gap_row(self, row: DiffRow) -> StyledLine:
        text = "".join(self.lines.show(row.text))
        return StyledLine(((" " * self._digits + " ⋮ " + text, "diff.hunk"),))

    def unchanged_rows(self, row: DiffRow) -> Iterator[StyledLine]:
        yield from self._line_rows(self.lines.unchanged(row))

    def change_rows(self, change: Change) -> Iterator[StyledLine]:
        for lines in self.lines.changed(change):
            for line in lines:
                yield from self._line_rows(line)

    def _line_rows(self, line: _Line) -> Iterator[StyledLine]:
        source = Source(line.row.text)
        for cell in self._cells(line, line.row.number, self._width):
            yield StyledLine(
                tuple(cell.spans(painted=False)),
                source,
                line.style,
                "" if cell.begin else "\n",
                partial(cell.spans, painted=True),
            )

    def _cells(self, line: _Line, number: int, width: int) -> Iterator[_Cell]:
        """Yield the rows of a line, with its number and sign before the first one."""
        digits, kind = self._digits, line.row.kind
        mark = f"{line.style}.mark" if line.style else "diff.number"
        blank, sign = " " * (digits + 1), "−" if kind == "-" else kind
        numbers = f"{line.style} diff.number".strip()
        begin = 0
        for text in wrap_pieces(line.pieces, max(8, width - digits - 3)):
            is_first = not begin
            shown = f"{number:>{digits}} " if is_first and number else blank
            head = (shown, numbers), (f"{sign if is_first else ' '} ", mark)
            yield _Cell(head, line, begin, text)
            begin += len(text)


class _SideBySideLayout(_Layout):
    """Old lines on the left, new ones on the right."""

    def unchanged_rows(self, row: DiffRow) -> Iterator[StyledLine]:
        line = self.lines.unchanged(row)
        is_comment = row.kind == "\\"
        left = None if is_comment else self._cells(line, row.old_number, self._left_width)
        yield from self._pair_rows(left, self._cells(line, row.number, self._right_width), line)

    def change_rows(self, change: Change) -> Iterator[StyledLine]:
        for before, after in zip_longest(*self.lines.changed(change)):
            left = before and self._cells(before, before.row.number, self._left_width)
            right = after and self._cells(after, after.row.number, self._right_width)
            yield from self._pair_rows(left, right, after or before)

    @property
    def _left_width(self) -> int:
        return (self._width - len(_DIVIDER)) // 2

    @property
    def _right_width(self) -> int:
        return self._width - len(_DIVIDER) - self._left_width

    def _pair_rows(
        self, left: Iterator[_Cell] | None, right: Iterator[_Cell] | None, line: _Line
    ) -> Iterator[StyledLine]:
        source = Source(line.row.text)
        is_first = True
        for before, after in zip_longest(left or (), right or ()):
            row = _PairedRow(before, after, self._left_width)
            yield StyledLine(
                row.spans(painted=False),
                source,
                after.line.style if after else "",
                "\n" if is_first else "",
                partial(row.spans, painted=True),
            )
            is_first = False


class _PairedRow(NamedTuple):
    left: _Cell | None
    right: _Cell | None
    left_width: int

    def spans(self, *, painted: bool) -> tuple[Span, ...]:
        left, right = self.left, self.right
        if left is None:
            spans: Sequence[Span] = ((" " * self.left_width, ""),)
        else:
            padding = " " * max(0, self.left_width - left.width)
            spans = (*left.spans(painted=painted), (padding, left.line.style))
        return (*spans, (_DIVIDER, "muted"), *(right.spans(painted=painted) if right else ()))
