"""Unified diffs, drawn with line numbers.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from yourtool.text import escape_line_pieces, escape_pieces, printable
from yourtool.tui.styled_lines import TAB, Source, StyledLine, expand_tabs, iter_lines, wrap_pieces

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_RANGES = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.MULTILINE)
_FILE = re.compile(r"\+\+\+ (?:b/)?(.*?)(?:\t.*)?")


class DiffSize(NamedTuple):
    """The numbers of added and removed lines."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} −{self.removed}"


class _DiffRow(NamedTuple):
    kind: str
    """` `, `+`, `-`, `@` (gap between hunks), `f` (file name) or `\\` (comment of `diff`)."""
    number: int
    text: str


def diff_size(diff: str) -> DiffSize:
    """Count the lines a unified diff adds and removes."""
    kinds = [row.kind for row in _parse_rows(diff)]
    return DiffSize(kinds.count("+"), kinds.count("-"))


def approval_line(text: str) -> str:
    """Return a line as the approval prompt shows it; a tab is an arrow and spaces to its stop."""
    return "".join(approval_pieces(text))


def approval_pieces(text: str) -> Iterator[str]:
    """Yield the pieces of `approval_line`."""
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
    """Yield a line as it is shown outside of the approval prompt."""
    yield expand_tabs(printable(text))


def diff_lines(
    diff: str, width: int, show: Callable[[str], Iterable[str]] = printable_pieces
) -> Iterator[StyledLine]:
    """Yield the rows of a unified diff.

    File names are shown if there are several. `show` escapes the characters of a line.
    """
    several = _has_several_files(diff)
    digits = len(str(_highest_number(diff)))
    is_first = True
    for row in _parse_rows(diff):
        if row.kind == "f":
            if several:
                yield StyledLine((("".join(show(row.text)), "diff.file"),), Source(row.text))
        elif row.kind == "@":
            if is_first:
                continue
            yield StyledLine(((" " * digits + " ⋮ " + "".join(show(row.text)), "diff.hunk"),))
        else:
            yield from _line_rows(row, show(row.text), digits, width)
        is_first = is_first and row.kind == "f" and not several


def _has_several_files(diff: str) -> bool:
    """Whether several lines look like file names."""
    return diff.startswith("+++ ") + diff.count("\n+++ ") > 1


def _highest_number(diff: str) -> int:
    """Return an upper bound of the line numbers, from the hunk headers."""
    ranges = _RANGES.findall(diff)
    return (
        max(
            (int(at) + int(n or 1) for a, b, c, d in ranges for at, n in ((a, b), (c, d))),
            default=1,
        )
        - 1
    )


def _line_rows(
    row: _DiffRow, shown: Iterable[str], digits: int, width: int
) -> Iterator[StyledLine]:
    style = {"+": "diff.added", "-": "diff.removed"}.get(row.kind, "")
    mark = f"{style}.mark" if style else "diff.number"
    numbers = f"{style} diff.number".strip()
    number = f"{row.number:>{digits}} " if row.number else " " * (digits + 1)
    source = Source(row.text)
    sign = "−" if row.kind == "-" else row.kind
    for at, text in enumerate(wrap_pieces(shown, max(8, width - digits - 3))):
        head = (
            (number if at == 0 else " " * (digits + 1), numbers),
            (f"{sign} " if at == 0 else "  ", mark),
        )
        spans = (*head, (text, style)) if text else head
        yield StyledLine(spans, source, style, "" if at else "\n")


def _parse_rows(diff: str) -> Iterator[_DiffRow]:
    old = new = remaining_old = remaining_new = 0
    for line in iter_lines(diff):
        if remaining_old <= 0 and remaining_new <= 0:
            if hunk := _HUNK.fullmatch(line):
                old, new = int(hunk[1]), int(hunk[3])
                remaining_old, remaining_new = int(hunk[2] or 1), int(hunk[4] or 1)
                yield _DiffRow("@", 0, hunk[5])
            elif file := _FILE.fullmatch(line):
                yield _DiffRow("f", 0, file[1])
            elif line.startswith("\\"):
                yield _DiffRow("\\", 0, line[2:])
            continue
        sign, text = line[:1], line[1:]
        if sign == "\\":
            yield _DiffRow("\\", 0, line[2:])
        elif sign == "+":
            yield _DiffRow("+", new, text)
            new, remaining_new = new + 1, remaining_new - 1
        elif sign == "-":
            yield _DiffRow("-", old, text)
            old, remaining_old = old + 1, remaining_old - 1
        else:
            yield _DiffRow(" ", new, text)
            old, new = old + 1, new + 1
            remaining_old, remaining_new = remaining_old - 1, remaining_new - 1
