"""Session events as written lines.

Lines are only appended. A reply is written line by line while it streams; everything else is
written once it is complete.
"""

from collections.abc import Callable
from typing import Literal

from yourtool.events.catalog import Event
from yourtool.events.deltas import RetryScheduled
from yourtool.foundation.amounts import format_duration
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import get_label
from yourtool.tui.lines.styled_lines import StyledLine
from yourtool.tui.transcript.items import ErrorItem, FooterItem, Item, NoticeItem
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem, UserMessageItem
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard

WIDTH = 100
"""Columns of rows that are laid out, such as those of a change."""


class Speaker:
    """Writes lines; `write` gets text that ends with a line break."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._timeline = Timeline()
        self._seen = 0
        self._open: list[Item] = []  # not completely written yet
        self._written: dict[Item, int] = {}  # characters of a reply; 1 if a start was written
        self.sent_text = ""
        """The last message that the user typed, which is not repeated."""

    def apply(self, event: Event) -> None:
        """Write what an event adds."""
        if isinstance(event, RetryScheduled):
            seconds = format_duration(event.delay_seconds)
            attempts = f"{event.attempt} of {event.max_attempts}"
            self.say("Notice", f"{event.message} Retrying in {seconds}, {attempts}.")
        self._timeline.apply(event)
        self._show_items()

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Write a message of the program."""
        self.say({"info": "Notice", "warning": "Warning", "error": "Error"}[level], text)

    def say(self, role: str, text: str) -> None:
        """Write a role and a text."""
        self._write(f"{role}: {printable(text).strip()}\n")

    def write(self, text: str) -> None:
        """Write further lines of the same role."""
        self._write(f"{printable(text)}\n")

    def _show_items(self) -> None:
        items = self._timeline.items
        self._open += items[self._seen :]
        self._seen = len(items)
        self._open = [item for item in self._open if not self._show(item)]
        self._timeline.changed_items.clear()

    def _show(self, item: Item) -> bool:
        """Write what is new of an item; return whether it is complete."""
        match item:
            case ReplyItem():
                return self._show_reply(item)
            case ThinkingItem():
                if item not in self._written:
                    self._written[item] = 1
                    self.say("Model", "thinking")
                return not item.is_streaming
            case ToolCard():
                return self._show_card(item)
            case UserMessageItem():
                if item.source.strip() != self.sent_text.strip():
                    self.say("You", item.source)
                self.sent_text = ""
            case ErrorItem():
                if item.is_waiting:
                    return False
                if not item.is_resolved:
                    self.say("Error", item.source)
            case FooterItem():
                self.say("Done", item.source.replace(" · ", ", "))
            case NoticeItem():
                self.say("Notice", item.source)
            case _:
                self.say("Notice", item.source)
        return True

    def _show_reply(self, item: ReplyItem) -> bool:
        """Write the complete lines of a reply, and the last one after its end."""
        text, at = item.source, self._written.get(item, 0)
        end = text.rfind("\n") + 1 if item.is_streaming else len(text)
        if end > at:
            lines = text[at:end].removesuffix("\n")
            if at:
                self.write(lines)
            elif lines.strip():
                self.say("Model", lines)
            self._written[item] = end
        return not item.is_streaming

    def _show_card(self, card: ToolCard) -> bool:
        if card.status == "running" and card not in self._written:
            self._written[card] = 1
            self.say("Tool", card.activity)
        if card.is_open:
            return False
        head, *body = card.build(WIDTH)
        result = "ok: " if card.status == "ok" else ""  # other results are part of the row
        self.say("Tool", f"{result}{_get_text(head)}".replace(" · ", ", "))
        for row in body:
            self.write(_get_text(row).removeprefix("│ "))
        return True


def _get_text(line: StyledLine) -> str:
    """Return the text of a row without the key that opens what is folded."""
    text = "".join(text for text, _ in line.spans).rstrip()
    return text.removesuffix(f"({get_label('chat.folds')})").rstrip()
