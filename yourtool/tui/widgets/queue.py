"""The list of messages that are sent when the turn ends."""

from textual import events
from textual.content import Content
from textual.message import Message

from yourtool.text import printable
from yourtool.tui.active_keys import build_hint
from yourtool.tui.drafts import Draft
from yourtool.tui.message_queue import MessageQueue
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

MAX_ROWS = 4
"""Rows of messages; the last one counts the others if there are more messages."""


class QueueList(WrappedWidget):
    """The first lines of the queued messages in order, below the keys and a reason to wait."""

    DEFAULT_CSS = """
    QueueList {
        display: none;
        padding: 0 1;
        color: $text-muted;
        &.-filled { display: block; }
    }
    """

    class MessageClicked(Message):
        """Posted when a queued message is clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, queue: MessageQueue) -> None:
        super().__init__()
        self._queue = queue
        self._is_compact = False
        queue.on_change = self._update

    def rows(self, width: int) -> list[Content]:
        """Draw the head and the messages."""
        drafts = self._queue.drafts
        if self._is_compact:
            rows = [f"{len(drafts)} queued: {_key_hints()}"]
            return [Content(row).truncate(width, ellipsis=True) for row in rows]
        rows = self._head(width)
        visible = drafts[: self._visible_count]
        rows += [f"{at}. {printable(_first_line(draft))}" for at, draft in enumerate(visible, 1)]
        if more := len(drafts) - len(visible):
            rows.append(f"… {more} more")
        return [Content(row).truncate(width, ellipsis=True) for row in rows]

    @property
    def _visible_count(self) -> int:
        count = len(self._queue)
        return count if count <= MAX_ROWS else MAX_ROWS - 1

    def _head(self, width: int) -> list[str]:
        """Return the keys and the reason of the pause, in two rows if one is too narrow."""
        reason = self._queue.pause_reason
        if not reason:
            return [f"queued: {_key_hints()}"]
        retry = build_hint("chat.retry", "retries") if self._queue.can_retry else ""
        sends, edits = build_hint("prompt.send", "sends"), build_hint("prompt.older", "edits")
        keys = ", ".join(filter(None, (sends, edits, retry)))
        line = f"paused, {reason}: {keys}"
        return [line] if len(line) <= width else [f"paused: {reason}", keys]

    def on_click(self, event: events.Click) -> None:
        """Post the index of the clicked message."""
        heads = len(self._head(max(1, self.content_size.width)))
        at = event.y - heads
        if not self._is_compact and 0 <= at < self._visible_count:
            self.post_message(self.MessageClicked(at))

    def set_compact(self, is_small: bool) -> None:
        """Draw all messages in one row, or each in its row."""
        self._is_compact = is_small
        self.refresh_rows()

    def _update(self) -> None:
        self.set_class(bool(self._queue), "-filled")
        self.refresh_rows()


def _first_line(draft: Draft) -> str:
    return draft.text.strip().partition("\n")[0]


def _key_hints() -> str:
    hints = build_hint("prompt.older", "edits"), build_hint("chat.unqueue", "drops")
    return ", ".join(filter(None, hints))
