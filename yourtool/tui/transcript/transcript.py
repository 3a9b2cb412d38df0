"""The transcript: one scrolling widget that paints rows of items.

Only visible rows are laid out and painted; items further up have an estimated height until they
come into view. While a reply streams, only changed rows are repainted, at most
`FLUSHES_PER_SECOND` times a second; when nothing happens, no timer runs.
"""

import time
from collections.abc import Iterable
from typing import ClassVar, Literal

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection
from textual.timer import Timer

from yourtool.events.catalog import AnyFact, Event
from yourtool.events.deltas import MessageComplete
from yourtool.events.model_calls import LlmCallFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.tui.keys import KEYS
from yourtool.tui.markdown.blocks import HighlighterFactory
from yourtool.tui.slices import PAUSE_SECONDS, SLICE_SECONDS, Slices
from yourtool.tui.terminal import MAX_COPIED_CHARACTERS
from yourtool.tui.transcript.item_view import ItemView
from yourtool.tui.transcript.items import ErrorItem, Item
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard

FLUSHES_PER_SECOND = 12
"""Updates of the screen per second while a reply streams."""
SILENCE_SECONDS = 10
"""Seconds without new output after which the status line shows the pause."""
_NO_ROW = 1 << 60
_FINAL_EVENTS = (MessageComplete, LlmCallFailed, TurnCompleted, TurnCancelled)


class Transcript(ItemView):
    """The messages, tool calls and notices of a session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "select(-1)", "previous item", show=False, id="transcript.previous"),
        Binding("down", "select(1)", "next item", show=False, id="transcript.next"),
        Binding("enter,space", "toggle_item", "fold or expand", show=False, id="transcript.toggle"),
        Binding("m", "toggle_raw", "Markdown source", show=False, id="transcript.raw"),
        Binding("c", "copy_item", "copy the item", show=False, id="transcript.copy"),
        Binding("r", "retry", "retry the turn", show=False, id="transcript.retry"),
    ]

    class RetryRequested(Message):
        """Posted when the user retries the failed turn."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._timeline = Timeline(retry_key=_key_label("chat.retry"))
        self._items = self._timeline.items
        self._changed_at = 0.0  # time of the last event that changed an item
        self._flushed_at = 0.0
        self._is_flush_queued = False
        self._flush_timer: Timer | None = None
        self._dirty_rows = (_NO_ROW, 0)  # rows to paint: the first, and the one after the last
        self._painted_total = 0
        self._ticker: Timer | None = None

    def on_resize(self) -> None:
        """Lay out items that were added before the widget had a size."""
        self._schedule(at_once=True)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked item; fold or expand a card."""
        if not len(self._heights) or self.text_selection is not None:
            return
        row = self.scroll_offset.y + event.y
        if row >= self._heights.total:
            return
        index = self._heights.index_at(row)
        item = self._timeline.items[index]
        if not item.focusable:
            return
        self._selected = item
        head = row - self._heights.top(index) == self._gap(index)
        if isinstance(item, ToolCard | ThinkingItem | ErrorItem) and (head or not item.expanded):
            self.action_toggle_item()
        self._repaint()

    # Events

    def apply(self, event: Event) -> None:
        """Apply an event to the items and schedule an update of the screen."""
        self._timeline.apply(event)
        if self._timeline.changed_items:
            self._changed_at = time.monotonic()
            self._schedule(at_once=isinstance(event, _FINAL_EVENTS))

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
        if keeps_notices:
            timeline.items.extend(self._items)
        self._timeline = timeline
        self._items = timeline.items
        self._index.clear()
        self._heights.clear()
        self._laid_out.clear()
        self._partial_items.clear()
        self._selected, self._following, self.has_unseen_rows = None, True, False
        self._set_scroll_height(0)
        self._relayout()
        self._update_ticker()

    def add_notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Add a message of the program, which is not part of the conversation."""
        self._timeline.add_notice(level, text)
        self._schedule(at_once=True)

    def clear(self) -> None:
        """Remove all items."""
        self.set_timeline(self._new_timeline())

    def scroll_to_message(self, message_id: str) -> None:
        """Select a message and scroll to its start; no effect if it is not shown."""
        if (
            item := self._timeline.message_items.get(message_id)
        ) is None or item not in self._index:
            return
        self._selected = item
        self.scroll_to(y=self._heights.top(self._index[item]))
        self._repaint()

    def set_highlight(self, highlight: HighlighterFactory) -> None:
        """Set the highlighter of code blocks and redraw the visible rows."""
        self._timeline.highlight = highlight
        for item in self._timeline.items:
            if isinstance(item, ReplyItem):
                item.highlight = highlight
                item.invalidate()
        self._relayout()

    @property
    def active_item(self) -> Item | None:
        """The item that streams, runs or waits; see `Timeline.active_item`."""
        return self._timeline.active_item

    @property
    def silent_seconds(self) -> int | None:
        """Seconds since a started reply last grew; None below `SILENCE_SECONDS`."""
        seconds = int(time.monotonic() - self._changed_at)
        has_started = isinstance(self._timeline.active_item, ReplyItem | ThinkingItem)
        return seconds if has_started and seconds >= SILENCE_SECONDS else None

    def last_reply_source(self) -> str:
        """Return the Markdown source of the last reply."""
        return self._timeline.last_reply

    def copy_long_selection(self) -> bool:
        """Copy a selection that must be read in slices; return False if there is none."""
        selection = self.text_selection
        if selection is None or not self.is_long(selection):
            return False
        self._copy_in_slices(selection)
        return True

    @work(group="copy", exclusive=True)
    async def _copy_in_slices(self, selection: Selection) -> None:
        text = await self.read_selection(selection)
        self.app.copy_to_clipboard(text)
        if len(text) <= MAX_COPIED_CHARACTERS:
            self.add_notice("info", f"Copied {len(text):,} characters.")

    async def read_selection(self, selection: Selection) -> str:
        """Return the text of a long selection, read in slices so that keys are handled."""
        lines, length, slices = list[str](), 0, Slices()
        for more in self.selected_lines(selection):
            lines += more
            length += sum(map(len, more)) + len(more)
            if length > MAX_COPIED_CHARACTERS:
                break
            if slices.is_over:
                await slices.pause()
        return "\n".join(lines).rstrip("\n")

    # Keys

    def action_select(self, step: int) -> None:
        """Select the previous or next item; scroll at the ends."""
        items = self._timeline.items
        at = self._index.get(self._selected) if self._selected else None
        if at is None:
            at = self._heights.index_at(self.scroll_offset.y + self.size.height) + 1 if items else 0
        at += step
        while 0 <= at < len(self._heights) and not items[at].focusable:
            at += step
        if not 0 <= at < len(self._heights):
            self.scroll_relative(y=step, animate=False)
            return
        self._selected = items[at]
        top, bottom = self._heights.top(at), self._heights.top(at + 1)
        if top < self.scroll_offset.y or bottom - top >= self.size.height:
            self.scroll_to(y=top)
        elif bottom > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=bottom - self.size.height)
        self._repaint()

    def action_toggle_item(self) -> None:
        """Fold or expand the selected item; its first row stays in place."""
        if self._selected is not None:
            self._selected.toggle()
            self._redraw_item(self._selected)

    def action_toggle_raw(self) -> None:
        """Switch the selected or last reply between Markdown source and rendered text."""
        replies = [item for item in self._timeline.items if isinstance(item, ReplyItem)]
        reply = self._selected if isinstance(self._selected, ReplyItem) else (replies or [None])[-1]
        if reply is not None:
            reply.toggle_raw()
            self._redraw_item(reply)

    def action_copy_item(self) -> None:
        """Copy the source of the selected item or, without one, of the last reply."""
        text = self._selected.source if self._selected else self.last_reply_source()
        if text:
            self.app.copy_to_clipboard(text)

    def action_retry(self) -> None:
        """Retry the failed turn."""
        if self._timeline.has_failed:
            self.post_message(self.RetryRequested())

    # Screen updates

    def _new_timeline(self) -> Timeline:
        timeline = Timeline(retry_key=_key_label("chat.retry"))
        timeline.highlight = self._timeline.highlight
        return timeline

    def _schedule(self, *, at_once: bool = False) -> None:
        if self._is_flush_queued or (self._flush_timer is not None and not at_once):
            return
        wait = self._flushed_at + 1 / FLUSHES_PER_SECOND - time.monotonic()
        if not self.is_mounted:
            return
        if at_once or wait <= 0:
            self._is_flush_queued = True
            self.call_next(self._flush)
        else:
            self._flush_timer = self.set_timer(wait, self._flush)

    def _flush(self) -> None:
        """Lay out changed items and repaint their rows.

        A layout that takes too long continues with a timer, so that keys are not delayed. Painting
        waits for it, but not longer than the time between two flushes.
        """
        self._is_flush_queued = False
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        if not self._timeline.changed_items or not self.size:
            return
        now = time.monotonic()
        self._add_new_items()
        self._measure_changed_items(now + SLICE_SECONDS)
        is_partial = bool(self._timeline.changed_items)
        if not is_partial or now > self._flushed_at + 1 / FLUSHES_PER_SECOND:
            self._flushed_at = now
            self._paint_changes()
        if is_partial:
            self._flush_timer = self.set_timer(PAUSE_SECONDS, self._flush)

    def _paint_changes(self) -> None:
        first, last = self._dirty_rows
        self._dirty_rows = (_NO_ROW, 0)
        if self._heights.total != self._painted_total:
            last = max(self._heights.total, self._painted_total)
        self._lay_out_visible()
        self._painted_total = self._heights.total
        if not self._following and last > self.scroll_offset.y + self.size.height:
            self.has_unseen_rows = True
        self._repaint(first, last)
        self._update_ticker()

    def _measure_changed_items(self, deadline: float) -> None:
        """Lay out changed items until the deadline, and record which rows to paint."""
        changed = sorted((self._index[item], item) for item in self._timeline.changed_items)
        first, last = self._dirty_rows
        for index, item in changed:
            top, height = self._heights.top(index), self._heights[index]
            first = min(first, top + self._measure(index, item))
            last = max(last, top + max(height, self._heights[index]))
            if not item.is_partial:
                self._timeline.changed_items.discard(item)
            if time.monotonic() > deadline:
                break
        self._dirty_rows = (first, last)

    def _update_ticker(self) -> None:
        ticking = self._timeline.ticking_items
        if ticking and self._ticker is None:
            self._ticker = self.set_interval(1, self._tick)
        elif not ticking and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _tick(self) -> None:
        for item in self._timeline.ticking_items:
            item.invalidate()
            self._timeline.changed_items.add(item)
        self._flush()
        self._update_ticker()


def _key_label(key_id: str) -> str:
    return next((key.label for key in KEYS if key.id == key_id), "")
