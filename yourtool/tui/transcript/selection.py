"""The text that a mouse selection copies."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from textual.geometry import Offset
from textual.selection import Selection

from yourtool.tui.lines.slices import Slices
from yourtool.tui.lines.styled_lines import BLANK, StyledLine
from yourtool.tui.terminal.clipboard import MAX_COPIED_CHARACTERS
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.painting import GUTTER

_LONG_SELECTION = 200
"""Rows of a selection that are copied in slices."""


class SelectedRow(NamedTuple):
    """A selected row with its character range; an `end` of -1 is the end of the row."""

    line: StyledLine
    start: int
    end: int
    continues_above: bool
    """The row above belongs to the same block."""
    continues_below: bool
    """The row below belongs to the same block."""

    @property
    def text(self) -> str:
        """The selected characters."""
        return self.line.text[self.start : None if self.end < 0 else self.end]

    @property
    def is_complete(self) -> bool:
        """Whether the entire row is selected."""
        return self.start == 0 and (self.end < 0 or self.end >= len(self.line.text))


def selection_lines(rows: Sequence[SelectedRow]) -> list[str]:
    """Return the source of blocks that are completely selected, and the visible text of others."""
    parts: list[str] = []
    for _, group in groupby(rows, key=lambda row: id(row.line.source) if row.line.source else None):
        block = list(group)
        source = block[0].line.source
        if source is None:
            parts += ["" for row in block if not row.line.spans]
        elif (
            all(row.is_complete for row in block)
            and not block[0].continues_above
            and not block[-1].continues_below
        ):
            parts.append(source.text)
        else:
            words = block[0].text
            for row in block[1:]:
                words += row.line.separator + row.text
            parts.append(words)
    return parts


def is_long(layout: ItemLayout, selection: Selection) -> bool:
    """Whether `selected_lines` may take too long for the event loop."""
    first, last = _selected_range(layout, selection)
    return last - first > _LONG_SELECTION or layout.is_partial


async def read_selection(layout: ItemLayout, selection: Selection) -> str:
    """Return the text of a long selection, read in slices so that keys are handled."""
    lines, length, slices = list[str](), 0, Slices()
    for more in selected_lines(layout, selection):
        lines += more
        length += sum(map(len, more)) + len(more)
        if length > MAX_COPIED_CHARACTERS:
            break
        if slices.is_over:
            await slices.pause()
    return "\n".join(lines).rstrip("\n")


def selected_lines(layout: ItemLayout, selection: Selection) -> Iterator[list[str]]:
    """Yield the selected text of each item, and empty lists while an item is laid out."""
    items, (start, end) = layout.items, selection
    if not items:
        return
    first_row, last_row = _selected_range(layout, selection)
    first, last = layout.index_at(first_row), layout.index_at(last_row)
    first_row -= layout.top(first)
    last_row -= layout.top(last)
    for index in range(first, last + 1):
        item = items[index]
        item.lay_out(layout.width)
        while item.is_partial and not item.is_streaming:
            yield []
            item.lay_out(layout.width)
        lines = [*(BLANK for _ in range(layout.gap(index))), *item.rows]
        begin = Offset(start.x if start else 0, first_row) if index == first else Offset()
        stop = Offset(end.x if end else -1, last_row if end else len(lines))
        yield selection_lines(
            _selected_rows(lines, begin, stop if index == last else Offset(-1, len(lines)))
        )
        if not layout.has_rows(index) and items is layout.items:
            item.discard_rows()


def _selected_range(layout: ItemLayout, selection: Selection) -> tuple[int, int]:
    """Return the first and the last selected row."""
    end = layout.total - 1
    return (
        min(max(0, selection.start.y), end) if selection.start else 0,
        min(selection.end.y, end) if selection.end else end,
    )


def _selected_rows(lines: Sequence[StyledLine], begin: Offset, stop: Offset) -> list[SelectedRow]:
    """Return the rows of an item from `begin` to `stop`, where -1 is the end of a row."""
    return [
        SelectedRow(
            line,
            max(0, begin.x - GUTTER) if at == begin.y else 0,
            stop.x - GUTTER if at == stop.y and stop.x >= 0 else -1,
            at > 0 and lines[at - 1].source is line.source,
            at + 1 < len(lines) and lines[at + 1].source is line.source,
        )
        for at, line in enumerate(lines)
        if begin.y <= at <= stop.y
    ]
