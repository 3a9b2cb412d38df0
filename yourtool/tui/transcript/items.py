"""Items of a transcript.

Items are independent of the screen. Rows are built when they become visible and can be discarded
at any time; the source stays.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from yourtool.foundation.amounts import format_duration
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import build_hint
from yourtool.tui.lines.styled_lines import Span, StyledLine
from yourtool.tui.lines.verbatim import plain_lines
from yourtool.tui.transcript.excerpts import add_fold_hint

_MAX_CHARACTERS = 10_000
"""Characters of a message that are laid out; copying returns all of them."""


class Item(ABC):
    """One entry of the transcript."""

    compact: ClassVar[bool] = False
    """Whether there is no blank row between this item and a compact neighbour."""
    focusable: ClassVar[bool] = True
    foldable: ClassVar[bool] = False
    """Whether `expanded` changes the rows."""
    folds_to_end: bool = False
    """Whether the last rows are shown while the item is folded."""

    expanded = False
    mark: Span = ("", "")
    """A symbol of one cell before the first row."""

    def __init__(self) -> None:
        self._width = 0
        self._rows: list[StyledLine] = []

    @property
    def rows(self) -> Sequence[StyledLine]:
        """The rows that the last `lay_out` built."""
        return self._rows

    @property
    def layout_width(self) -> int:
        """The width of the rows; 0 if none are built."""
        return self._width

    def lay_out(self, width: int) -> int:
        """Build the rows for a width unless they are up to date; return the first changed row."""
        if self._width == width:
            return len(self._rows)
        before, self._rows, self._width = self._rows, self.build(width), width
        return first_difference(before, self._rows)

    def discard_rows(self) -> None:
        """Discard the rows; they are rebuilt when the item becomes visible."""
        self._rows, self._width = [], 0

    def invalidate(self) -> None:
        """Mark the rows as outdated; the next `lay_out` compares them with the new ones."""
        self._width = 0

    def expand(self, expanded: bool) -> None:
        """Expand or fold the item, if it can be folded."""
        if self.foldable and self.expanded != expanded:
            self.expanded = expanded
            self.invalidate()

    def estimate(self, width: int) -> int:
        """Guess the height without a layout."""
        text = self.source
        return max(1, text.count("\n") + 1 + len(text) // max(1, width))

    @property
    def is_partial(self) -> bool:
        """Whether some rows are not built yet; `lay_out` builds more of them."""
        return False

    @property
    def is_streaming(self) -> bool:
        """Whether more text can arrive."""
        return False

    @property
    def search_text(self) -> str:
        """The text that a search looks through; rows are searched before a match is shown."""
        return self.source

    @abstractmethod
    def build(self, width: int) -> list[StyledLine]:
        """Build all rows."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The text that copying the item returns."""


class NoticeItem(Item):
    """A message of the program."""

    compact = True
    focusable = False

    MARKS: ClassVar[dict[str, Span]] = {
        "info": ("·", "muted"),
        "warning": ("!", "warning"),
        "error": ("✗", "error"),
    }
    STYLES: ClassVar[dict[str, str]] = {"info": "muted", "warning": "warning", "error": "error"}

    def __init__(self, level: Literal["info", "warning", "error"], text: str) -> None:
        super().__init__()
        self.mark = self.MARKS[level]
        self._style = self.STYLES[level]
        self._text = text

    @property
    def source(self) -> str:
        """The text of the message."""
        return self._text

    def build(self, width: int) -> list[StyledLine]:
        """Wrap the text."""
        return _message_rows(self._text, self._style, width)


class ErrorItem(Item):
    """A failed model request: what failed, where, why, and what to do."""

    foldable = True
    mark = ("✗", "error")

    def __init__(
        self, head: str, cause: str, advice: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._head, self._cause, self._advice = head, cause, advice
        self._clock = clock
        self._retry_at = 0.0
        self._attempts = ""
        self.is_resolved = False

    @property
    def is_waiting(self) -> bool:
        """Whether an automatic retry is scheduled or running."""
        return bool(self._attempts) and not self.is_resolved

    @property
    def is_retrying(self) -> bool:
        """Whether the delay is over and the retry has no result yet."""
        return self.is_waiting and self._clock() >= self._retry_at

    def schedule_retry(self, seconds: float, attempts: str) -> None:
        """Show the delay in seconds before the retry; `attempts` is for example `2 of 3`."""
        self._retry_at, self._attempts = self._clock() + seconds, attempts
        self.mark = ("!", "warning")
        self.invalidate()

    def cancel_retry(self) -> None:
        """Show the advice again, because the turn ended before the retry."""
        self._attempts, self.mark = "", ErrorItem.mark
        self.invalidate()

    def resolve(self) -> None:
        """Shrink to the head, because the turn continued after the failure."""
        self.is_resolved = True
        self.mark = ("·", "muted")
        self.invalidate()

    @property
    def source(self) -> str:
        """The text of the error."""
        return "\n".join((self._head, self._cause, self._next_step))

    def build(self, width: int) -> list[StyledLine]:
        """Build head, cause and advice; a resolved failure is its head."""
        if self.is_resolved and not self.expanded:
            *rows, last = _message_rows(self._head, "muted", width)
            return [*rows, add_fold_hint(last, width)]
        return [
            *_message_rows(self._head, "warning" if self.is_waiting else "error", width),
            *_message_rows(self._cause, "", width),
            *_message_rows(self._next_step, "muted", width),
        ]

    @property
    def _next_step(self) -> str:
        if not self.is_waiting:
            return self._advice
        if self.is_retrying:
            return f"Retrying ({self._attempts}); {build_hint('chat.stop', 'stops')}."
        left = format_duration(math.ceil(self._retry_at - self._clock()))
        return f"Retrying in {left} ({self._attempts}); {build_hint('chat.stop', 'stops')}."


class FooterItem(Item):
    """The line under a turn: model, tokens, cost, time, and why the model was chosen."""

    focusable = False

    def __init__(self, parts: Sequence[str], warning: str = "") -> None:
        super().__init__()
        self._parts = tuple(parts)
        self._warning = warning

    @property
    def source(self) -> str:
        """The figures as text."""
        return " · ".join((*self._parts, self._warning) if self._warning else self._parts)

    def build(self, width: int) -> list[StyledLine]:
        """Wrap between figures, never inside one."""
        lines: list[StyledLine] = []
        row = ""
        for part in map(printable, self._parts):
            if row and len(row) + 3 + len(part) > width:
                lines += _message_rows(row, "muted", width)
                row = part
            else:
                row = f"{row} · {part}" if row else part
        if row:
            lines += _message_rows(row, "muted", width)
        return lines + (_message_rows(self._warning, "warning", width) if self._warning else [])


def _message_rows(text: str, style: str, width: int) -> list[StyledLine]:
    """Return the rows of a message, cut if a server or an import made it very long."""
    return plain_lines(
        text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…", style, width
    )


def first_difference(before: Sequence[StyledLine], after: Sequence[StyledLine]) -> int:
    """Return the index of the first row that looks different."""
    for at, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new and (old.spans != new.spans or old.fill != new.fill):
            return at
    return min(len(before), len(after))
