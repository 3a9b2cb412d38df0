"""Column layout of items.

Rows are laid out when they become visible. Items that were never visible have an estimated height;
when the user scrolls up to them, the rows below do not move.
"""

import time
from collections.abc import Callable, Sequence
from itertools import count, islice

from yourtool.tui.lines.styled_lines import BLANK, StyledLine
from yourtool.tui.transcript.heights import Heights
from yourtool.tui.transcript.items import Item

_MAX_DISTANCE = 400
"""Items around the visible ones whose rows are not discarded."""
_MAX_ESTIMATES = 5_000
"""Items whose heights are estimated at once."""
_NO_ROWS = (1 << 60, 0)


class ItemLayout:
    """Stacked items of one width; `items` may grow, `add_new_items` gives the new ones a place."""

    def __init__(self, items: Sequence[Item] = (), width: int = 1) -> None:
        self.items = items
        self.width = width
        self._heights = Heights()
        self._index: dict[Item, int] = {}
        self._laid_out: set[int] = set()  # items that have rows
        self._partial_items: set[Item] = set()  # visible items whose rows are not all built
        self._changed_rows = _NO_ROWS  # the first, and the one after the last

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """The height of all items."""
        return self._heights.total

    @property
    def is_partial(self) -> bool:
        """Whether long texts that are visible have more rows; `lay_out_more` builds them."""
        return bool(self._partial_items)

    def top(self, index: int) -> int:
        """Return the first row of an item, which may be a gap; after the last item, the total."""
        return self._heights.top(index)

    def height(self, index: int) -> int:
        """Return the number of rows of an item with its gap; 0 after the last item."""
        return self.top(index + 1) - self.top(index) if index < len(self) else 0

    def index_at(self, row: int) -> int:
        """Return the item that covers a row; the last one for rows beyond the end."""
        return self._heights.index_at(row)

    def find_index(self, item: Item) -> int | None:
        """Return the position of an item among the others; None if it has no place."""
        return self._index.get(item)

    def find_next(self, at: int, step: int, accepts: Callable[[Item], bool]) -> int | None:
        """Return the position of the next accepted item in a direction; None at the end."""
        at += step
        while 0 <= at < len(self):
            if accepts(self.items[at]):
                return at
            at += step
        return None

    def has_rows(self, index: int) -> bool:
        """Whether the rows of an item belong to its place."""
        return index in self._laid_out

    def gap(self, index: int) -> int:
        """Return the number of blank rows before an item."""
        if index == 0:
            return 0
        items = self.items
        return 0 if items[index].compact and items[index - 1].compact else 1

    def row_at(self, y: int) -> tuple[Item | None, int, StyledLine]:
        """Return the item, the row within it (-1: the gap before) and the line at a row."""
        if not 0 <= y < self.total:
            return None, -1, BLANK
        index = self.index_at(y)
        item, at = self.items[index], y - self.top(index) - self.gap(index)
        if 0 <= at < len(item.rows):
            return item, at, item.rows[at]
        return item, -1, BLANK

    def add_new_items(self) -> None:
        """Append new items with an estimated height, those far from the end with the mean."""
        items, first = self.items, len(self._heights)
        far = max(0, len(items) - first - _MAX_ESTIMATES)
        near = [self._estimate(index) for index in range(first + far, len(items))]
        self._heights.extend([sum(near) // max(1, len(near))] * far)
        self._heights.extend(near)
        self._index.update(zip(islice(items, first, None), count(first)))

    def update_width(self, width: int) -> None:
        """Estimate the items whose rows are outdated; the others keep their heights."""
        self.width = width
        for index in self._laid_out:
            if self.items[index].layout_width != width:
                self._heights[index] = self._estimate(index)
        self.add_new_items()

    def measure_changes(
        self, changed: set[Item], deadline: float, *, exactly: bool = False
    ) -> None:
        """Update changed items until a time; those that are complete leave the set.

        Unless `exactly`, the heights of items that were never visible are estimated.
        """
        first, last = self._changed_rows
        for item in sorted(changed, key=self._index.__getitem__):
            top, bottom = self._measure(item, exactly=exactly)
            first, last = min(first, top), max(last, bottom)
            if not item.is_partial:
                changed.discard(item)
            if time.monotonic() > deadline:
                break
        self._changed_rows = (first, last)

    def take_changed_rows(self) -> tuple[int, int]:
        """Return the first row that changed since the last call, and the row after the last one."""
        rows, self._changed_rows = self._changed_rows, _NO_ROWS
        return rows

    def lay_out(self, index: int) -> None:
        """Build the rows of an item."""
        item = self.items[index]
        if item.layout_width != self.width or index not in self._laid_out:
            item.lay_out(self.width)
            self._heights[index] = self.gap(index) + self._height(item)
            if item.is_partial:
                self._partial_items.add(item)
        self._laid_out.add(index)

    def lay_out_from(self, y: int, height: int, *, upwards: bool) -> int:
        """Lay out the items at a row and below; return the row that it is now.

        After scrolling `upwards`, the rows below an item that got its real height do not move.
        """
        index = self.index_at(y)
        while index < len(self) and self.top(index) < y + height:
            before, top = self._heights[index], self.top(index)
            self.lay_out(index)
            if top < y and upwards:
                y = max(0, y + self._heights[index] - before)
                index = self.index_at(y)
                if self.items[index].layout_width != self.width:
                    continue
            index += 1
        return y

    def lay_out_end(self, height: int) -> None:
        """Lay out the last items."""
        index, seen = len(self) - 1, 0
        while index >= 0 and seen < height:
            self.lay_out(index)
            seen += self._heights[index]
            index -= 1

    def lay_out_more(self, deadline: float) -> None:
        """Build more rows of long texts until a time."""
        while self._partial_items and time.monotonic() < deadline:
            item = self._partial_items.pop()
            self._measure(item)
            if item.is_partial:
                self._partial_items.add(item)

    def discard_far_rows(self, y: int) -> None:
        """Discard the rows of items that are far from a row."""
        if len(self._laid_out) <= 2 * _MAX_DISTANCE:
            return
        here = self.index_at(y)
        for index in [index for index in self._laid_out if abs(index - here) > _MAX_DISTANCE]:
            item = self.items[index]
            if not item.is_streaming:
                item.discard_rows()
                self._laid_out.discard(index)

    def _estimate(self, index: int) -> int:
        return self.gap(index) + self.items[index].estimate(self.width)

    def _height(self, item: Item) -> int:
        """Return the height of an item, estimated if a complete text is not fully laid out."""
        if item.is_partial and not item.is_streaming:
            return max(len(item.rows), item.estimate(self.width))
        return len(item.rows)

    def _measure(self, item: Item, *, exactly: bool = True) -> tuple[int, int]:
        """Update a changed item; return its first changed row and the row after its last one.

        Unless `exactly`, the height of an item that was never visible is estimated.
        """
        index = self._index[item]
        gap, top, before = self.gap(index), self.top(index), self._heights[index]
        changed = 0
        if not exactly and not item.layout_width and not item.rows:
            self._heights[index] = self._estimate(index)
        else:
            changed = gap + item.lay_out(self.width)
            self._heights[index] = gap + self._height(item)
            self._laid_out.add(index)
        return top + changed, top + max(before, self._heights[index])
