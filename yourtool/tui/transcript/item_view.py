"""A scrolling view of items: rows are laid out when they become visible, and painted once.

Items that were never visible have an estimated height; when the user scrolls up to them, the rows
below keep their place. Painted rows are cached across scrolling.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice

from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from yourtool.tui.slices import PAUSE_SECONDS, SLICE_SECONDS
from yourtool.tui.styled_lines import BLANK, StyledLine
from yourtool.tui.transcript.heights import Heights
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.painting import GUTTER, Painter
from yourtool.tui.transcript.selection import SelectedRow, selection_lines
from yourtool.tui.transcript.text_items import ReplyItem

_RESERVED_ROWS = 3
"""Blank rows reserved below a streaming reply, so that not every new row scrolls the text."""
_MAX_DISTANCE = 400
"""Items around the visible ones whose rows are not discarded."""
_MAX_ESTIMATES = 5_000
"""Items whose heights are estimated at once."""
_LONG_SELECTION = 200
"""Rows of a selection that are copied in slices."""


class ItemView(ScrollView, can_focus=True):
    """A vertical list of items that follows the end unless the user scrolled away."""

    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False

    DEFAULT_CSS = """
    ItemView {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    has_unseen_rows: var[bool] = var(False)
    """Whether there are new rows below the visible ones."""

    class FollowingChanged(Message):
        """Posted when the end becomes visible or leaves the screen."""

        def __init__(self, changed: bool) -> None:
            super().__init__()
            self.changed = changed
            """Whether the end is visible now."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._items: Sequence[Item] = ()
        self._index: dict[Item, int] = {}
        self._heights = Heights()
        self._painter: Painter | None = None
        self._scroll_height = 0
        self._following = True
        self._selected: Item | None = None
        self._laid_out: set[int] = set()  # items that have rows
        self._partial_items: set[Item] = set()  # visible items whose rows are not all built
        self._view_top = 0

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, self._restyle)

    def on_resize(self) -> None:
        """Lay out the visible items again."""
        self._relayout()

    def on_focus(self) -> None:
        """Show the selection marker."""
        self._repaint()

    def on_blur(self) -> None:
        """Hide the selection marker."""
        self._repaint()

    def _add_new_items(self) -> None:
        """Append new items with an estimated height, those far from the end with the mean."""
        items, first = self._items, len(self._heights)
        far = max(0, len(items) - first - _MAX_ESTIMATES)
        near = [self._estimate(index) for index in range(first + far, len(items))]
        self._heights.extend([sum(near) // max(1, len(near))] * far)
        self._heights.extend(near)
        self._index.update(zip(islice(items, first, None), count(first)))

    def _estimate(self, index: int) -> int:
        return self._gap(index) + self._items[index].estimate(self._text_width)

    def _measure(self, index: int, item: Item) -> int:
        """Update the height of an item; return its first changed row."""
        gap = self._gap(index)
        if not item.layout_width and not item.rows:
            self._heights[index] = gap + item.estimate(self._text_width)
            return 0
        changed = item.lay_out(self._text_width)
        self._heights[index] = gap + self._height(item)
        return gap + changed

    def _height(self, item: Item) -> int:
        """Return the height of an item, estimated if a complete text is not fully laid out."""
        if item.is_partial and not item.is_streaming:
            return max(len(item.rows), item.estimate(self._text_width))
        return len(item.rows)

    def _lay_out_visible(self) -> None:
        """Lay out the visible items in place, and set the scrollable height."""
        if not len(self._heights) or not self.size:
            return
        if self._following:
            self._lay_out_from_end()
            return
        y, height = round(self.scroll_y), self.size.height
        upwards = y < self._view_top
        index = self._heights.index_at(y)
        while index < len(self._heights) and self._heights.top(index) < y + height:
            before, top = self._heights[index], self._heights.top(index)
            self._lay_out_item(index)
            if top < y and upwards:
                y = max(0, y + self._heights[index] - before)
                index = self._heights.index_at(y)
                if self._items[index].layout_width != self._text_width:
                    continue
            index += 1
        self._set_scroll_height(self._heights.total)
        self._move_to(y)

    def _lay_out_from_end(self) -> None:
        index, seen = len(self._heights) - 1, 0
        while index >= 0 and seen < self.size.height:
            self._lay_out_item(index)
            seen += self._heights[index]
            index -= 1
        self._set_scroll_height(self._heights.total)
        self._move_to(self.max_scroll_y)

    def _lay_out_item(self, index: int) -> None:
        item = self._items[index]
        if item.layout_width != self._text_width or index not in self._laid_out:
            item.lay_out(self._text_width)
            self._heights[index] = self._gap(index) + self._height(item)
            if item.is_partial and item not in self._partial_items:
                if not self._partial_items:
                    self.set_timer(PAUSE_SECONDS, self._continue_layout)
                self._partial_items.add(item)
        self._laid_out.add(index)

    def _continue_layout(self) -> None:
        """Lay out more of the long texts that are visible."""
        deadline = time.monotonic() + SLICE_SECONDS
        while self._partial_items and time.monotonic() < deadline:
            item = self._partial_items.pop()
            if (index := self._index.get(item)) is not None:
                self._measure(index, item)
                if item.is_partial:
                    self._partial_items.add(item)
        self._lay_out_visible()
        self._repaint()
        if self._partial_items:
            self.set_timer(PAUSE_SECONDS, self._continue_layout)

    def _set_scroll_height(self, total: int) -> None:
        """Set the scrollable height, in steps while the view follows the end."""
        if total > self.size.height and self._following:
            if not total <= self._scroll_height <= total + _RESERVED_ROWS:
                self._scroll_height = total + _RESERVED_ROWS if self._is_growing else total
        else:
            self._scroll_height = total
        size = Size(self.size.width, self._scroll_height)
        if size != self.virtual_size:
            # The reactive would lay out the entire screen; only the scroll bar needs the new size.
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
            self._scroll_update(size)

    @property
    def _is_growing(self) -> bool:
        last = self._items[-1] if self._items else None
        return isinstance(last, ReplyItem) and last.is_streaming

    def _move_to(self, y: int) -> None:
        self._view_top = y
        if round(self.scroll_y) != y:
            self.scroll_target_y = y
            self.scroll_y = y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out items that become visible; follow the end when it is reached."""
        super().watch_scroll_y(old_value, new_value)
        if round(new_value) == self._view_top:
            return
        following = new_value >= self.max_scroll_y
        if following != self._following:
            self._following = following
            self.post_message(self.FollowingChanged(following))
        if following:
            self.has_unseen_rows = False
        self._lay_out_visible()
        self._view_top = round(self.scroll_y)
        self._discard_far_rows()

    def scroll_to(  # Textual's signature
        self,
        x: float | None = None,
        y: float | None = None,
        *,
        animate: bool = False,
        **options: object,
    ) -> None:
        """Scroll without animation, because heights may change on the way."""
        super().scroll_to(x, y, animate=False, force=bool(options.get("force")))

    def _discard_far_rows(self) -> None:
        if len(self._laid_out) <= 2 * _MAX_DISTANCE:
            return
        here = self._heights.index_at(self._view_top)
        for index in [index for index in self._laid_out if abs(index - here) > _MAX_DISTANCE]:
            item = self._items[index]
            if not item.is_streaming:
                item.discard_rows()
                self._laid_out.discard(index)

    def _redraw_item(self, item: Item) -> None:
        if (index := self._index.get(item)) is not None:
            self._following = False
            self._lay_out_item(index)
            self._view_top = round(self.scroll_y)
            self._lay_out_visible()
            self._following = self.scroll_y >= self.max_scroll_y
            self._repaint()

    def _relayout(self) -> None:
        """Lay out the visible items for a new width or theme; the others keep their heights."""
        if not self.size:
            return
        width = self._text_width
        top = self._heights.index_at(self._view_top) if len(self._heights) else 0
        for index in self._laid_out:
            if self._items[index].layout_width != width:
                self._heights[index] = self._estimate(index)
        self._add_new_items()
        self._painter = None  # a painter has a fixed width
        if not self._following and len(self._heights):
            self._lay_out_item(top)
            self._set_scroll_height(self._heights.total)
            self._move_to(min(self._heights.top(top), self.max_scroll_y))
        self._lay_out_visible()
        self._repaint()

    def _restyle(self, _theme: object = None) -> None:
        self._painter = None
        self._repaint()

    def notify_style_update(self) -> None:
        """Discard the rows that were painted with other colours."""
        super().notify_style_update()
        self._painter = None

    # Painting

    @property
    def _text_width(self) -> int:
        return max(1, self.region.width - self.styles.scrollbar_size_vertical - GUTTER)

    def _gap(self, index: int) -> int:
        """Return the number of blank rows before an item."""
        if index == 0:
            return 0
        items = self._items
        return 0 if items[index].compact and items[index - 1].compact else 1

    def _repaint(self, first: int | None = None, last: int | None = None) -> None:
        if first is None or last is None:
            self.refresh()
            return
        top, height = self.scroll_offset.y, self.size.height
        first, last = max(first, top), min(last, top + height)
        if last > first:
            self.refresh(Region(0, first - top, self.region.width, last - first))

    def _row_at(self, y: int) -> tuple[Item | None, int, StyledLine]:
        """Return the item, the row within it (-1: the gap before) and the line at a row."""
        if not 0 <= y < self._heights.total:
            return None, -1, BLANK
        index = self._heights.index_at(y)
        item, at = self._items[index], y - self._heights.top(index) - self._gap(index)
        if 0 <= at < len(item.rows):
            return item, at, item.rows[at]
        return item, -1, BLANK

    def _strip_at(self, y: int) -> Strip:
        if self._painter is None:
            self._painter = Painter(self)
        item, at, line = self._row_at(y)
        if item is None or at < 0:
            return self._painter.blank()
        selected = item is self._selected and self.has_focus
        strip = self._painter.strip(line, item.mark if at == 0 else ("", ""), selected=selected)
        if (selection := self.text_selection) and (span := selection.get_span(y)):
            return self._painter.selected_strip(strip, *span)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return painted rows; unlike Textual's cache, these survive scrolling."""
        top = self.scroll_offset.y
        strips = [self._strip_at(top + y) for y in crop.line_range]
        first, last = crop.column_span
        return [strip.crop(first, last) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """Return one row with offsets, which mouse selection needs."""
        row = self.scroll_offset.y + y
        return self._strip_at(row).apply_offsets(0, row)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the source of completely selected blocks, and the visible text of others."""
        return "\n".join(chain.from_iterable(self.selected_lines(selection))), "\n"

    def is_long(self, selection: Selection) -> bool:
        """Whether `get_selection` may take too long for the event loop."""
        first, last = self._selected_range(selection)
        return last - first > _LONG_SELECTION or bool(self._partial_items)

    def selected_lines(self, selection: Selection) -> Iterator[list[str]]:
        """Yield the selected text of each item, and empty lists while an item is laid out."""
        items, (start, end) = self._items, selection
        if not items:
            return
        first_row, last_row = self._selected_range(selection)
        first, last = self._heights.index_at(first_row), self._heights.index_at(last_row)
        first_row -= self._heights.top(first)
        last_row -= self._heights.top(last)
        for index in range(first, last + 1):
            item = items[index]
            item.lay_out(self._text_width)
            while item.is_partial and not item.is_streaming:
                yield []
                item.lay_out(self._text_width)
            lines = [*(BLANK for _ in range(self._gap(index))), *item.rows]
            begin = Offset(start.x if start else 0, first_row) if index == first else Offset()
            stop = Offset(end.x if end else -1, last_row if end else len(lines))
            yield selection_lines(
                _selected_rows(lines, begin, stop if index == last else Offset(-1, len(lines)))
            )
            if index not in self._laid_out and items is self._items:
                item.discard_rows()

    def _selected_range(self, selection: Selection) -> tuple[int, int]:
        """Return the first and the last selected row."""
        end = self._heights.total - 1
        return (
            min(max(0, selection.start.y), end) if selection.start else 0,
            min(selection.end.y, end) if selection.end else end,
        )

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self._repaint()


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
