"""What is copied when rows of the screen are selected."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from yourtool.tui.styled_lines import StyledLine


class CopiedRow(NamedTuple):
    """A selected row, from one character to before another; -1 is the end."""

    line: StyledLine
    start: int
    end: int
    begun_before: bool
    """The row above belongs to the same block."""
    goes_on: bool
    """The row below belongs to the same block."""

    @property
    def text(self) -> str:
        """The selected words."""
        return self.line.text[self.start : None if self.end < 0 else self.end]

    @property
    def whole(self) -> bool:
        """Whether nothing of the row is left out."""
        return self.start == 0 and (self.end < 0 or self.end >= len(self.line.text))


def copied(rows: Sequence[CopiedRow]) -> str:
    """Return the source of blocks that are selected whole, and the words of the others."""
    parts: list[str] = []
    for _, group in groupby(rows, key=lambda row: id(row.line.source) if row.line.source else None):
        block = list(group)
        source = block[0].line.source
        if source is None:
            parts += ["" for row in block if not row.line.spans]
        elif (
            all(row.whole for row in block) and not block[0].begun_before and not block[-1].goes_on
        ):
            parts.append(source.text)
        else:
            words = block[0].text
            for row in block[1:]:
                words += row.line.joint + row.text
            parts.append(words)
    return "\n".join(parts)
