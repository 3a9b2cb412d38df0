"""A unified diff, drawn with line numbers.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from yourtool.text import escaped, escaped_line, printable
from yourtool.tui.lines import TAB, Line, Source, expand_tabs, wrap

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
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
    *parts, last = text.split("\t")
    shown = ""
    for part in parts:
        shown += escaped(part) + "⇥"
        shown += " " * (-cell_len(shown) % TAB)
    return shown + escaped_line(last)


def printable_line(text: str) -> str:
    """Return one line of a file as it is shown where nothing is approved."""
    return expand_tabs(printable(text))


def diff_lines(diff: str, width: int, show: Callable[[str], str] = printable_line) -> list[Line]:
    """Return the rows of a unified diff; file names are shown where there are several."""
    rows = list(_rows(diff))
    files = sum(row.kind == "f" for row in rows)
    digits = len(str(max((row.number for row in rows), default=0)))
    lines: list[Line] = []
    for row in rows:
        if row.kind == "f":
            if files > 1:
                lines.append(Line(((show(row.text), "diff.file"),), Source(row.text)))
        elif row.kind == "@":
            if lines:
                lines.append(Line(((" " * digits + " ⋮ " + show(row.text), "diff.hunk"),)))
        else:
            lines += _changed(row, show(row.text), digits, width)
    return lines


def _changed(row: _Row, text: str, digits: int, width: int) -> list[Line]:
    ink = {"+": "diff.added", "-": "diff.removed"}.get(row.kind, "")
    mark = f"{ink}.mark" if ink else "diff.number"
    number = f"{row.number:>{digits}} " if row.number else " " * (digits + 1)
    source = Source(row.text)
    available = max(8, width - digits - 3)
    sign = "−" if row.kind == "-" else row.kind
    return [
        Line(
            (
                (number if at == 0 else " " * (digits + 1), f"{ink} diff.number".strip()),
                (f"{sign} " if at == 0 else "  ", mark),
                *((part, f"{ink} {own}".strip()) for part, own in piece),
            ),
            source,
            ink,
            "" if at else "\n",
        )
        for at, piece in enumerate(wrap([(text, "")], available, words=False))
    ]


def _rows(diff: str) -> Iterator[_Row]:
    old = new = left_old = left_new = 0
    for line in diff.split("\n"):
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
