"""Indentation shift between file and model text."""

import re
from collections.abc import Sequence

from msgspec import Struct

_SPACE = re.compile(r"[^\S\n]*")
_TAB_WIDTHS = (4, 8, 2, 3)
"""In order of preference."""


class ShiftError(ValueError):
    """A line has less indentation than the shift removes."""


class Shift(Struct, frozen=True):
    """How the indentation of a piece of text differs from that in the file."""

    known: dict[str, str]
    """The indentation in the file for each one in the piece."""
    columns: int
    tab_width: int
    has_tabs: bool
    """Whether the file indents these lines with tabs."""
    added: str | None = None
    """Text before the indentation of every line, if the shift is that simple."""
    removed: str | None = None

    def apply(self, indentation: str) -> str:
        """Return the indentation in the file for a line of the new text.

        Raises:
            ShiftError: the line has less indentation than the shift removes.
        """
        if (known := self.known.get(indentation)) is not None:
            return known
        if self.added is not None:
            return self.added + indentation
        if self.removed is not None and indentation.startswith(self.removed):
            return indentation.removeprefix(self.removed)
        columns = _width(indentation, self.tab_width) + self.columns
        if columns < 0:
            raise ShiftError
        if not self.has_tabs:
            return " " * columns
        tabs, spaces = divmod(columns, self.tab_width)
        return "\t" * tabs + " " * spaces

    def describe(self) -> str:
        """Return a description of the shift for the result."""
        if not self.columns:
            return "with tabs and spaces exchanged in its indentation"
        return f"with its indentation shifted by {self.columns:+d} columns"


def indentation(line: str) -> str:
    """Return the white space at the start of a line."""
    found = _SPACE.match(line)
    return found.group() if found else ""


def find_shift(found: Sequence[str], old: Sequence[str]) -> Shift | None:
    """Return the one shift from `old` to the lines `found`; None if the lines differ in it."""
    pairs = {
        (indentation(theirs), indentation(ours))
        for theirs, ours in zip(old, found, strict=True)
        if theirs.strip()
    }
    known = dict(sorted(pairs))
    has_tabs = any("\t" in ours for _, ours in pairs)
    theirs, ours = min(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))
    added = ours[: len(ours) - len(theirs)] if ours.endswith(theirs) else None
    if added is not None and all(mine == added + other for other, mine in pairs):
        width = _width(added, _TAB_WIDTHS[0])
        return Shift(known, width, _TAB_WIDTHS[0], has_tabs, added=added)
    removed = theirs[: len(theirs) - len(ours)] if theirs.endswith(ours) else None
    if removed is not None and all(removed + mine == other for other, mine in pairs):
        width = _width(removed, _TAB_WIDTHS[0])
        return Shift(known, -width, _TAB_WIDTHS[0], has_tabs, removed=removed)
    shifts = list[Shift]()
    for tab_width in _TAB_WIDTHS:
        columns = {_width(mine, tab_width) - _width(other, tab_width) for other, mine in pairs}
        if len(columns) == 1:
            shifts.append(Shift(known, columns.pop(), tab_width, has_tabs))
    return min(shifts, key=lambda shift: abs(shift.columns), default=None)


def _width(text: str, tab_width: int) -> int:
    return len(text.expandtabs(tab_width))
