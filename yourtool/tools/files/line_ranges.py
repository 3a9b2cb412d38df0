"""Line ranges."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from yourtool.errors import ToolError

END = sys.maxsize
"""The last line of a range that has no end."""
_MAX_RANGES, _MAX_PART = 50, 40
"""Number of ranges, and of characters of one."""
_RANGE = re.compile(r"(\d{1,9})(?:([-–:])(\d{0,9}))?", re.ASCII)


class LineRange(NamedTuple):
    """Lines from the first to the last one, counted from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.last == END:
            return f"{self.first}-"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def parse_ranges(text: str) -> tuple[LineRange, ...]:
    """Return ranges such as `1-40,200-260` in the order of the lines; those that touch are one.

    A range without an end, such as `200-`, contains all further lines.

    Raises:
        ToolError: a part is no range, or there are too many.
    """
    parts = text.split(",", _MAX_RANGES)
    if len(parts) > _MAX_RANGES:
        raise ToolError(f"`ranges` has more than {_MAX_RANGES} parts; read fewer at a time")
    return tuple(_join(sorted(map(_parse_range, parts))))


def _parse_range(part: str) -> LineRange:
    part = "".join(part.split())[:_MAX_PART]
    found = _RANGE.fullmatch(part)
    if found is None:
        raise ToolError(f"`{part}` is no range of lines; use a form such as `1-40,200-260`")
    first, dash, last = int(found[1]), found[2], found[3]
    end = int(last) if last else END if dash else first
    if not 1 <= first <= end:
        raise ToolError(f"`{part}` is no range of lines: it ends before it begins")
    return LineRange(first, end)


def _join(ranges: Iterable[LineRange]) -> Iterator[LineRange]:
    current: LineRange | None = None
    for each in ranges:
        if current is not None and each.first <= current.last + 1:
            current = LineRange(current.first, max(current.last, each.last))
        else:
            if current is not None:
                yield current
            current = each
    if current is not None:
        yield current


def select_lines(
    lines: Iterable[tuple[int, str]], ranges: Sequence[LineRange]
) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines that are in ranges, without reading further than the last one."""
    at = 0
    for number, line in lines:
        while number > ranges[at].last:
            at += 1
            if at == len(ranges):
                return
        if number >= ranges[at].first:
            yield number, line


def without_lines_before(ranges: Iterable[LineRange], number: int) -> tuple[LineRange, ...]:
    """Return what remains of ranges from a line on."""
    return tuple(
        LineRange(max(each.first, number), each.last) for each in ranges if each.last >= number
    )
