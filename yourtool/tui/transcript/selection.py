"""The text that a mouse selection copies."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from yourtool.tui.styled_lines import StyledLine


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
