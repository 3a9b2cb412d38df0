"""Scrolling transcript widget.

Only visible rows are laid out and painted; items further up have an estimated height until they
come into view. While a reply streams, only changed rows are repainted; when nothing happens, no
timer runs.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Literal

from textual import events, work
from textual.actions import SkipAction
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from yourtool.events.catalog import AnyFact, Event
from yourtool.events.model_calls import LlmCallFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.tui.keys.active_keys import bindings, get_label
from yourtool.tui.lines.slices import PAUSE_SECONDS, SLICE_SECONDS, Slices
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.textual_internals.painting import resize_content
from yourtool.tui.transcript import navigation, search_bar
from yourtool.tui.transcript.activity import FRAMES_PER_SECOND, ActivityLine
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.painting import GUTTER, MATCH, Painter
from yourtool.tui.transcript.search import Search
from yourtool.tui.transcript.selection import is_long, read_selection, selected_lines
from yourtool.tui.transcript.text_items import ReplyItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard
from yourtool.tui.transcript.update_schedule import Ticker, UpdateSchedule

_RESERVED_ROWS = 3
"""Blank rows reserved below a streaming reply, so that not every new row scrolls the text."""
_FINAL_EVENTS = (LlmCallFailed, TurnCompleted, TurnCancelled)


class Transcript(ScrollView, can_focus=True):
    """The messages, tool calls and notices of a session.

    The view follows the end unless the user scrolled away.
    """

    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False

    DEFAULT_CSS = """
    Transcript {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = bindings("transcript")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    unseen_rows: var[int] = var(0)
    """Number of new rows below the visible ones."""

    class RetryRequested(Message):
        """Posted when the user retries the failed turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._timeline = Timeline(retry_key=get_label("chat.retry"), clock=clock)
        self.activity = ActivityLine(clock)
        """The line below the last item; `update_activity` shows changes of it."""
        self._layout = ItemLayout(self._timeline.items)
        self._layout_timer: Timer | None = None
        self._painter: Painter | None = None
        self._selected: Item | None = None
        self._search_bar: search_bar.SearchBar | None = None
        self._following = True
        self._view_top = 0
        self._new_rows = 0  # since the end was visible; `unseen_rows` is updated with the layout
        self._scroll_height = 0
        self._schedule = UpdateSchedule(
            self,
            has_changes=self._has_changes,
            lay_out=self._lay_out_changes,
            paint=self._paint_changes,
        )
        self._painted_height = 0
        self._ticker = Ticker(self, self._tick)
        self._ticked_second = 0

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, self._restyle)

    def on_resize(self) -> None:
        """Lay out the visible items again, and those that were added before there was a size."""
        self._relayout()
        self._schedule.request(at_once=True)

    def on_focus(self) -> None:
        """Show the selection marker."""
        self._repaint()

    def on_blur(self) -> None:
        """Hide the selection marker."""
        self._repaint()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked item; fold or expand a card."""
        layout, row = self._layout, self.scroll_offset.y + event.y
        if not len(layout) or self.text_selection is not None or row >= layout.total:
            return
        index = layout.index_at(row)
        item = layout.items[index]
        if not item.focusable:
            return
        self._selected = item
        head = row - layout.top(index) == layout.gap(index)
        if item.foldable and (head or not item.expanded):
            self.action_toggle_item()
        self._repaint()

    # Events

    def apply(self, event: Event) -> None:
        """Apply an event to the items and schedule an update of the screen."""
        self._timeline.apply(event)
        if self._timeline.changed_items:
            self.activity.mark_output()
            self._schedule.request(at_once=isinstance(event, _FINAL_EVENTS))

    async def build_timeline(self, facts: Iterable[AnyFact]) -> Timeline:
        """Return the timeline of a stored session, built in slices so that keys are handled."""
        timeline, slices = self._new_timeline(), Slices()
        for fact in facts:
            timeline.apply(fact)
            if slices.is_over:
                await slices.pause()
        timeline.changed_items.clear()
        return timeline

    def set_timeline(self, timeline: Timeline, *, keeps_notices: bool = False) -> None:
        """Replace the timeline; only its last screen is laid out.

        With `keeps_notices`, the items that are shown now follow those of the timeline.
        """
        self.end_search()
        if keeps_notices:
            timeline.items.extend(self._timeline.items)
        self._timeline = timeline
        self._layout.items = ()  # a copy that is being read leaves the rows alone
        self._layout = ItemLayout(timeline.items)
        self._selected, self._following = None, True
        self._update_scroll_height()
        self._relayout()
        self._update_ticker()

    def add_notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Add a message of the program, which is not part of the conversation."""
        self._timeline.add_notice(level, text)
        self._schedule.request(at_once=True)

    def clear(self) -> None:
        """Remove all items."""
        self.set_timeline(self._new_timeline())

    def follow_end(self) -> None:
        """Scroll to the end and follow it."""
        self._following = True
        self._lay_out_visible()
        self._repaint()

    def scroll_to_message(self, message_id: str) -> None:
        """Select a message and scroll to its start; no effect if it is not shown."""
        item = self._timeline.message_items.get(message_id)
        if item is None or (index := self._layout.find_index(item)) is None:
            return
        self._selected = item
        self.scroll_to(y=self._layout.top(index))
        self._repaint()

    def set_highlight(self, highlight: HighlighterFactory) -> None:
        """Set the highlighter of code blocks and redraw the visible rows."""
        self._timeline.highlight = highlight
        for item in self._timeline.items:
            if isinstance(item, ReplyItem | ToolCard):
                item.highlight = highlight
                item.invalidate()
        if self._timeline.items:
            self._relayout()

    @property
    def items(self) -> Sequence[Item]:
        """The items, oldest first."""
        return self._timeline.items

    @property
    def hidden_activity(self) -> str:
        """What the turn does, if the line that shows it is not on the screen."""
        is_visible = self.activity.is_shown and self._following
        return "" if is_visible else self.activity.describe(self._timeline)

    def update_activity(self) -> None:
        """Show, update or remove the line below the last item."""
        had_line = self.activity.is_shown
        changed = self.activity.update(self._timeline, self._text_width)
        if had_line != self.activity.is_shown:
            self._lay_out_visible()
            self._repaint()
        elif changed:
            self._repaint(self._activity_row, self._activity_row + 1)
        self._update_ticker()

    def last_reply_source(self) -> str:
        """Return the Markdown source of the last reply."""
        return self._timeline.last_reply

    def copy_long_selection(self) -> bool:
        """Copy the selection if it must be read in slices; return whether it was."""
        selection = self.text_selection
        if selection is None or not is_long(self._layout, selection):
            return False
        self._copy_in_slices(selection)
        return True

    @work(group="copy", exclusive=True)
    async def _copy_in_slices(self, selection: Selection) -> None:
        self.app.copy_to_clipboard(await read_selection(self._layout, selection))

    # Keys

    def action_select(self, step: int) -> None:
        """Select the previous or next item; scroll in a long one and at the ends."""
        target = navigation.get_target(self._layout, self._selected_index, step, self._view)
        if target.at is not None:
            self._selected = self._layout.items[target.at]
        self.scroll_to(y=target.top)
        self._repaint()

    def action_select_prompt(self, step: int) -> None:
        """Select the previous or next prompt and scroll to it, if there is one."""
        layout = self._layout
        at = navigation.find_prompt(layout, self._selected_index, step, self._view)
        if at is not None:
            self._selected = layout.items[at]
            self.scroll_to(y=navigation.get_head(layout, at))
            self._repaint()

    async def action_search(self) -> None:
        """Open the line in which a search is typed, before the next key is handled."""
        if self._search_bar is None:
            self._search_bar = search_bar.SearchBar(
                self._layout,
                first_row=lambda: round(self.scroll_y),
                show_match=self._show_match,
                leave=lambda: self.screen.set_focus(self),
            )
            await self.screen.mount(self._search_bar, after=self)
        self._search_bar.edit()

    def action_step_match(self, step: int) -> None:
        """Go to the next or previous match; without a search, the key goes to the prompt."""
        if self._search_bar is None or not self._search_bar.has_query:
            raise SkipAction
        self._search_bar.step(step)

    def end_search(self) -> bool:
        """Close the search, if one is open; return whether it was."""
        if (bar := self._search_bar) is None:
            return False
        self._search_bar = None
        bar.close()
        self.screen.set_focus(self)
        self._repaint()
        return True

    def _show_match(self, search: Search | None) -> None:
        """Scroll to the current match and mark it."""
        layout, item = self._layout, search.item if search is not None else None
        if search is not None and item is not None and (at := layout.find_index(item)) is not None:
            self._selected, self._following = item, False
            self._update_scroll_height()
            y, top = layout.top(at) + layout.gap(at) + search.first_row, round(self.scroll_y)
            if not top <= y < top + self.size.height - 1:
                self.scroll_to(y=max(0, y - self.size.height // 3))
        self._lay_out_visible()
        self._repaint()

    def action_toggle_item(self) -> None:
        """Fold or expand the selected item; the rows that its fold shows stay or come into view."""
        if (item := self._selected) is None or (index := self._layout.find_index(item)) is None:
            raise SkipAction
        end = self._layout.top(index + 1) - self._view.top
        item.expand(not item.expanded)
        self._redraw_item(item)
        self.scroll_to(y=navigation.get_toggled_top(self._layout, index, end, self._view))

    def toggle_folds(self) -> None:
        """Expand everything that is folded, or fold it again; this includes later items."""
        anchor = None if self._following else navigation.find_anchor(self._layout, self._view)
        self._timeline.expand_all(not self._timeline.expands)
        self._relayout()
        if anchor is not None:
            self.scroll_to(y=navigation.get_head(self._layout, anchor.at) - anchor.offset)

    def action_toggle_raw(self) -> None:
        """Switch the selected or last reply between Markdown source and rendered text."""
        replies = [item for item in self._timeline.items if isinstance(item, ReplyItem)]
        reply = self._selected if isinstance(self._selected, ReplyItem) else (replies or [None])[-1]
        if reply is None:
            raise SkipAction
        reply.toggle_raw()
        self._redraw_item(reply)

    def action_copy_item(self) -> None:
        """Copy the source of the selected item or, without one, of the last reply."""
        text = self._selected.source if self._selected else self.last_reply_source()
        if not text:
            raise SkipAction
        self.app.copy_to_clipboard(text)

    def action_retry(self) -> None:
        """Retry the failed turn; after a success, the key goes to the prompt."""
        if not self._timeline.has_failed:
            raise SkipAction
        self.post_message(self.RetryRequested())

    # Screen updates

    def _new_timeline(self) -> Timeline:
        timeline = Timeline(retry_key=get_label("chat.retry"), clock=self._clock)
        timeline.highlight = self._timeline.highlight
        return timeline

    def _has_changes(self) -> bool:
        return bool(self._timeline.changed_items and self.size)

    def _lay_out_changes(self, deadline: float) -> None:
        layout, total = self._layout, self._layout.total
        layout.width = self._text_width
        layout.add_new_items()
        changed = self._timeline.changed_items
        layout.measure_changes(changed, deadline, exactly=not self._following)
        self._new_rows += layout.total - total

    def _paint_changes(self) -> None:
        first, last = self._layout.take_changed_rows()
        has_other_line = self.activity.update(self._timeline, self._text_width)
        self._lay_out_visible()
        if self._content_height != self._painted_height:
            last = max(self._content_height, self._painted_height)
        self._painted_height = self._content_height
        self._repaint(first, last)
        if has_other_line:
            self._repaint(self._activity_row, self._activity_row + 1)
        self._update_ticker()

    def _update_ticker(self) -> None:
        if self.activity.is_shown and self._shows_motion:
            self._ticker.start(1 / FRAMES_PER_SECOND)
        elif self.activity.is_shown or self._timeline.ticking_items:
            self._ticker.start(1)
        else:
            self._ticker.stop()

    def _tick(self) -> None:
        """Show the next frame of the spinner, and every second the times."""
        second = int(self._clock())
        if second != self._ticked_second:
            self._ticked_second = second
            for item in self._timeline.ticking_items:
                item.invalidate()
                self._timeline.changed_items.add(item)
            self._schedule.flush()
            self.update_activity()
        if self.activity.is_shown:
            row = self._activity_row - self.scroll_offset.y
            if 0 <= row < self.size.height:
                self.refresh(Region(0, row, 1, 1))

    # Layout and scrolling

    @property
    def _shows_motion(self) -> bool:
        return self.app.animation_level != "none"

    @property
    def _activity_row(self) -> int:
        """The row of the activity line, below a blank row."""
        return self._layout.total + (1 if len(self._layout) else 0)

    @property
    def _content_height(self) -> int:
        """The height of the items and the activity line."""
        return self._activity_row + 1 if self.activity.is_shown else self._layout.total

    @property
    def _selected_index(self) -> int | None:
        return self._layout.find_index(self._selected) if self._selected else None

    @property
    def _view(self) -> navigation.View:
        return navigation.View(round(self.scroll_y), self.size.height)

    @property
    def _text_width(self) -> int:
        return max(1, self.region.width - self.styles.scrollbar_size_vertical - GUTTER)

    def _lay_out_visible(self) -> None:
        """Lay out the visible items in place, and set the scrollable height."""
        layout, height = self._layout, self.size.height
        if not len(layout) or not self.size:
            return
        layout.width = self._text_width
        if self._following:
            layout.lay_out_end(height)
            self._update_scroll_height()
            self._move_to(self.max_scroll_y)
        else:
            y = round(self.scroll_y)
            y = layout.lay_out_from(y, height, upwards=y < self._view_top)
            self._update_scroll_height()
            self._move_to(y)
        rows_below = max(0, layout.total - self._view_top - height)
        self._new_rows = 0 if self._following else max(0, min(self._new_rows, rows_below))
        self.unseen_rows = self._new_rows
        if layout.is_partial and self._layout_timer is None:
            self._layout_timer = self.set_timer(PAUSE_SECONDS, self._continue_layout)

    def _continue_layout(self) -> None:
        """Lay out more of the long texts that are visible."""
        self._layout_timer = None
        self._layout.lay_out_more(time.monotonic() + SLICE_SECONDS)
        self._lay_out_visible()
        self._repaint()

    def _relayout(self) -> None:
        """Lay out the visible items for a new size or theme; the others keep their heights."""
        if not self.size:
            return
        layout = self._layout
        first = layout.index_at(self._view_top) if len(layout) else 0
        row, height = self._view_top - layout.top(first), layout.height(first)
        layout.update_width(self._text_width)
        self.activity.update(self._timeline, self._text_width)
        self._painter = None  # a painter has a fixed width
        if not self._following and len(layout):
            layout.lay_out(first)
            y = layout.top(first) + row * layout.height(first) // max(1, height)
            self._move_to(min(y, round(self.scroll_y)))  # a lower height moves the view to the end
            self._update_scroll_height()
            self._move_to(min(y, self.max_scroll_y))
        self._lay_out_visible()
        self._repaint()

    def _redraw_item(self, item: Item) -> None:
        layout = self._layout
        if (index := layout.find_index(item)) is not None:
            is_newest = layout.find_next(index, 1, lambda each: each.focusable) is None
            self._following = self._following and is_newest
            layout.lay_out(index)
            self._view_top = round(self.scroll_y)
            self._lay_out_visible()
            self._following = self._following or self.scroll_y >= self.max_scroll_y
            self._repaint()

    def _update_scroll_height(self) -> None:
        """Set the scrollable height, in steps while the view follows the end."""
        total = self._content_height
        if total > self.size.height and self._following:
            if not total <= self._scroll_height <= total + _RESERVED_ROWS:
                self._scroll_height = total + _RESERVED_ROWS if self._is_growing else total
        else:
            self._scroll_height = total
        size = Size(self.size.width, self._scroll_height)
        if size != self.virtual_size:
            resize_content(self, size)

    @property
    def _is_growing(self) -> bool:
        last = self._timeline.items[-1] if self._timeline.items else None
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
        self._following = new_value >= self.max_scroll_y
        self._lay_out_visible()
        self._view_top = round(self.scroll_y)
        self._layout.discard_far_rows(self._view_top)

    def scroll_to(  # Textual's signature
        self,
        x: float | None = None,
        y: float | None = None,
        *,
        animate: bool = False,
        **options: object,
    ) -> None:
        """Scroll without animation, because heights may change on the way."""
        force, immediate = bool(options.get("force")), bool(options.get("immediate"))
        super().scroll_to(x, y, animate=False, force=force, immediate=immediate)

    def _restyle(self, _theme: object = None) -> None:
        self._painter = None
        self._repaint()

    def notify_style_update(self) -> None:
        """Discard the rows that were painted with other colours."""
        super().notify_style_update()
        self._painter = None

    # Painting

    def _repaint(self, first: int | None = None, last: int | None = None) -> None:
        if first is None or last is None:
            self.refresh()
            return
        top, height = self.scroll_offset.y, self.size.height
        first, last = max(first, top), min(last, top + height)
        if last > first:
            self.refresh(Region(0, first - top, self.region.width, last - first))

    def _strip_at(self, y: int) -> Strip:
        if self._painter is None:
            self._painter = Painter(self)
        item, at, line = self._layout.row_at(y)
        if item is None and self.activity.is_shown and y == self._activity_row:
            mark = self.activity.mark(moves=self._shows_motion)
            return self._painter.build_strip(self.activity.line, mark)
        if item is None or at < 0:
            return self._painter.blank()
        selected = item is self._selected and self.has_focus
        strip = self._painter.strip(line, item.mark if at == 0 else ("", ""), selected=selected)
        search = self._search_bar.search if self._search_bar is not None else None
        if search is not None and (match := search.span_at(item, at)):
            first, end = match
            strip = self._painter.selected_strip(strip, first + GUTTER, end + GUTTER, MATCH)
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
        return "\n".join(chain.from_iterable(selected_lines(self._layout, selection))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self._repaint()
