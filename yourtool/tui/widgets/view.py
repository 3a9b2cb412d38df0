"""A scrolling view of items: rows are laid out when somebody sees them, and painted once.

Items that nobody has seen have an estimated height; when they come into view upwards, what is
below them stays where it is. Painted rows survive scrolling.
"""

import time
from collections.abc import Sequence

from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from yourtool.tui.styled_lines import BLANK, StyledLine
from yourtool.tui.widgets.copying import CopiedRow, copied
from yourtool.tui.widgets.heights import Heights
from yourtool.tui.widgets.items import Item
from yourtool.tui.widgets.painting import GUTTER, Painter
from yourtool.tui.widgets.texts import ReplyItem

PAUSE = 0.005
"""Seconds between two parts of long work; callbacks of the toolkit's own queue run in one go."""
SLICE_SECONDS = 0.008
"""How long one part of it may take."""
_SLACK = 3
"""Blank rows kept in reserve below a reply that grows, so that not every row moves the text."""
_KEEP = 400
"""Items whose rows are kept although they are out of sight."""


class ItemView(ScrollView, can_focus=True):
    """Items one below the other, following the end unless the user scrolled away from it."""

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

    unseen: var[bool] = var(False)
    """Something new stands below what is in view."""

    class AtBottom(Message):
        """The end came into view, or left it."""

        def __init__(self, changed: bool) -> None:
            super().__init__()
            self.changed = changed
            """Whether the end is in view now."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._items: Sequence[Item] = ()
        self._index: dict[Item, int] = {}
        self._heights = Heights()
        self._painter: Painter | None = None
        self._reserved = 0
        self._following = True
        self._selected: Item | None = None
        self._seen: set[int] = set()  # items that have rows
        self._late: set[Item] = set()  # items in view whose rows are not all made
        self._view_top = 0

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, self._restyle)

    def on_resize(self) -> None:
        """Wrap everything again that is in view."""
        self._relayout()

    def on_focus(self) -> None:
        """Show where the keys act."""
        self._repaint()

    def on_blur(self) -> None:
        """Show that the keys act elsewhere."""
        self._repaint()

    def _enlist(self) -> None:
        """Give new items their place, with an estimated height."""
        items, room = self._items, self._room
        for index in range(len(self._heights), len(items)):
            self._index[items[index]] = index
            self._heights.append(self._gap(index) + items[index].estimate(room))

    def _measure(self, index: int, item: Item) -> int:
        """Lay out an item again that was seen before; return its first row that changed."""
        gap = self._gap(index)
        if not item.laid_out and not item.rows:
            self._heights[index] = gap + item.estimate(self._room)
            return 0
        changed = item.lay_out(self._room)
        self._heights[index] = gap + self._height(item)
        return gap + changed

    def _height(self, item: Item) -> int:
        """Return the rows of an item; a guess, where the end of a complete one is not laid out."""
        if item.behind and not item.streaming:
            return max(len(item.rows), item.estimate(self._room))
        return len(item.rows)

    def _settle(self) -> None:
        """Lay out whatever is in view, without moving it, and set the scrollable height."""
        if not len(self._heights) or not self.size:
            return
        if self._following:
            self._settle_from_end()
            return
        y, height = round(self.scroll_y), self.size.height
        upwards = y < self._view_top
        index = self._heights.at(y)
        while index < len(self._heights) and self._heights.top(index) < y + height:
            before, top = self._heights[index], self._heights.top(index)
            self._see(index)
            if top < y and upwards:
                y = max(0, y + self._heights[index] - before)
                index = self._heights.at(y)
                if self._items[index].laid_out != self._room:
                    continue
            index += 1
        self._reserve(self._heights.total)
        self._move_to(y)

    def _settle_from_end(self) -> None:
        index, seen = len(self._heights) - 1, 0
        while index >= 0 and seen < self.size.height:
            self._see(index)
            seen += self._heights[index]
            index -= 1
        self._reserve(self._heights.total)
        self._move_to(self.max_scroll_y)

    def _see(self, index: int) -> None:
        item = self._items[index]
        if item.laid_out != self._room:
            item.lay_out(self._room)
            self._heights[index] = self._gap(index) + self._height(item)
            if item.behind and item not in self._late:
                if not self._late:
                    self.set_timer(PAUSE, self._catch_up)
                self._late.add(item)
        self._seen.add(index)

    def _catch_up(self) -> None:
        """Lay out more of long texts that have come into view."""
        deadline = time.monotonic() + SLICE_SECONDS
        while self._late and time.monotonic() < deadline:
            item = self._late.pop()
            if item.behind and (index := self._index.get(item)) is not None:
                self._measure(index, item)
                if item.behind:
                    self._late.add(item)
        self._settle()
        self._repaint()
        if self._late:
            self.set_timer(PAUSE, self._catch_up)

    def _reserve(self, total: int) -> None:
        """Set the scrollable height, which moves in steps while the end is followed."""
        if total > self.size.height and self._following:
            if not total <= self._reserved <= total + _SLACK:
                self._reserved = total + _SLACK if self._growing else total
        else:
            self._reserved = total
        size = Size(self.size.width, self._reserved)
        if size != self.virtual_size:
            # The reactive would lay out the whole screen again; only the scroll bar has to know.
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
            self._scroll_update(size)

    @property
    def _growing(self) -> bool:
        last = self._items[-1] if self._items else None
        return isinstance(last, ReplyItem) and last.streaming

    def _move_to(self, y: int) -> None:
        self._view_top = y
        if round(self.scroll_y) != y:
            self.scroll_target_y = y
            self.scroll_y = y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out what comes into view; follow the end when it is reached."""
        super().watch_scroll_y(old_value, new_value)
        if round(new_value) == self._view_top:
            return
        following = new_value >= self.max_scroll_y
        if following != self._following:
            self._following = following
            self.post_message(self.AtBottom(following))
        if following:
            self.unseen = False
        self._settle()
        self._view_top = round(self.scroll_y)
        self._forget_far_items()

    def scroll_to(  # the toolkit's signature
        self,
        x: float | None = None,
        y: float | None = None,
        *,
        animate: bool = False,
        **options: object,
    ) -> None:
        """Scroll without animation: heights may change on the way."""
        super().scroll_to(x, y, animate=False, force=bool(options.get("force")))

    def _forget_far_items(self) -> None:
        if len(self._seen) <= 2 * _KEEP:
            return
        here = self._heights.at(self._view_top)
        for index in [index for index in self._seen if abs(index - here) > _KEEP]:
            item = self._items[index]
            if not item.streaming:
                item.forget()
                self._seen.discard(index)

    def _redraw(self, item: Item) -> None:
        if (index := self._index.get(item)) is not None:
            self._following = False
            self._see(index)
            self._view_top = round(self.scroll_y)
            self._settle()
            self._following = self.scroll_y >= self.max_scroll_y
            self._repaint()

    def _relayout(self) -> None:
        """Everything has another width or look: estimate all, lay out what is in view."""
        if not self.size:
            return
        known, room = len(self._heights), self._room  # of many items, so looked up once
        self._enlist()
        top = self._heights.at(self._view_top) if len(self._heights) else 0
        for index, item in enumerate(self._items[:known]):
            if item.laid_out != room:
                self._heights[index] = self._gap(index) + item.estimate(room)
        self._painter = None  # it paints rows of one width
        if not self._following and len(self._heights):
            self._see(top)
            self._reserve(self._heights.total)
            self._move_to(min(self._heights.top(top), self.max_scroll_y))
        self._settle()
        self._repaint()

    def _restyle(self, _theme: object = None) -> None:
        self._painter = None
        self._repaint()

    def notify_style_update(self) -> None:
        """Forget what was painted with other colours."""
        super().notify_style_update()
        self._painter = None

    # Painting

    @property
    def _room(self) -> int:
        return max(1, self.region.width - self.styles.scrollbar_size_vertical - GUTTER)

    def _gap(self, index: int) -> int:
        """Return how many blank rows stand before an item."""
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

    def _row(self, y: int) -> tuple[Item | None, int, StyledLine]:
        """Return the item, the row within it (-1: the gap before) and the line at a row."""
        if not 0 <= y < self._heights.total:
            return None, -1, BLANK
        index = self._heights.at(y)
        item, at = self._items[index], y - self._heights.top(index) - self._gap(index)
        if 0 <= at < len(item.rows):
            return item, at, item.rows[at]
        return item, -1, BLANK

    def _strip(self, y: int) -> Strip:
        if self._painter is None:
            self._painter = Painter(self)
        item, at, line = self._row(y)
        if item is None or at < 0:
            return self._painter.blank()
        chosen = item is self._selected and self.has_focus
        strip = self._painter.strip(line, item.mark if at == 0 else ("", ""), chosen=chosen)
        if (selection := self.text_selection) and (span := selection.get_span(y)):
            return self._painter.highlighted(strip, *span)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return painted rows; unlike the toolkit's cache, these survive scrolling."""
        top = self.scroll_offset.y
        strips = [self._strip(top + y) for y in crop.line_range]
        first, last = crop.column_span
        return [strip.crop(first, last) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """Return one row that knows its offsets, as mouse selection needs."""
        row = self.scroll_offset.y + y
        return self._strip(row).apply_offsets(0, row)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the source of whole blocks, and the words on the screen of parts of blocks."""
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self._heights.total - 1
        rows: list[CopiedRow] = []
        for y in range(max(0, first), min(last, self._heights.total - 1) + 1):
            self._see(self._heights.at(y))
            item, at, line = self._row(y)
            while item is not None and item.behind and not item.streaming:
                item.lay_out(self._room)
                item, at, line = self._row(y)
            if item is None or (span := selection.get_span(y)) is None:
                continue
            start, end = max(0, span[0] - GUTTER), span[1] - GUTTER if span[1] >= 0 else -1
            inside = (
                at > 0 and item.rows[at - 1].source is line.source,
                0 <= at < len(item.rows) - 1 and item.rows[at + 1].source is line.source,
            )
            rows.append(CopiedRow(line, start, end, *inside))
        return copied(rows), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self._repaint()
