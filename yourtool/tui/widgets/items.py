"""What a transcript is made of: each item has a source, which it lays out in rows of any width.

Items know nothing of the screen. Rows are made when somebody looks at them and may be forgotten
at any time; the source stays.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from yourtool.amounts import format_duration
from yourtool.text import printable
from yourtool.tui.styled_lines import Span, StyledLine
from yourtool.tui.verbatim import plain_lines

_LONGEST = 10_000
"""Characters of a message that are laid out; the whole can be copied."""


class Item(ABC):
    """One entry of the transcript."""

    compact: ClassVar[bool] = False
    """No blank row between two compact neighbours."""
    focusable: ClassVar[bool] = True

    expanded = False
    mark: Span = ("", "")
    """One cell before the first row."""

    def __init__(self) -> None:
        self._width = 0
        self._rows: list[StyledLine] = []

    @property
    def rows(self) -> Sequence[StyledLine]:
        """The rows of the last `lay_out`."""
        return self._rows

    @property
    def laid_out(self) -> int:
        """The width the rows were made for; 0: there are none."""
        return self._width

    def lay_out(self, width: int) -> int:
        """Make the rows for a width, if need be, and return the first one that is new."""
        if self._width == width:
            return len(self._rows)
        before, self._rows, self._width = self._rows, self.build(width), width
        return first_difference(before, self._rows)

    def forget(self) -> None:
        """Drop the rows; they are made again when somebody looks."""
        self._rows, self._width = [], 0

    def changed(self) -> None:
        """Have the rows made again; the old ones are kept to see what differs."""
        self._width = 0

    def toggle(self) -> None:
        """Show more, or less."""
        self.expanded = not self.expanded
        self.changed()

    def estimate(self, width: int) -> int:
        """Guess the height without laying out."""
        text = self.source
        return max(1, text.count("\n") + 1 + len(text) // max(1, width))

    @property
    def behind(self) -> bool:
        """Whether some rows are not made yet; `lay_out` makes more of them."""
        return False

    @property
    def streaming(self) -> bool:
        """Whether there may be more to show later."""
        return False

    @abstractmethod
    def build(self, width: int) -> list[StyledLine]:
        """Make all rows."""

    @property
    @abstractmethod
    def source(self) -> str:
        """What copying the whole item gives."""


class Remark(Item):
    """Words of the program."""

    compact = True
    focusable = False

    MARKS: ClassVar[dict[str, Span]] = {
        "info": ("·", "muted"),
        "warning": ("!", "warning"),
        "error": ("✗", "error"),
    }
    INKS: ClassVar[dict[str, str]] = {"info": "muted", "warning": "warning", "error": "error"}

    def __init__(self, level: Literal["info", "warning", "error"], text: str) -> None:
        super().__init__()
        self.mark = self.MARKS[level]
        self._ink = self.INKS[level]
        self._text = text

    @property
    def source(self) -> str:
        """The words."""
        return self._text

    def build(self, width: int) -> list[StyledLine]:
        """Wrap the words."""
        return _message(self._text, self._ink, width)


class ErrorItem(Item):
    """A model request that failed: what, where, why, and the way out."""

    mark = ("✗", "error")

    def __init__(
        self, head: str, cause: str, advice: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._head, self._cause, self._advice = head, cause, advice
        self._clock = clock
        self._until = 0.0
        self._attempts = ""
        self.settled = False

    @property
    def waiting(self) -> bool:
        """Whether the request is about to be sent again without anybody asking for it."""
        return bool(self._attempts) and not self.settled

    @property
    def under_way(self) -> bool:
        """Whether the wait is over, and nothing came of the next attempt yet."""
        return self.waiting and self._clock() >= self._until

    def wait(self, seconds: float, attempts: str) -> None:
        """The request is sent again after some time; `attempts` is such as `2 of 3`."""
        self._until, self._attempts = self._clock() + seconds, attempts
        self.mark = ("!", "warning")
        self.changed()

    def settle(self) -> None:
        """The turn went on after it: one line is enough."""
        self.settled = True
        self.mark = ("·", "muted")
        self.changed()

    @property
    def source(self) -> str:
        """Everything that is said."""
        return "\n".join((self._head, self._cause, self._way_out))

    def build(self, width: int) -> list[StyledLine]:
        """Head, cause and advice; a failure that was overcome is one line."""
        if self.settled and not self.expanded:
            words = f"{self._head}: {self._cause}".partition("\n")[0]
            return _message(words, "muted", width)
        return [
            *_message(self._head, "warning" if self.waiting else "error", width),
            *_message(self._cause, "", width),
            *_message(self._way_out, "muted", width),
        ]

    @property
    def _way_out(self) -> str:
        if not self.waiting:
            return self._advice
        if self.under_way:
            return f"Trying again ({self._attempts}); Esc stops."
        left = format_duration(math.ceil(self._until - self._clock()))
        return f"Trying again in {left} ({self._attempts}); Esc stops."


class Footer(Item):
    """Under a reply: model, tokens, cost, time, and why it went there."""

    focusable = False

    def __init__(self, parts: Sequence[str], warning: str = "") -> None:
        super().__init__()
        self._parts = tuple(parts)
        self._warning = warning

    @property
    def source(self) -> str:
        """The figures."""
        return " · ".join((*self._parts, self._warning) if self._warning else self._parts)

    def build(self, width: int) -> list[StyledLine]:
        """Wrap between the figures, never inside one."""
        lines: list[StyledLine] = []
        row = ""
        for part in map(printable, self._parts):
            if row and len(row) + 3 + len(part) > width:
                lines += _message(row, "muted", width)
                row = part
            else:
                row = f"{row} · {part}" if row else part
        if row:
            lines += _message(row, "muted", width)
        return lines + (_message(self._warning, "warning", width) if self._warning else [])


def _message(text: str, ink: str, width: int) -> list[StyledLine]:
    """Return the rows of a message, which is short unless a server or an import made it long."""
    return plain_lines(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", ink, width)


def first_difference(before: Sequence[StyledLine], after: Sequence[StyledLine]) -> int:
    """Return the first row that does not look the same."""
    for at, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new and (old.spans != new.spans or old.fill != new.fill):
            return at
    return min(len(before), len(after))
