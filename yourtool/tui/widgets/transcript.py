"""The transcript: one scrolling widget that paints rows of items.

Only rows that somebody sees are laid out and painted; items further up have an estimated height
until they come into view. While a reply arrives the screen is brought up to date at most
`FLUSHES` times a second, and only the rows that changed; when nothing happens no timer runs.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from yourtool.deltas import MessageComplete
from yourtool.events import AnyFact, Event, LlmCallFailed, TurnCancelled, TurnCompleted
from yourtool.tui.keys import KEYS
from yourtool.tui.markdown.blocks import Highlight
from yourtool.tui.widgets.card import ToolCard
from yourtool.tui.widgets.items import ErrorItem, Item
from yourtool.tui.widgets.texts import ReplyItem, ThinkingItem
from yourtool.tui.widgets.timeline import Story
from yourtool.tui.widgets.view import PAUSE, SLICE_SECONDS, ItemView

FLUSHES = 12
"""Updates of the screen per second while something arrives."""
LONG_SILENCE = 10
"""Seconds without anything new after which a reply is said to be silent."""
_NOWHERE = 1 << 60
_ENDS = (MessageComplete, LlmCallFailed, TurnCompleted, TurnCancelled)


class Transcript(ItemView):
    """Everything that was said and done in a session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "select(-1)", "previous item", show=False, id="transcript.previous"),
        Binding("down", "select(1)", "next item", show=False, id="transcript.next"),
        Binding("enter,space", "toggle_item", "fold or unfold", show=False, id="transcript.toggle"),
        Binding("m", "toggle_raw", "Markdown source", show=False, id="transcript.raw"),
        Binding("c", "copy_item", "copy the item", show=False, id="transcript.copy"),
        Binding("r", "retry", "try again", show=False, id="transcript.retry"),
    ]

    class RetryRequested(Message):
        """The user wants the failed turn tried again."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._story = Story(retry_key=_shown_key("chat.retry"))
        self._items = self._story.items
        self._told_at = 0.0  # when an event changed something for the last time
        self._flushed_at = 0.0
        self._flush_comes = False
        self._flush_timer: Timer | None = None
        self._changed = (_NOWHERE, 0)  # rows to be painted: the first, and the one after the last
        self._painted_total = 0
        self._ticker: Timer | None = None

    def on_resize(self) -> None:
        """Lay out what came before there was a size; the view itself wraps what it shows."""
        self._schedule(at_once=True)

    def on_click(self, event: events.Click) -> None:
        """Select the item; fold or unfold a card."""
        if not len(self._heights) or self.text_selection is not None:
            return
        row = self.scroll_offset.y + event.y
        if row >= self._heights.total:
            return
        index = self._heights.at(row)
        item = self._story.items[index]
        if not item.focusable:
            return
        self._selected = item
        head = row - self._heights.top(index) == self._gap(index)
        if isinstance(item, ToolCard | ThinkingItem | ErrorItem) and (head or not item.expanded):
            self.action_toggle_item()
        self._repaint()

    # What happens

    def show(self, event: Event) -> None:
        """Tell what an event changes; the screen follows within a twelfth of a second."""
        self._story.take(event)
        if self._story.touched:
            self._told_at = time.monotonic()
            self._schedule(at_once=isinstance(event, _ENDS))

    async def read(self, facts: Iterable[AnyFact]) -> Story:
        """Return what a stored session shows, read in parts between which keys are handled."""
        story = self._empty_story()
        began = time.monotonic()
        for fact in facts:
            story.take(fact)
            if time.monotonic() - began > SLICE_SECONDS:
                await asyncio.sleep(PAUSE)
                began = time.monotonic()
        story.touched.clear()
        return story

    def begin(self, story: Story, *, keeps_remarks: bool = False) -> None:
        """Show a story in place of the present one; only its last screenful is laid out.

        `keeps_remarks`: what the program has said so far stands below it.
        """
        if keeps_remarks:
            story.items.extend(self._items)
        self._story = story
        self._items = story.items
        self._index.clear()
        self._heights.clear()
        self._seen.clear()
        self._late.clear()
        self._selected, self._following, self.unseen = None, True, False
        self._reserve(0)
        self._relayout()
        self._tick_while_needed()

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Say something that is no part of the conversation."""
        self._story.remark(level, text)
        self._schedule(at_once=True)

    def clear(self) -> None:
        """Begin with an empty screen."""
        self.begin(self._empty_story())

    def go_to(self, message_id: str) -> None:
        """Select a message and scroll to where it begins; no effect on one that is not shown."""
        if (item := self._story.places.get(message_id)) is None or item not in self._index:
            return
        self._selected = item
        self.scroll_to(y=self._heights.top(self._index[item]))
        self._repaint()

    def set_highlight(self, highlight: Highlight) -> None:
        """Colour code from now on; what is in view is drawn again."""
        self._story.highlight = highlight
        for item in self._story.items:
            if isinstance(item, ReplyItem):
                item.highlight = highlight
                item.changed()
        self._relayout()

    @property
    def arriving(self) -> Item | None:
        """The part of a reply that grows, if one has begun."""
        return self._story.arriving

    @property
    def silent(self) -> int | None:
        """For how many seconds a reply that has begun does not go on; None: for few."""
        seconds = int(time.monotonic() - self._told_at)
        begun = isinstance(self._story.arriving, ReplyItem | ThinkingItem)
        return seconds if begun and seconds >= LONG_SILENCE else None

    def last_reply_source(self) -> str:
        """Return the Markdown of the last reply."""
        return self._story.last_reply

    # Keys

    def action_select(self, step: int) -> None:
        """Go to the next item up or down; without one, scroll."""
        items = self._story.items
        at = self._index.get(self._selected) if self._selected else None
        if at is None:
            at = self._heights.at(self.scroll_offset.y + self.size.height) + 1 if items else 0
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
        """Fold or unfold the selected item; its first row stays where it is."""
        if self._selected is not None:
            self._selected.toggle()
            self._redraw(self._selected)

    def action_toggle_raw(self) -> None:
        """Show the source of the selected reply, else of the last one, or what it means."""
        replies = [item for item in self._story.items if isinstance(item, ReplyItem)]
        reply = self._selected if isinstance(self._selected, ReplyItem) else (replies or [None])[-1]
        if reply is not None:
            reply.toggle_raw()
            self._redraw(reply)

    def action_copy_item(self) -> None:
        """Copy the source of the selected item, else of the last reply."""
        text = self._selected.source if self._selected else self.last_reply_source()
        if text:
            self.app.copy_to_clipboard(text)

    def action_retry(self) -> None:
        """Ask for another try of a turn that failed."""
        if self._story.failed:
            self.post_message(self.RetryRequested())

    # Bringing the screen up to date

    def _empty_story(self) -> Story:
        story = Story(retry_key=_shown_key("chat.retry"))
        story.highlight = self._story.highlight
        return story

    def _schedule(self, *, at_once: bool = False) -> None:
        if self._flush_comes or (self._flush_timer is not None and not at_once):
            return
        wait = self._flushed_at + 1 / FLUSHES - time.monotonic()
        if not self.is_mounted:
            return
        if at_once or wait <= 0:
            self._flush_comes = True
            self.call_next(self._flush)
        else:
            self._flush_timer = self.set_timer(wait, self._flush)

    def _flush(self) -> None:
        """Lay out what is new, and have the rows that changed painted.

        What takes too long is left for later, so that keys are not kept waiting; painting waits
        for the rest, but not longer than the time between two flushes.
        """
        self._flush_comes = False
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        if not self._story.touched or not self.size:
            return
        now = time.monotonic()
        self._enlist()
        self._measure_touched(now + SLICE_SECONDS)
        behind = bool(self._story.touched)
        if not behind or now > self._flushed_at + 1 / FLUSHES:
            self._flushed_at = now
            self._paint_changes()
        if behind:
            self._flush_timer = self.set_timer(PAUSE, self._flush)

    def _paint_changes(self) -> None:
        first, last = self._changed
        self._changed = (_NOWHERE, 0)
        if self._heights.total != self._painted_total:
            last = max(self._heights.total, self._painted_total)
        self._settle()
        self._painted_total = self._heights.total
        if not self._following and last > self.scroll_offset.y + self.size.height:
            self.unseen = True
        self._repaint(first, last)
        self._tick_while_needed()

    def _measure_touched(self, deadline: float) -> None:
        """Lay out what changed until time is up, and remember which rows are to be painted."""
        touched = sorted((self._index[item], item) for item in self._story.touched)
        first, last = self._changed
        for index, item in touched:
            top, height = self._heights.top(index), self._heights[index]
            first = min(first, top + self._measure(index, item))
            last = max(last, top + max(height, self._heights[index]))
            if not item.behind:
                self._story.touched.discard(item)
            if time.monotonic() > deadline:
                break
        self._changed = (first, last)

    def _tick_while_needed(self) -> None:
        ticking = self._story.ticking
        if ticking and self._ticker is None:
            self._ticker = self.set_interval(1, self._tick)
        elif not ticking and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _tick(self) -> None:
        for item in self._story.ticking:
            item.changed()
            self._story.touched.add(item)
        self._flush()
        self._tick_while_needed()


def _shown_key(key_id: str) -> str:
    return next((key.label for key in KEYS if key.id == key_id), "")
