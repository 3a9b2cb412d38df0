"""What a transcript is made of: each item keeps its source and can say it in rows of any width.

Items know nothing of the screen. Rows are made when somebody looks at them and may be forgotten
at any time; the source stays.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from yourtool.text import printable
from yourtool.tui.lines import Line, Source, Span, expand_tabs, rows_of
from yourtool.tui.markdown.blocks import Highlight
from yourtool.tui.markdown.stream import MarkdownStream, markdown

SLICE = 4000
"""Characters of a growing reply that are laid out at once; more wait for the loop's next turn."""
WHOLE = 8_000
"""The same of a complete one."""


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
        self._rows: list[Line] = []

    @property
    def rows(self) -> Sequence[Line]:
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
        return _first_difference(before, self._rows)

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

    @abstractmethod
    def build(self, width: int) -> list[Line]:
        """Make all rows."""

    @property
    @abstractmethod
    def source(self) -> str:
        """What copying the whole item gives."""


class UserMessage(Item):
    """What the user said."""

    mark = ("❯", "prompt")

    def __init__(self, text: str, attached: str = "") -> None:
        """`attached` says what went along, such as `2 images`."""
        super().__init__()
        self._text = text
        self._attached = attached

    @property
    def source(self) -> str:
        """The words as they were typed."""
        return self._text

    def build(self, width: int) -> list[Line]:
        """Wrap the words; what went along is told beneath."""
        lines = plain_lines(self._text, "user", width) if self._text else []
        if self._attached:
            lines.append(Line(((f"[{self._attached}]", "muted"),)))
        return lines


class Reply(Item):
    """What the model said, while it says it and afterwards."""

    def __init__(self, highlight: Highlight | None = None) -> None:
        super().__init__()
        self.highlight = highlight
        self.raw = False
        self._parts: list[str] = []
        self._finished = False
        self._note = ""
        self._stream: MarkdownStream | None = None
        self._fed = 0
        self._text = ""

    @property
    def source(self) -> str:
        """The Markdown."""
        if self._parts:
            self._text += "".join(self._parts)
            self._parts.clear()
        return self._text

    @property
    def behind(self) -> bool:
        """Whether text has arrived that the rows do not show."""
        return self._width > 0 and self._fed < len(self.source)

    @property
    def streaming(self) -> bool:
        """Whether more may arrive."""
        return not self._finished

    def write(self, text: str) -> None:
        """Take more text."""
        self._parts.append(text)

    def finish(self, text: str | None = None, *, cancelled: bool = False) -> None:
        """The reply is complete; `text` is authoritative."""
        if text is not None and text != self.source:
            self._text, self._stream = text, None
            self.changed()
        self._finished = True
        if cancelled:
            self._note = "(cancelled)"

    def toggle_raw(self) -> None:
        """Show the Markdown itself, or what it means."""
        self.raw = not self.raw
        self.changed()

    def changed(self) -> None:
        """Have everything drawn again from the source."""
        super().changed()
        self._stream, self._fed = None, 0

    def forget(self) -> None:
        """Drop the rows and the state of the renderer."""
        super().forget()
        self._stream, self._fed = None, 0

    def build(self, width: int) -> list[Line]:
        """Lay out the whole text at once."""
        return markdown(self.source, width, self.highlight)

    def lay_out(self, width: int) -> int:
        """Lay out what has arrived since; settled rows are not touched.

        At most `SLICE` characters a call while the text is arriving, and `WHOLE` afterwards:
        `behind` tells whether there is more.
        """
        if self.raw:
            return self._lay_out_raw(width)
        if width != self._width or self._stream is None:
            self._stream, self._fed, self._rows = MarkdownStream(width, self.highlight), 0, []
            self._width = width
        stream, text = self._stream, self.source
        kept = len(stream.settled)
        end = min(len(text), self._fed + (WHOLE if self._finished else SLICE))
        if self._fed < end:
            stream.feed(text[self._fed : end])
            self._fed = end
        complete = self._finished and end == len(text)
        if complete:
            stream.finish()
        before = self._rows[kept:]
        after = stream.settled[kept:] + stream.tail
        if self._note and complete:
            after.append(Line(((self._note, "muted"),)))
        self._rows[kept:] = after
        return kept + _first_difference(before, after)

    def _lay_out_raw(self, width: int) -> int:
        before = self._rows
        self._rows, self._width = plain_lines(self.source, "", width), width
        self._fed = len(self._text)
        if self._note and self._finished:
            self._rows.append(Line(((self._note, "muted"),)))
        return _first_difference(before, self._rows)


class Thinking(Item):
    """Reasoning, folded to a line until somebody wants to read it."""

    compact = True
    mark = ("✻", "muted")

    def __init__(self, *, redacted: bool = False) -> None:
        super().__init__()
        self._redacted = redacted
        self._parts: list[str] = []
        self._text = ""
        self._finished = False

    @property
    def source(self) -> str:
        """The reasoning."""
        if self._parts:
            self._text += "".join(self._parts)
            self._parts.clear()
        return self._text

    def write(self, text: str) -> None:
        """Take more."""
        first = not self._text and not self._parts
        self._parts.append(text)
        if self.expanded or first:
            self.changed()

    def finish(self, text: str | None = None) -> None:
        """The reasoning is complete."""
        if text is not None:
            self._parts, self._text = [], text
        self._finished = True
        self.changed()

    def estimate(self, width: int) -> int:
        """One row while folded."""
        return super().estimate(width) + 1 if self.expanded else 1

    def build(self, width: int) -> list[Line]:
        """One line, and the words beneath when unfolded."""
        if self._redacted or (self._finished and not self.source.strip()):
            return [Line((("Thinking kept hidden by the provider", "thinking"),))]
        if not self._finished:
            head = "Thinking…"
        else:
            count = len(self.source.split())
            head = f"Thought, {count:,} {'word' if count == 1 else 'words'}"
        lines = [Line(((head, "thinking"),))]
        return lines + plain_lines(self.source, "muted", width) if self.expanded else lines


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

    def build(self, width: int) -> list[Line]:
        """Wrap the words."""
        return plain_lines(self._text, self._ink, width)


class Failure(Item):
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

    def build(self, width: int) -> list[Line]:
        """Head, cause and advice; a failure that was overcome is one line."""
        if self.settled and not self.expanded:
            words = f"{self._head}: {self._cause}".partition("\n")[0]
            return plain_lines(words, "muted", width)
        return [
            *plain_lines(self._head, "warning" if self.waiting else "error", width),
            *plain_lines(self._cause, "", width),
            *plain_lines(self._way_out, "muted", width),
        ]

    @property
    def _way_out(self) -> str:
        if not self.waiting:
            return self._advice
        if self.under_way:
            return f"Trying again ({self._attempts}); Esc stops."
        left = math.ceil(self._until - self._clock())
        return f"Trying again in {left} s ({self._attempts}); Esc stops."


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

    def build(self, width: int) -> list[Line]:
        """Wrap between the figures, never inside one."""
        lines: list[Line] = []
        row = ""
        for part in map(printable, self._parts):
            if row and len(row) + 3 + len(part) > width:
                lines += plain_lines(row, "muted", width)
                row = part
            else:
                row = f"{row} · {part}" if row else part
        if row:
            lines += plain_lines(row, "muted", width)
        return lines + (plain_lines(self._warning, "warning", width) if self._warning else [])


def plain_lines(text: str, ink: str, width: int) -> list[Line]:
    """Return text as it is, made printable and wrapped."""
    lines: list[Line] = []
    for part in text.removesuffix("\n").split("\n"):
        source = Source(part)
        shown = expand_tabs(printable(part.removesuffix("\r")))
        lines += [Line(row, source, joint=joint) for row, joint in rows_of([(shown, ink)], width)]
    return lines


def _first_difference(before: Sequence[Line], after: Sequence[Line]) -> int:
    for at, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new and (old.spans != new.spans or old.fill != new.fill):
            return at
    return min(len(before), len(after))
