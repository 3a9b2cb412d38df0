"""Vertical positions of items."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """Heights of stacked items; changing one near the end is cheap."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tops: list[int] = [0]  # one more than heights; only the first `_valid` are up to date
        self._valid = 1

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def extend(self, heights: Iterable[int]) -> None:
        """Add items at the end."""
        self._heights.extend(heights)

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._valid = min(self._valid, index + 1)

    def clear(self) -> None:
        """Remove all items."""
        self._heights.clear()
        self._valid = 1

    def top(self, index: int) -> int:
        """Return the first row of an item; for the number of items, the total height."""
        if index >= self._valid:
            first = self._valid - 1
            tops = accumulate(self._heights[first:], initial=self._tops[first])
            self._tops[first:] = tops
            self._valid = len(self._tops)
        return self._tops[index]

    @property
    def total(self) -> int:
        """The height of all items."""
        return self.top(len(self._heights))

    def index_at(self, row: int) -> int:
        """Return the item that covers a row; the last one for rows beyond the end."""
        total = self.total
        row = min(max(row, 0), total - 1)
        return min(bisect_right(self._tops, row, 0, self._valid) - 1, len(self._heights) - 1)
