"""Tables: cells measured as they arrive, columns fitted into the width at hand.

Syntax: https://github.github.com/gfm/#tables-extension-.
"""

import re
from collections.abc import Sequence
from copy import copy
from typing import Literal, TypeAlias

from yourtool.tui.markdown.inline import inline
from yourtool.tui.styled_lines import Span, width_of, wrap

Align: TypeAlias = Literal["left", "right", "center"]
Cell: TypeAlias = list[Span]
Row: TypeAlias = tuple[Span, ...]

MAX_COLUMNS = 100
"""Columns of a table; lines with more are shown as text."""
MAX_ROWS = 200
MAX_CHARACTERS = 8000
"""Of rows that are laid out together; the rows after them take over the column widths."""

_MARK = re.compile(":?-+:?")
_MARKS = re.compile("[-:| \t]+")
_BAR = re.compile(r"(?<!\\)\|")
_LEAST = 6
"""Narrower columns than this on average, and each row becomes a list of named cells."""


def cells_of(line: str) -> list[str]:
    """Split a table row at its bars; `\\|` is a bar inside a cell."""
    text = line.strip()
    if text.startswith("|"):
        text = text[1:]
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(text)]


def alignments(header: str, line: str) -> tuple[Align, ...] | None:
    """Return how columns are aligned if `line` makes `header` the head of a table."""
    if "|" not in header or not _MARKS.fullmatch(line):
        return None
    marks = cells_of(line)
    if len(marks) > MAX_COLUMNS or not all(map(_MARK.fullmatch, marks)):
        return None
    if len(marks) != len(cells_of(header)):
        return None
    return tuple(
        "center"
        if mark.startswith(":") and mark.endswith(":")
        else "right"
        if mark.endswith(":")
        else "left"
        for mark in marks
    )


class Table:
    """The rows so far. Rows are laid out once per set of column widths."""

    def __init__(self, header: str, aligns: tuple[Align, ...]) -> None:
        self.source: list[str] = []
        """The lines it was made from."""
        self._aligns = aligns
        self._continues = False
        self._size = 0
        self._header = [inline(cell, "table.head") for cell in cells_of(header)]
        self._rows: list[list[Cell]] = []
        self._natural = [max(1, _cell_width(cell)) for cell in self._header]
        self._laid: list[Row] = []
        self._laid_rows = 0
        self._laid_for: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the rows so far should be settled, so that they cost no more."""
        return len(self._rows) >= MAX_ROWS or self._size >= MAX_CHARACTERS

    def continuation(self) -> "Table":
        """Return a table without rows whose rows go below those of this one."""
        table = copy(self)
        table.source, table._rows, table._size = [], [], 0
        table._continues = True
        table._laid, table._laid_rows = [], 0
        return table

    def add(self, line: str, source: str) -> None:
        """Take one more row; missing cells are empty, surplus ones are dropped."""
        self.source.append(source)
        self._size += len(line)
        texts = cells_of(line)[: len(self._header)]
        texts += [""] * (len(self._header) - len(texts))
        row = [inline(text) for text in texts]
        self._rows.append(row)
        self._natural = [
            max(before, _cell_width(cell)) for before, cell in zip(self._natural, row, strict=True)
        ]

    def rows(self, width: int) -> list[Row]:
        """Return the table as rows of at most `width` cells."""
        columns = len(self._header)
        available = width - 3 * (columns - 1)
        if self._continues:
            stacked, widths = not self._laid_for, self._laid_for
        else:
            stacked = available < columns * min(_LEAST, max(self._natural)) and columns > 1
            widths = _fit(self._natural, max(columns, available))
        if stacked:
            return self._stacked(width)
        if widths != self._laid_for:
            rule: Row = (("─┼─".join("─" * size for size in widths), "table.rule"),)
            self._laid = [*self._lay(self._header, widths), rule]
            self._laid_rows, self._laid_for = 0, widths
        for row in self._rows[self._laid_rows :]:
            self._laid += self._lay(row, widths)
        self._laid_rows = len(self._rows)
        return self._laid

    def _lay(self, cells: Sequence[Cell], widths: Sequence[int]) -> list[Row]:
        wrapped = [wrap(cell, size) for cell, size in zip(cells, widths, strict=True)]
        rows: list[Row] = []
        for at in range(max(len(lines) for lines in wrapped)):
            row: list[Span] = []
            for column, lines in enumerate(wrapped):
                if column:
                    row.append((" │ ", "table.rule"))
                spans = lines[at] if at < len(lines) else ()
                row += _aligned(spans, widths[column], self._aligns[column])
            rows.append(tuple(row))
        return rows

    def _stacked(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for cells in self._rows:
            if rows or self._continues:
                rows.append((("─" * min(width, 12), "table.rule"),))
            for head, cell in zip(self._header, cells, strict=True):
                rows += wrap([*head, (": ", "table.rule"), *cell], width)
        if rows or self._continues:
            return rows
        return wrap([(" │ ".join(t for h in self._header for t, _ in h), "")], width)


def _cell_width(cell: Cell) -> int:
    text = "".join(part for part, _ in cell)
    if "\n" in text:
        return max(width_of([(part, "")]) for part in text.split("\n"))
    return width_of(cell)


def _fit(natural: Sequence[int], available: int) -> tuple[int, ...]:
    """Narrow the widest columns, and only those, until all fit."""
    if sum(natural) <= available:
        return tuple(natural)
    fitted = [0] * len(natural)
    left, waiting = available, sorted(range(len(natural)), key=lambda column: natural[column])
    for done, column in enumerate(waiting):
        fitted[column] = max(1, min(natural[column], left // (len(waiting) - done)))
        left -= fitted[column]
    return tuple(fitted)


def _aligned(spans: Sequence[Span], width: int, align: Align) -> list[Span]:
    space = max(0, width - width_of(spans))
    before = {"left": 0, "right": space, "center": space // 2}[align]
    return [span for span in ((" " * before, ""), *spans, (" " * (space - before), "")) if span[0]]
