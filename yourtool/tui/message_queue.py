"""The messages that wait for the end of a turn."""

from collections.abc import Callable

from yourtool.tui.drafts import Draft


class MessageQueue:
    """The queued drafts, in the order in which they are sent; `on_change` is called for changes.

    Changes are synchronous, so a message that the user removes is never sent.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.on_change = on_change
        self.drafts: list[Draft] = []
        self.pause_reason = ""
        """Why the queue waits for the user; empty while it sends messages in order."""
        self.can_retry = False
        """Whether the user can retry the failed turn."""

    def __len__(self) -> int:
        return len(self.drafts)

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
        """Stop sending until the user acts; no effect on an empty queue."""
        self.pause_reason, self.can_retry = why, can_retry
        self._update()

    def resume(self) -> None:
        """Send messages in order again."""
        self.pause("")

    def _update(self) -> None:
        self.pause_reason = self.pause_reason if self.drafts else ""
        self.on_change()
