"""Messages that are sent when the turn ends."""

from textual import events
from textual.content import Content
from textual.message import Message

from yourtool.text import printable
from yourtool.tui.drafts import Draft
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

VISIBLE_MESSAGES = 4


class Queue(WrappedWidget):
    """The queued drafts, in the order in which they are sent.

    Changes are synchronous, so a message that the user takes back is never sent.
    """

    DEFAULT_CSS = """
    Queue {
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

    def __init__(self) -> None:
        super().__init__()
        self.drafts: list[Draft] = []
        self.pause_reason = ""
        """Why the queue waits for the user; empty while it sends messages in order."""
        self.can_retry = False
        """Whether the user can retry the failed turn."""
        self._is_compact = False

    def __len__(self) -> int:
        return len(self.drafts)

    def rows(self, width: int) -> list[Content]:
        """Draw the first lines of the queued messages in order."""
        if self._is_compact:
            rows = [f"{len(self.drafts)} queued: Up edits, Ctrl+X drops"]
            return [Content(row).truncate(width, ellipsis=True) for row in rows]
        more = len(self.drafts) - VISIBLE_MESSAGES
        head = self._head(width)
        rows = head if more <= 0 else [*head[:-1], f"{head[-1]} (and {more} more)"]
        rows += [
            f"{at}. {printable(_first_line(d))}"
            for at, d in enumerate(self.drafts[:VISIBLE_MESSAGES], 1)
        ]
        return [Content(row).truncate(width, ellipsis=True) for row in rows]

    def _head(self, width: int) -> list[str]:
        """Return the keys and the reason of the pause, in two rows if one is too narrow."""
        if not self.pause_reason:
            return ["queued: Up edits, Ctrl+X drops"]
        keys = "Enter sends, Up edits" + (", Ctrl+T retries" if self.can_retry else "")
        line = f"paused, {self.pause_reason}: {keys}"
        return [line] if len(line) <= width else [f"paused: {self.pause_reason}", keys]

    def on_click(self, event: events.Click) -> None:
        """Post the index of the clicked message."""
        heads = len(self._head(max(1, self.content_size.width)))
        if not self._is_compact and 0 <= (at := event.y - heads) < min(
            len(self.drafts), VISIBLE_MESSAGES
        ):
            self.post_message(self.MessageClicked(at))

    def add(self, draft: Draft, *, first: bool = False) -> None:
        """Add a message at the end or, with `first`, at the front."""
        self.drafts.insert(0 if first else len(self.drafts), draft)
        self._update()

    def pop(self, at: int = 0) -> Draft | None:
        """Remove and return a message; None if the index does not exist."""
        if not -len(self.drafts) <= at < len(self.drafts):
            return None
        draft = self.drafts.pop(at)
        self._update()
        return draft

    def pause(self, why: str, *, can_retry: bool = False) -> None:
        """Stop sending until the user acts."""
        self.pause_reason, self.can_retry = why, can_retry
        self._update()

    def set_compact(self, is_small: bool) -> None:
        """Draw all messages in one row, or each in its row."""
        self._is_compact = is_small
        self.refresh_rows()

    def resume(self) -> None:
        """Send messages in order again."""
        self.pause("")

    def _update(self) -> None:
        self.pause_reason = self.pause_reason if self.drafts else ""
        self.set_class(bool(self.drafts), "-filled")
        self.refresh_rows()


def _first_line(draft: Draft) -> str:
    return draft.text.strip().partition("\n")[0]
