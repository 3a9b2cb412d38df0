"""Messages that wait for the turn to end."""

from textual import events
from textual.content import Content
from textual.message import Message

from yourtool.text import printable
from yourtool.tui.drafts import Draft
from yourtool.tui.widgets.block import Block

ROWS = 4


class Queue(Block):
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
        self.held = False
        """Nothing is sent from here until the user says so."""

    def __len__(self) -> int:
        return len(self.drafts)

    def rows(self, width: int) -> list[Content]:
        """Draw the first lines of the waiting messages, the next one first."""
        head = "held: Enter sends, Up edits" if self.held else "queued: Up edits, Ctrl+X drops"
        more = len(self.drafts) - ROWS
        rows = [head if more <= 0 else f"{head} (and {more} more)"]
        rows += [f"{at}. {printable(_first_line(d))}" for at, d in enumerate(self.drafts[:ROWS], 1)]
        return [Content(row).truncate(width, ellipsis=True) for row in rows]

    def on_click(self, event: events.Click) -> None:
        """Say which message was clicked."""
        if 0 <= (at := event.y - 1) < min(len(self.drafts), ROWS):
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

    def hold(self, held: bool) -> None:
        """Stop, or go on, sending by itself."""
        self.held = held
        self._changed()

    def _changed(self) -> None:
        self.held = self.held and bool(self.drafts)
        self.set_class(bool(self.drafts), "-filled")
        self.changed()


def _first_line(draft: Draft) -> str:
    return draft.text.strip().partition("\n")[0]
