"""Final text of a terminal.

Commands redraw lines, such as progress bars. Of a line, the last state stays, as a terminal shows
it; it is final when `_MAX_ROWS` others follow it. Every character takes one column. Sequences:
https://ecma-international.org/publications-and-standards/standards/ecma-48/, 5.4, 5.6 and 8.3.
"""

import re
from typing import TypeAlias

_Row: TypeAlias = str | list[str]
"""A list has colours: their sequences come before the character of a cell."""

_MAX_ROWS = 100
_MAX_COLUMNS = 4_000
"""The start of a longer line is final."""
_MAX_COLOURS = 200
"""Characters of sequences before one character; older ones are dropped."""
_MAX_TAKEN_BACK, _MAX_SHOWN_AGAIN = 2_000, 1_000
"""Characters of a live text that one piece of output removes, or repeats instead."""
_CONTROL = re.compile(
    r"[\n\r\b]|\x1b(?:\[([0-?]{0,200})([ -/]{0,8}[@-~])"
    r"|[\]PX^_][^\n\x07\x1b]{0,8192}(?:\x07|(?=\x1b))|[ -/]{0,8}[0-OQ-WYZ\\`-~])"
    r"|(\x1b(?:\[[0-?]{0,200}[ -/]{0,8}|[\]PX^_][^\n\x07\x1b]{0,8192}|[ -/]{0,8})\Z)"
)
"""A control character, or a sequence; a control string also ends where another sequence starts.

The third group is an incomplete sequence at the end.
"""
_ERASURES = re.compile("\b+|[^\b]+")


class TerminalText:
    """Lines that can still change; returns the text before them as it becomes final."""

    def __init__(self, *, colours: bool) -> None:
        """`colours`: keep their sequences; all others are obeyed or removed."""
        self._keeps_colours = colours
        self._held = ""
        self._final: list[str] = []
        self._rows: list[_Row] = [""]
        self._row = self._column = 0
        self._settled = 0
        """Columns of the first row that are final."""
        self._colours = ""
        """Sequences before the next character."""

    @property
    def pending(self) -> str:
        """The text that can still change."""
        return "\n".join(map(_join, self._rows))[len(_join(self._rows[0][: self._settled])) :]

    def feed(self, text: str) -> str:
        """Add output, and return the text that becomes final."""
        plain = text.replace("\r\n", "\n")
        is_plain = not (self._held or self._colours or any(each in plain for each in "\x1b\r\b"))
        if is_plain and self._row == len(self._rows) - 1 and self._column == len(self._rows[-1]):
            self._append(plain)
        else:
            self._interpret(self._held + text)
        return self._take_final()

    def settle(self) -> str:
        """Make everything final, and return it; changes continue on a new line."""
        self._final.append(self.pending)
        if self._row == len(self._rows) - 1:
            self._rows = self._rows[-1:]
        else:
            self._rows = [""]
            self._final.append("\n")
        self._row, self._settled = 0, len(self._rows[0])
        return self._take_final()

    def close(self) -> str:
        """Return the rest, with an incomplete sequence as text."""
        self._write(self._held)
        self._held = ""
        return self.settle() + self._colours

    def _take_final(self) -> str:
        final, self._final = "".join(self._final), []
        return final

    def _interpret(self, text: str) -> None:
        at, self._held = 0, ""
        for found in _CONTROL.finditer(text):
            self._write(text[at : found.start()])
            self._obey(found)
            at = found.end()
        self._write(text[at:])

    def _obey(self, found: re.Match[str]) -> None:
        match found[0]:
            case "\n":
                self._row, self._column = self._row + 1, 0
                if self._row == len(self._rows):
                    self._rows.append("")
                    self._finish(len(self._rows) - _MAX_ROWS)
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case sequence if found[3] is not None:
                self._held = sequence
            case sequence if found[2] == "m":
                if self._keeps_colours:
                    is_short = len(self._colours) < _MAX_COLOURS
                    self._colours = self._colours + sequence if is_short else sequence
            case _ if found[2] is not None:
                number = found[1].partition(";")[0] or "0"
                if number.isdigit():  # others are private
                    self._move(found[2], min(int(number), _MAX_COLUMNS))
            case _:
                pass

    def _move(self, function: str, number: int) -> None:
        count = max(1, number)
        match function:
            case "A" | "F":
                self._row = max(0, self._row - count)
            case "B" | "E":
                self._row = min(len(self._rows) - 1, self._row + count)
            case "C":
                self._column = min(_MAX_COLUMNS, self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "K":
                self._erase(number)
            case "J" if number == 0:  # a cleared screen stays in the scrollback
                self._erase(0)
                del self._rows[self._row + 1 :]
            case _:
                pass
        if function in "EF":
            self._column = 0

    def _write(self, text: str) -> None:
        if not text:
            return
        self._reopen(self._column)
        row, end = self._rows[self._row], self._column + len(text)
        padding = " " * (self._column - len(row))
        if self._colours or isinstance(row, list):
            row = row if isinstance(row, list) else list(row)
            row.extend(padding)
            row[self._column : end] = [self._colours + text[0], *text[1:]]
            self._colours = ""
        else:
            row = row[: self._column] + padding + text + row[end:]
        self._rows[self._row], self._column = row, end
        if len(row) > _MAX_COLUMNS:
            self._cut(self._row)

    def _erase(self, mode: int) -> None:
        """Erase in the line (8.3.41): 0 from the cursor on, 1 up to it, 2 all."""
        row = self._rows[self._row]
        kept, blank = row[: self._column] if mode == 0 else row[:0], ""
        if mode == 1:
            blank, kept = " " * min(self._column + 1, len(row)), row[self._column + 1 :]
        if mode <= 2 and (blank or len(kept) < len(row)):
            self._reopen(self._column if mode == 0 else 0)
            self._rows[self._row] = blank + kept if isinstance(kept, str) else [*blank, *kept]

    def _append(self, text: str) -> None:
        """Add text without control characters other than line feeds at the end."""
        first, *others = text.rsplit("\n", _MAX_ROWS)
        if len(others) == _MAX_ROWS:
            self._final += (self.pending, first, "\n")
            self._rows, self._settled = list[_Row](others), 0
        else:
            self._write(first)
            self._rows += others
        self._row, self._column = len(self._rows) - 1, len(self._rows[-1])
        self._finish(len(self._rows) - _MAX_ROWS)
        if len(text) > _MAX_COLUMNS:
            long = (at for at, row in enumerate(self._rows) if len(row) > _MAX_COLUMNS)
            if (last := max(long, default=None)) is not None:
                self._cut(last)

    def _finish(self, count: int) -> None:
        """Make the first rows final."""
        if count > 0:
            rows, self._rows = self._rows[:count], self._rows[count:]
            rows[0] = rows[0][self._settled :]
            self._final += (_join(row) + "\n" for row in rows)
            self._row, self._settled = self._row - count, 0

    def _cut(self, row: int) -> None:
        """Make what is before the end of a long row final."""
        self._finish(row)
        long = self._rows[0]
        count = (len(long) - 1) // _MAX_COLUMNS * _MAX_COLUMNS
        self._final.append(_join(long[self._settled : count]))
        self._rows[0], self._settled = long[count:], max(0, self._settled - count)
        if self._row == 0:
            self._column = max(0, self._column - count)

    def _reopen(self, column: int) -> None:
        """Continue on a new line if a change at a column is in what is final."""
        if self._row == 0 and column < self._settled:
            self._final.append("\n")
            self._settled = 0


def _join(row: _Row) -> str:
    return row if isinstance(row, str) else "".join(row)


def apply_erasures(text: str) -> str:
    """Return a text in which each backspace has removed the character before it.

    Those that have none stay at the start.
    """
    if "\b" not in text:
        return text
    kept, missing = "", 0
    for run in _ERASURES.findall(text):
        if run[0] == "\b":
            missing += max(0, len(run) - len(kept))
            kept = kept[: -len(run)]
        else:
            kept += run
    return "\b" * missing + kept


def build_change(old: str, new: str) -> str:
    """Return what is added to a text to replace its end: backspaces, and the new end.

    If the start of a long text changes, only its new end is shown again, on a new line.
    """
    if new.startswith(old):
        return new[len(old) :]
    low, high = 0, min(len(old), len(new))
    while low < high:  # bisection, because it compares in few calls
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    if len(old) - low > _MAX_TAKEN_BACK:
        return "\n" + new[-_MAX_SHOWN_AGAIN:]
    return "\b" * (len(old) - low) + new[low:]
