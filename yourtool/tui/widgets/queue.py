"""Lists of queued messages."""

from collections.abc import Callable, Sequence
from typing import Literal

from textual import events
from textual.content import Content

from yourtool.foundation.text import printable
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import MessageQueue, QueuedMessage
from yourtool.tui.keys.active_keys import bindings, build_hint
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

MAX_ROWS = 4
"""Rows of messages in a list; the last one counts the others if there are more messages."""
_SHORT_SCREEN_ROWS = 16
_MAX_ROWS_IF_SHORT = 2
_TITLE_STEERING = "After the next tool call"
_TITLE_WAITING = "After this turn"
_TITLE_WITHOUT_TURN = "Waiting to be sent"
"""While a session opens, a question about the folder is open, or a command runs."""

_Row = tuple[Content, QueuedMessage | None]


class QueueList(WrappedWidget, can_focus=True):
    """Shows, in the order of sending, the first line of each message, and changes the queue.

    `edit` gets a message that the user edits now, `switch` one for the other list; `leave`
    moves the focus to the prompt.
    """

    DEFAULT_CSS = """
    QueueList {
        display: none;
        padding: 0 1;
        color: $text-muted;
        &.-filled { display: block; }
        .queue--title { text-style: bold; }
        .queue--selected { background: $primary; color: $background; text-style: bold; }
        &:ansi .queue--selected {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }
    }
    """
    FOCUS_ON_CLICK = False
    COMPONENT_CLASSES = {"queue--title", "queue--selected"}  # noqa: RUF012 - Textual's form
    BINDINGS = bindings("queue")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(
        self,
        queue: MessageQueue,
        edit: Callable[[QueuedMessage], None],
        switch: Callable[[QueuedMessage], None],
        leave: Callable[[], None],
    ) -> None:
        super().__init__()
        self._queue = queue
        self._edit, self._switch, self._leave = edit, switch, leave
        self._selected: QueuedMessage | None = None
        self._at = 0
        """The position of the selected message."""
        self._is_compact = False
        queue.observe(self._update)

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    def rows(self, width: int) -> list[Content]:
        """Draw the titles and the messages."""
        return [row.truncate(width, ellipsis=True) for row, _ in self._build_rows(width)]

    def _build_rows(self, width: int) -> list[_Row]:
        """Return the rows with the message of each."""
        queue = self._queue
        if self._is_compact and not self.has_focus:
            first = queue.entries[0]
            others = f" (+{len(queue) - 1})" if len(queue) > 1 else ""
            text = f"Next{others}: {printable(_first_line(first.draft))}"
            return [(Content(text), first)]
        rows: list[_Row] = []
        if queue.steering:
            title = _TITLE_STEERING if queue.waiting else f"{_TITLE_STEERING}: {_key_hints()}"
            rows += [self._title(title), *self._list_rows(queue.steering)]
        if queue.waiting:
            rows += [*self._waiting_titles(width), *self._list_rows(queue.waiting)]
        return rows

    def _waiting_titles(self, width: int) -> list[_Row]:
        """Return the keys and the reason of a pause, in two rows if one is too narrow."""
        reason = self._queue.pause_reason
        if not reason:
            title = _TITLE_WAITING if self._queue.follows_turn else _TITLE_WITHOUT_TURN
            return [self._title(f"{title}: {_key_hints()}")]
        retry = build_hint("chat.retry", "retries") if self._queue.can_retry else ""
        sends, edits = build_hint("prompt.send", "sends"), build_hint("prompt.older", "edits")
        keys = ", ".join(filter(None, (sends, edits, retry)))
        line = f"Paused, {reason}: {keys}"
        lines = [line] if len(line) <= width else [f"Paused: {reason}", keys]
        return [self._title(line) for line in lines]

    def _title(self, text: str) -> _Row:
        return Content(text).stylize(self.get_visual_style("queue--title")), None

    def _list_rows(self, messages: Sequence[QueuedMessage]) -> list[_Row]:
        """Return the rows of one list, those around the selected message if it is long."""
        limit = _MAX_ROWS_IF_SHORT if self.screen.size.height < _SHORT_SCREEN_ROWS else MAX_ROWS
        first, count = 0, len(messages)
        if count > limit:
            count = limit - 1
            if self.has_focus and self._selected in messages:
                at = messages.index(self._selected)
                first = max(0, min(at - count // 2, len(messages) - count))
        shown = messages[first : first + count]
        rows: list[_Row] = [
            (self._draw(number, message), message)
            for number, message in enumerate(shown, first + 1)
        ]
        if more := len(messages) - len(shown):
            rows.append((Content(f"… {more} more"), None))
        return rows

    def _draw(self, number: int, message: QueuedMessage) -> Content:
        row = Content(f"{number}. {printable(_first_line(message.draft))}")
        is_selected = self.has_focus and message is self._selected
        return row.stylize(self.get_visual_style("queue--selected")) if is_selected else row

    def set_compact(self, is_small: bool) -> None:
        """Draw only the next message, with the number of the others, or each in its row."""
        self._is_compact = is_small
        self.refresh_rows()

    def _update(self) -> None:
        """Show a change of the queue, and select the next message if the selected one is gone."""
        entries = self._queue.entries
        self.set_class(bool(entries), "-filled")
        if self._selected in entries:
            self._at = entries.index(self._selected)
        elif entries:
            self._at = min(self._at, len(entries) - 1)
            self._selected = entries[self._at]
        else:
            self._selected = None
            if self.has_focus:
                self._leave()
        self.refresh_rows()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def on_focus(self) -> None:
        """Select the last message."""
        if len(self._queue):
            self._select(len(self._queue) - 1)

    def on_blur(self) -> None:
        """Redraw without a selection."""
        self.refresh_rows()

    def on_click(self, event: events.Click) -> None:
        """Edit the message that was clicked."""
        rows = self._build_rows(max(1, self.content_size.width))
        message = rows[event.y][1] if 0 <= event.y < len(rows) else None
        if message is not None:
            self._edit(message)

    def action_move(self, step: Literal[-1, 1]) -> None:
        """Select the previous or next message; after the last one, go back to the prompt."""
        if self._at + step >= len(self._queue):
            self._leave()
        else:
            self._select(max(0, self._at + step))

    def action_edit(self) -> None:
        """Move the selected message into the prompt."""
        if self._selected is not None:
            self._edit(self._selected)

    def action_remove(self) -> None:
        """Remove the selected message."""
        if self._selected is not None:
            self._queue.remove(self._selected)

    def action_reorder(self, step: Literal[-1, 1]) -> None:
        """Move the selected message in its list."""
        if self._selected is not None:
            self._queue.move(self._selected, step)

    def action_switch(self) -> None:
        """Move the selected message to the other list."""
        if self._selected is not None:
            self._switch(self._selected)

    def _select(self, at: int) -> None:
        self._at, self._selected = at, self._queue.entries[at]
        self.refresh_rows()


def _first_line(draft: Draft) -> str:
    return draft.text.strip().partition("\n")[0]


def _key_hints() -> str:
    hints = build_hint("prompt.older", "edits"), build_hint("chat.queue", "more")
    return ", ".join(filter(None, hints))
