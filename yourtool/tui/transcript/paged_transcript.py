"""Transcript that loads earlier messages on demand."""

from collections.abc import Sequence
from typing import Protocol

from yourtool.tui.transcript import navigation
from yourtool.tui.transcript.items import Item, NoticeItem
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.transcript import Transcript


class EarlierPages(Protocol):
    """Loads the pages before the first one of a transcript."""

    def start_loading(self) -> None:
        """Load the next page in the background, unless that happens already."""
        ...

    async def find_message(self, message_id: str) -> None:
        """Load earlier pages until one has a message."""
        ...


class PagedTranscript(Transcript):
    """A transcript that can have only the end of a session."""

    earlier: EarlierPages | None = None
    """What loads earlier messages; then the first item is `build_notice`'s. None: nothing."""

    def set_timeline(self, timeline: Timeline, *, keeps_notices: bool = False) -> None:
        """Replace the timeline, which has no earlier pages; the one that is shown stays as it is.

        With `keeps_notices`, the items that are shown now follow those of the timeline.
        """
        self.earlier = None
        if timeline is not self._timeline:
            super().set_timeline(timeline, keeps_notices=keeps_notices)

    @staticmethod
    def build_notice() -> Item:
        """Return the item in place of earlier messages."""
        return NoticeItem("info", "Scroll up for earlier messages")

    def has_message(self, message_id: str) -> bool:
        """Whether a message is in the pages that are loaded."""
        return message_id in self._timeline.message_items

    def show_only(self, items: Sequence[Item]) -> None:
        """Show some of the present items, without the conversation."""
        timeline = self._new_timeline()
        timeline.items.extend(items)
        self.set_timeline(timeline)

    def show_changes(self) -> None:
        """Show what changed in the timeline."""
        self._schedule.request(at_once=True)

    def add_earlier(self, page: Timeline) -> None:
        """Put a page in place of the notice about it; the visible rows stay where they are."""
        self.end_search()
        timeline, layout = self._timeline, self._layout
        at = max(1, layout.index_at(self._view_top))
        first = timeline.items[at] if at < len(layout) else None
        offset = navigation.get_head(layout, at) - self._view_top
        for item in page.items:
            item.expand(timeline.expands)
        timeline.items[:1] = page.items
        timeline.message_items = {**page.message_items, **timeline.message_items}
        layout.items = ()  # a copy that is being read leaves the rows alone
        self._layout = ItemLayout(timeline.items, layout.width)
        self._layout.add_new_items()
        self._update_scroll_height()
        if first is not None and (index := self._layout.find_index(first)) is not None:
            self._move_to(navigation.get_head(self._layout, index) - offset)
        self._lay_out_visible()
        self._repaint()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Load earlier messages at the first row."""
        super().watch_scroll_y(old_value, new_value)
        if self.earlier is not None and round(self.scroll_y) == 0 and old_value > 0:
            self.earlier.start_loading()

    def action_select_prompt(self, step: int) -> None:
        """Select the previous or next prompt; before the first one, load earlier messages."""
        before = self._selected
        super().action_select_prompt(step)
        if step < 0 and self._selected is before and self.earlier is not None:
            self.earlier.start_loading()
