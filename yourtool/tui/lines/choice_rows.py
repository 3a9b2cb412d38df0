"""Rows of a list of choices.

The choices are below the headings of their groups and are formatted for a width.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content

from yourtool.agent.commands.base import Choice
from yourtool.foundation.text import printable

Row: TypeAlias = Choice | str
"""A choice, or a line that cannot be chosen: a heading or a note."""

_GAP = 2
_MIN_TITLE_WIDTH = 16
"""Width to which the titles are truncated for the first column; for others they are not."""


def group_choices(choices: Iterable[Choice]) -> list[Row]:
    """Return the choices under the headings of their groups, in the order of their first rows."""
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        groups.setdefault(choice.group, []).append(choice)
    rows = list[Row]()
    for name, members in groups.items():
        rows += [name, *members] if name else members
    return rows


class RowFormat:
    """Formats the rows of one list; the widths of its columns do not depend on the filter."""

    def __init__(self, choices: Sequence[Choice], columns: Sequence[str]) -> None:
        """`columns`: the headings of the columns after the title."""
        self._columns = columns
        self._mark_width = max(
            (cell_len(each.mark) + 1 for each in choices if each.mark), default=0
        )
        aligned = [each for each in choices if each.cells]
        self._title_width = max((cell_len(printable(each.title)) for each in aligned), default=0)
        self._widths = [
            max(cell_len(name), *(cell_len(printable(each.cells[at])) for each in aligned))
            for at, name in enumerate(columns if aligned else ())
        ]

    def heading(self, width: int) -> Content:
        """Return the headings of the columns."""
        return Content.styled(self._line("", "", self._columns, width), "dim")

    def row(self, row: Row, width: int) -> Content:
        """Return a row of at most `width` columns; of one line in a list with columns, else two."""
        if isinstance(row, str):
            return Content.styled(_shorten(row, width), "dim").truncate(width, ellipsis=True)
        if row.cells:
            return Content(self._line(row.mark, row.title, row.cells, width))
        text = f"{row.mark:<{self._mark_width}}{_shorten(row.title, width)}"
        title = Content.styled(text, "dim" if row.is_muted else "").truncate(width, ellipsis=True)
        if self._columns or not row.detail:
            return title
        about = Content.styled(_shorten(row.detail, width), "dim").truncate(width, ellipsis=True)
        return Content.assemble(title, "\n", " " * max(_GAP, self._mark_width), about)

    def _line(self, mark: str, title: str, cells: Sequence[str], width: int) -> str:
        """Return one line with as many of the first cells as fit."""
        left, count = width - self._mark_width, 0
        for column in self._widths:
            limit = self._title_width if count else min(self._title_width, _MIN_TITLE_WIDTH)
            if limit + _GAP + column > left:
                break
            left -= _GAP + column
            count += 1
        texts = [_fit(title, min(self._title_width, left))]
        texts += [_fit(cell, self._widths[at]) for at, cell in enumerate(cells[:count])]
        return f"{mark:<{self._mark_width}}{(' ' * _GAP).join(texts)}".rstrip()


def _fit(text: str, width: int) -> str:
    """Return a text truncated or padded to a width."""
    return Content(_shorten(text, width)).truncate(width, ellipsis=True, pad=True).plain


def _shorten(text: str, width: int) -> str:
    """Return the start of a text, long enough to fill `width` columns."""
    return printable(text[: 2 * width])
