"""Which item stands at which row, when the heights of the items change all the time."""

from bisect import bisect_right
from itertools import accumulate


class Heights:
    """Heights of items one below the other; changing a late one is cheap."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tops: list[int] = [0]  # one more than heights, but only the first so many are true
        self._true = 1

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add an item at the end."""
        self._heights.append(height)

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._true = min(self._true, index + 1)

    def clear(self) -> None:
        """Forget all items."""
        self._heights.clear()
        self._true = 1

    def top(self, index: int) -> int:
        """Return the row an item begins at; the number of items gives the total."""
        if index >= self._true:
            known = self._true - 1
            tops = accumulate(self._heights[known:], initial=self._tops[known])
            self._tops[known:] = tops
            self._true = len(self._tops)
        return self._tops[index]

    @property
    def total(self) -> int:
        """The height of everything."""
        return self.top(len(self._heights))

    def at(self, row: int) -> int:
        """Return the item that covers a row; the last one for rows beyond the end."""
        total = self.total
        row = min(max(row, 0), total - 1)
        return min(bisect_right(self._tops, row, 0, self._true) - 1, len(self._heights) - 1)
