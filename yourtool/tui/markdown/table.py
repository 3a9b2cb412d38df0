"""Markdown tables.

Cells are measured when they arrive, and columns are fitted into the available width. Syntax:
https://github.github.com/gfm/#tables-extension-.
"""

import re
from collections.abc import Sequence
from copy import copy
from typing import Literal, TypeAlias

from yourtool.tui.lines.styled_lines import Span, cell_width, wrap
from yourtool.tui.markdown.inline import parse_inline

Align: TypeAlias = Literal["left", "right", "center"]
Cell: TypeAlias = list[Span]
Row: TypeAlias = tuple[Span, ...]

MAX_COLUMNS = 100
"""Largest number of columns; lines with more are shown as text."""
MAX_ROWS = 200
MAX_CHARACTERS = 8000
"""Characters of the rows that are laid out together; later rows reuse the column widths."""

_MARK = re.compile(":?-+:?")
_MARKS = re.compile("[-:| \t]+")
_BAR = re.compile(r"(?<!\\)\|")
_MIN_COLUMN = 6
"""Least average column width; below it, each row becomes a list of named cells."""


def split_cells(line: str) -> list[str]:
    """Split a table row at its bars; `\\|` is a literal bar."""
    text = line.strip()
    if text.startswith("|"):
        text = text[1:]
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(text)]


def parse_alignments(header: str, line: str) -> tuple[Align, ...] | None:
    """Return the column alignments if `line` makes `header` a table header; otherwise None."""
    if "|" not in header or not _MARKS.fullmatch(line):
        return None
    marks = split_cells(line)
    if len(marks) > MAX_COLUMNS or not all(map(_MARK.fullmatch, marks)):
        return None
    if len(marks) != len(split_cells(header)):
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
    """The rows of a table, laid out once per set of column widths."""

    def __init__(self, header: str, aligns: tuple[Align, ...]) -> None:
        self.source: list[str] = []
        """The source lines."""
        self._aligns = aligns
        self._continues = False
        self._size = 0
        self._header = [parse_inline(cell, "table.head") for cell in split_cells(header)]
        self._rows: list[list[Cell]] = []
        self._natural_widths = [max(1, _cell_width(cell)) for cell in self._header]
        self._layout: list[Row] = []
        self._layout_rows = 0
        self._layout_widths: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the rows should be settled, so that they are not laid out again."""
        return len(self._rows) >= MAX_ROWS or self._size >= MAX_CHARACTERS

    def continuation(self) -> "Table":
        """Return an empty table that continues this one."""
        table = copy(self)
        table.source, table._rows, table._size = [], [], 0
        table._continues = True
        table._layout, table._layout_rows = [], 0
        return table

    def add(self, line: str, source: str) -> None:
        """Add a row; missing cells are empty, surplus cells are dropped."""
        self.source.append(source)
        self._size += len(line)
        texts = split_cells(line)[: len(self._header)]
        texts += [""] * (len(self._header) - len(texts))
        row = [parse_inline(text) for text in texts]
        self._rows.append(row)
        self._natural_widths = [
            max(before, _cell_width(cell))
            for before, cell in zip(self._natural_widths, row, strict=True)
        ]

    def rows(self, width: int) -> list[Row]:
        """Return the table as rows of at most `width` cells."""
        columns = len(self._header)
        available = width - 3 * (columns - 1)
        if self._continues:
            stacked, widths = not self._layout_widths, self._layout_widths
        else:
            stacked = (
                available < columns * min(_MIN_COLUMN, max(self._natural_widths)) and columns > 1
            )
            widths = _fit_columns(self._natural_widths, max(columns, available))
        if stacked:
            return self._stacked(width)
        if widths != self._layout_widths:
            rule: Row = (("─┼─".join("─" * size for size in widths), "table.rule"),)
            self._layout = [*self._lay_out_row(self._header, widths), rule]
            self._layout_rows, self._layout_widths = 0, widths
        for row in self._rows[self._layout_rows :]:
            self._layout += self._lay_out_row(row, widths)
        self._layout_rows = len(self._rows)
        return self._layout

    def _lay_out_row(self, cells: Sequence[Cell], widths: Sequence[int]) -> list[Row]:
        wrapped = [wrap(cell, size) for cell, size in zip(cells, widths, strict=True)]
        rows: list[Row] = []
        for at in range(max(len(lines) for lines in wrapped)):
            row: list[Span] = []
            for column, lines in enumerate(wrapped):
                if column:
                    row.append((" │ ", "table.rule"))
                spans = lines[at] if at < len(lines) else ()
                row += _align(spans, widths[column], self._aligns[column])
            rows.append(tuple(row))
        return rows

    def _stacked(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for cells in self._rows:
            if rows or self._continues:
                rows.append((("─" * min(width, 12), "table.rule"),))
            for head, cell in zip(self._header, cells, strict=True):
                if cell:  # a row may have one cell of a hundred
                    rows += wrap([*head, (": ", "table.rule"), *cell], width)
        if rows or self._continues:
            return rows
        return wrap([(" │ ".join(t for h in self._header for t, _ in h), "")], width)


def _cell_width(cell: Cell) -> int:
    text = "".join(part for part, _ in cell)
    if "\n" in text:
        return max(cell_width([(part, "")]) for part in text.split("\n"))
    return cell_width(cell)


def _fit_columns(natural: Sequence[int], available: int) -> tuple[int, ...]:
    """Return column widths that fit; only the widest columns are narrowed."""
    if sum(natural) <= available:
        return tuple(natural)
    fitted = [0] * len(natural)
    left, waiting = available, sorted(range(len(natural)), key=lambda column: natural[column])
    for done, column in enumerate(waiting):
        fitted[column] = max(1, min(natural[column], left // (len(waiting) - done)))
        left -= fitted[column]
    return tuple(fitted)


def _align(spans: Sequence[Span], width: int, align: Align) -> list[Span]:
    space = max(0, width - cell_width(spans))
    before = {"left": 0, "right": space, "center": space // 2}[align]
    return [span for span in ((" " * before, ""), *spans, (" " * (space - before), "")) if span[0]]
