"""Text search in a transcript.

The sources of all items are searched in slices. Items are laid out when their matches are shown.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from yourtool.tui.lines.slices import Slices
from yourtool.tui.lines.styled_lines import StyledLine
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.layout import ItemLayout

_CHUNK = 100_000
"""Characters that are searched at once."""
_OVERLAP = 1_000
_MARKUP = "[*_`]*"
"""Markdown that a source may have between two characters that are shown side by side."""
_BAR = "│ "

RowSpans = dict[int, tuple[int, int]]
"""The characters of a match, by row of its item."""


class Hit(Struct):
    """An item with matches."""

    item: Item
    count: int
    """Matches in the source; as soon as the item is shown, those in its rows."""


class Search:
    """The matches of a query, and the current one."""

    def __init__(self, query: str) -> None:
        flags = re.NOFLAG if any(map(str.isupper, query)) else re.IGNORECASE
        words = query.split()
        self._in_rows = re.compile(r"\s+".join(map(re.escape, words)), flags)
        between = "" if set(query) & set("*_`") else _MARKUP
        parts = (between.join(map(re.escape, word)) for word in words)
        self._in_source = re.compile(rf"{between}\s+{between}".join(parts), flags)
        self._hits: list[Hit] = []
        self._at = 0
        self._matches: list[RowSpans] = []  # those of the current hit
        self._number = 0  # of the current match in its item
        self._opened: Item | None = None  # folded again when another item is shown

    @property
    def item(self) -> Item | None:
        """The item with the current match."""
        return self._hits[self._at].item if self._hits else None

    @property
    def first_row(self) -> int:
        """The first row of the current match in its item."""
        return min(self._matches[self._number])

    @property
    def summary(self) -> str:
        """The number of the current match and of all matches."""
        if not self._hits:
            return "no match"
        before = sum(hit.count for hit in self._hits[: self._at])
        total = sum(hit.count for hit in self._hits)
        return f"{before + self._number + 1:,} of {total:,}"

    def span_at(self, item: Item, row: int) -> tuple[int, int] | None:
        """Return the characters of a row that belong to the current match."""
        if item is not self.item or not self._matches:
            return None
        return self._matches[self._number].get(row)

    async def find(self, layout: ItemLayout, row: int) -> None:
        """Find the items with matches, and start at or below a row of the layout."""
        slices, items = Slices(), tuple(layout.items)
        here = layout.index_at(row) if len(layout) else 0
        for index, item in enumerate(items):
            text, count = item.search_text, 0
            for begin in range(0, len(text), _CHUNK):
                end = begin + _CHUNK
                found = self._in_source.finditer(text, begin, end + _OVERLAP)
                count += sum(match.start() < end for match in found)
                if slices.is_over:
                    await slices.pause()
            if slices.is_over:
                await slices.pause()
            if count:
                self._at += index < here
                self._hits.append(Hit(item, count))
        self._at = min(self._at, max(0, len(self._hits) - 1))

    async def step(self, layout: ItemLayout, step: int) -> None:
        """Go to the current (0), next (1) or previous (-1) match, from the last to the first."""
        if step and self._matches and 0 <= self._number + step < len(self._matches):
            self._number += step
            return
        while self._hits:
            self._at = (self._at + step) % len(self._hits)
            self._matches, self._number = [], 0  # rows are painted in the meantime
            self._matches = await self._locate(layout, self._hits[self._at])
            if self._matches:
                self._number = 0 if step >= 0 else len(self._matches) - 1
                return
            del self._hits[self._at]  # only the source matches, for example an address
            self._at = self._at - 1 if step > 0 else min(self._at, max(0, len(self._hits) - 1))

    def fold(self, layout: ItemLayout) -> None:
        """Fold the item again that was unfolded for its matches, if there is one."""
        if self._opened is not None:
            self._opened.expand(False)
            self._lay_out(layout, self._opened)
            self._opened = None

    async def _locate(self, layout: ItemLayout, hit: Hit) -> list[RowSpans]:
        """Lay out an item completely, unfolded if some matches are hidden; return its matches."""
        item = hit.item
        if self._opened is not item:
            self.fold(layout)
        self._lay_out(layout, item)
        shown = find_in_rows(item.rows, self._in_rows)
        if item.foldable and not item.expanded and len(shown) < hit.count:
            item.expand(True)
            self._opened = item
            self._lay_out(layout, item)
        slices = Slices()
        while item.is_partial and not item.is_streaming:
            layout.measure_changes({item}, 0)
            if slices.is_over:
                await slices.pause()
        matches = find_in_rows(item.rows, self._in_rows)
        hit.count = len(matches)
        return matches

    def _lay_out(self, layout: ItemLayout, item: Item) -> None:
        if (index := layout.find_index(item)) is not None:
            layout.lay_out(index)


def find_in_rows(rows: Sequence[StyledLine], pattern: re.Pattern[str]) -> list[RowSpans]:
    """Return the matches in rows; one that is wrapped has characters in several rows."""
    parts: list[str] = []
    starts: list[int] = []  # offset of each row in the text
    skipped: list[int] = []  # characters before it that are decoration
    length = 0
    for row in rows:
        separator = row.separator if parts else ""
        text = row.text
        skip = len(_BAR) if text.startswith(_BAR) else 0
        starts.append(length + len(separator))
        skipped.append(skip)
        parts.append(separator + text[skip:])
        length += len(parts[-1])
    text = "".join(parts)
    matches: list[RowSpans] = []
    for match in pattern.finditer(text):
        spans: RowSpans = {}
        for row in range(bisect_right(starts, match.start()) - 1, len(starts)):
            if starts[row] >= match.end():
                break
            end = starts[row + 1] if row + 1 < len(starts) else length
            first = max(match.start(), starts[row]) - starts[row]
            last = min(match.end(), end) - starts[row]
            spans[row] = (first + skipped[row], last + skipped[row])
        matches.append(spans)
    return matches
