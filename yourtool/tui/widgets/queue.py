"""Messages that wait for the turn to end."""

from textual import events
from textual.content import Content
from textual.message import Message

from yourtool.text import printable
from yourtool.tui.drafts import Draft
from yourtool.tui.widgets.block import WrappedWidget

ROWS = 4


class Queue(WrappedWidget):
    """Drafts in the order they will be sent. A change is whole before anything else can happen, so
    a message that was taken back is never sent."""

    DEFAULT_CSS = """
    Queue {
        display: none;
        padding: 0 1;
        color: $text-muted;
        &.-filled { display: block; }
    }
    """

    class Chosen(Message):
        """A waiting message was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        super().__init__()
        self.drafts: list[Draft] = []
        self.held = ""
        """Why nothing is sent from here until the user acts; empty: it is sent in turn."""
        self.can_retry = False
        """Whether a retry is one of the ways to go on."""
        self._is_small = False

    def __len__(self) -> int:
        return len(self.drafts)

    def rows(self, width: int) -> list[Content]:
        """Draw the first lines of the waiting messages, the next one first."""
        if self._is_small:
            rows = [f"{len(self.drafts)} queued: Up edits, Ctrl+X drops"]
            return [Content(row).truncate(width, ellipsis=True) for row in rows]
        more = len(self.drafts) - ROWS
        head = self._head(width)
        rows = head if more <= 0 else [*head[:-1], f"{head[-1]} (and {more} more)"]
        rows += [f"{at}. {printable(_first_line(d))}" for at, d in enumerate(self.drafts[:ROWS], 1)]
        return [Content(row).truncate(width, ellipsis=True) for row in rows]

    def _head(self, width: int) -> list[str]:
        """Return what can be done, and why it must be: in two rows where one is too narrow."""
        if not self.held:
            return ["queued: Up edits, Ctrl+X drops"]
        keys = "Enter sends, Up edits" + (", Ctrl+T retries" if self.can_retry else "")
        line = f"held, {self.held}: {keys}"
        return [line] if len(line) <= width else [f"held: {self.held}", keys]

    def on_click(self, event: events.Click) -> None:
        """Say which message was clicked."""
        heads = len(self._head(max(1, self.content_size.width)))
        if not self._is_small and 0 <= (at := event.y - heads) < min(len(self.drafts), ROWS):
            self.post_message(self.Chosen(at))

    def add(self, draft: Draft, *, first: bool = False) -> None:
        """Let a message wait, last in the row or first."""
        self.drafts.insert(0 if first else len(self.drafts), draft)
        self._changed()

    def take(self, at: int = 0) -> Draft | None:
        """Remove and return a message; None when there is no such."""
        if not -len(self.drafts) <= at < len(self.drafts):
            return None
        draft = self.drafts.pop(at)
        self._changed()
        return draft

    def hold(self, why: str, *, can_retry: bool = False) -> None:
        """Stop sending in turn for a reason."""
        self.held, self.can_retry = why, can_retry
        self._changed()

    def set_small(self, is_small: bool) -> None:
        """Take one row for all messages, or a row for each again."""
        self._is_small = is_small
        self.changed()

    def go_on(self) -> None:
        """Send in turn again."""
        self.hold("")

    def _changed(self) -> None:
        self.held = self.held if self.drafts else ""
        self.set_class(bool(self.drafts), "-filled")
        self.changed()


def _first_line(draft: Draft) -> str:
    return draft.text.strip().partition("\n")[0]
