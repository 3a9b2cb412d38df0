"""A unified diff, drawn with line numbers.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from yourtool.text import escape_line_pieces, escape_pieces, printable
from yourtool.tui.styled_lines import TAB, Source, StyledLine, cut_pieces, expand_tabs, lines_of

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_RANGES = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.MULTILINE)
_FILE = re.compile(r"\+\+\+ (?:b/)?(.*?)(?:\t.*)?")


class DiffSize(NamedTuple):
    """How much a diff changes."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} −{self.removed}"


class _Row(NamedTuple):
    kind: str
    """` `, `+`, `-`, `@` for the gap between hunks, `f` for a file, `\\` for a remark."""
    number: int
    text: str


def diff_size(diff: str) -> DiffSize:
    """Count the lines a unified diff adds and removes."""
    kinds = [row.kind for row in _rows(diff)]
    return DiffSize(kinds.count("+"), kinds.count("-"))


def approved_line(text: str) -> str:
    """Return one line of a file for a question; a tab is an arrow and the spaces to its stop."""
    return "".join(approved_pieces(text))


def approved_pieces(text: str) -> Iterator[str]:
    """Return what `approved_line` does, piece by piece."""
    begin = column = 0
    while (end := text.find("\t", begin)) >= 0:
        for piece in escape_pieces(text[begin:end]):
            column += cell_len(piece)
            yield piece
        column += 1
        yield "⇥" + " " * (-column % TAB)
        begin, column = end + 1, 0
    yield from escape_line_pieces(text[begin:])


def printable_pieces(text: str) -> Iterator[str]:
    """Return one line of a file as it is shown where nothing is approved."""
    yield expand_tabs(printable(text))


def diff_lines(
    diff: str, width: int, show: Callable[[str], Iterable[str]] = printable_pieces
) -> Iterator[StyledLine]:
    """Return the rows of a unified diff, each made when it is asked for.

    File names are shown where there are several. `show` makes a line fit to be drawn.
    """
    several = _has_several_files(diff)
    digits = len(str(_highest_number(diff)))
    is_first = True
    for row in _rows(diff):
        if row.kind == "f":
            if several:
                yield StyledLine((("".join(show(row.text)), "diff.file"),), Source(row.text))
        elif row.kind == "@":
            if is_first:
                continue
            yield StyledLine(((" " * digits + " ⋮ " + "".join(show(row.text)), "diff.hunk"),))
        else:
            yield from _changed(row, show(row.text), digits, width)
        is_first = is_first and row.kind == "f" and not several


def _has_several_files(diff: str) -> bool:
    """Whether there are names of several files, or lines that look the same."""
    return diff.startswith("+++ ") + diff.count("\n+++ ") > 1


def _highest_number(diff: str) -> int:
    """Return a number that no line of the diff goes beyond, as its hunks give them."""
    ranges = _RANGES.findall(diff)
    return (
        max(
            (int(at) + int(n or 1) for a, b, c, d in ranges for at, n in ((a, b), (c, d))),
            default=1,
        )
        - 1
    )


def _changed(row: _Row, shown: Iterable[str], digits: int, width: int) -> Iterator[StyledLine]:
    ink = {"+": "diff.added", "-": "diff.removed"}.get(row.kind, "")
    mark = f"{ink}.mark" if ink else "diff.number"
    numbers = f"{ink} diff.number".strip()
    number = f"{row.number:>{digits}} " if row.number else " " * (digits + 1)
    source = Source(row.text)
    sign = "−" if row.kind == "-" else row.kind
    for at, text in enumerate(cut_pieces(shown, max(8, width - digits - 3))):
        head = (
            (number if at == 0 else " " * (digits + 1), numbers),
            (f"{sign} " if at == 0 else "  ", mark),
        )
        spans = (*head, (text, ink)) if text else head
        yield StyledLine(spans, source, ink, "" if at else "\n")


def _rows(diff: str) -> Iterator[_Row]:
    old = new = left_old = left_new = 0
    for line in lines_of(diff):
        if left_old <= 0 and left_new <= 0:
            if hunk := _HUNK.fullmatch(line):
                old, new = int(hunk[1]), int(hunk[3])
                left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
                yield _Row("@", 0, hunk[5])
            elif file := _FILE.fullmatch(line):
                yield _Row("f", 0, file[1])
            elif line.startswith("\\"):
                yield _Row("\\", 0, line[2:])
            continue
        sign, text = line[:1], line[1:]
        if sign == "\\":
            yield _Row("\\", 0, line[2:])
        elif sign == "+":
            yield _Row("+", new, text)
            new, left_new = new + 1, left_new - 1
        elif sign == "-":
            yield _Row("-", old, text)
            old, left_old = old + 1, left_old - 1
        else:
            yield _Row(" ", new, text)
            old, new = old + 1, new + 1
            left_old, left_new = left_old - 1, left_new - 1
