"""Items that are a text of any length: prompts, replies and reasoning."""

from abc import abstractmethod
from typing import Protocol

from yourtool.tui.markdown.blocks import Highlight
from yourtool.tui.markdown.stream import MarkdownStream
from yourtool.tui.styled_lines import StyledLine
from yourtool.tui.verbatim import VerbatimStream
from yourtool.tui.widgets.items import Item, first_difference

SLICE = 4000
"""Characters of a growing text that are laid out at once; more wait for the loop's next turn."""
WHOLE = 8_000
"""The same of a complete one."""


class _Stream(Protocol):
    """Rows of a text that is fed to it; settled ones stay."""

    settled: list[StyledLine]
    tail: list[StyledLine]

    def feed(self, text: str) -> None:
        """Take more of the text."""
        ...

    def finish(self) -> None:
        """The text is complete."""
        ...


class TextItem(Item):
    """A text of any length, which may grow; it is laid out in parts."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._text = ""
        self._finished = False
        self._stream: _Stream | None = None
        self._fed = 0

    @property
    def source(self) -> str:
        """The text as it is."""
        if self._parts:
            self._text += "".join(self._parts)
            self._parts.clear()
        return self._text

    @property
    def behind(self) -> bool:
        """Whether there is text that the rows do not show."""
        return self._width > 0 and self._fed < len(self._shown)

    @property
    def streaming(self) -> bool:
        """Whether more may arrive."""
        return not self._finished

    def write(self, text: str) -> None:
        """Take more text."""
        self._parts.append(text)

    def finish(self, text: str | None = None) -> None:
        """The text is complete; `text` is authoritative."""
        if text is not None and text != self.source:
            self._text = text
            self.changed()
        self._finished = True

    def changed(self) -> None:
        """Have everything drawn again from the source."""
        super().changed()
        self._stream, self._fed = None, 0

    def forget(self) -> None:
        """Drop the rows and the state of the renderer."""
        super().forget()
        self._stream, self._fed = None, 0

    def build(self, width: int) -> list[StyledLine]:
        """Lay out the whole text at once."""
        stream = self._renderer(width)
        stream.feed(self._shown)
        stream.finish()
        return [*self._head(), *stream.settled, *self._foot()]

    def lay_out(self, width: int) -> int:
        """Lay out what has arrived since; settled rows are not touched.

        At most `SLICE` characters a call while the text is arriving, and `WHOLE` afterwards:
        `behind` tells whether there is more.
        """
        if width != self._width or self._stream is None:
            self._stream, self._fed, self._rows, self._width = self._renderer(width), 0, [], width
        stream, text, head = self._stream, self._shown, self._head()
        settled = len(stream.settled)
        end = min(len(text), self._fed + (WHOLE if self._finished else SLICE))
        if self._fed < end:
            stream.feed(text[self._fed : end])
            self._fed = end
        complete = self._finished and end == len(text)
        if complete:
            stream.finish()
        has_changed, self._rows[: len(head)] = self._rows[: len(head)] != head, head
        kept = len(head) + settled
        before, after = self._rows[kept:], stream.settled[settled:] + stream.tail
        if complete:
            after += self._foot()
        self._rows[kept:] = after
        return 0 if has_changed else kept + first_difference(before, after)

    @property
    def _shown(self) -> str:
        """The text that is laid out."""
        return self.source

    @abstractmethod
    def _renderer(self, width: int) -> _Stream:
        """Return what makes the rows."""

    def _head(self) -> list[StyledLine]:
        """Return the rows above the text; their number never changes."""
        return []

    def _foot(self) -> list[StyledLine]:
        """Return the rows below the complete text."""
        return []


class UserMessage(TextItem):
    """What the user said."""

    mark = ("❯", "prompt")

    def __init__(self, text: str, attached: str = "") -> None:
        """`attached` names what is sent with it, such as `2 images`."""
        super().__init__()
        self.finish(text)
        self._attached = attached

    def _renderer(self, width: int) -> VerbatimStream:
        return VerbatimStream(width, "user")

    def _foot(self) -> list[StyledLine]:
        return [StyledLine(((f"[{self._attached}]", "muted"),))] if self._attached else []


class ReplyItem(TextItem):
    """What the model said, while it says it and afterwards."""

    def __init__(self, highlight: Highlight | None = None) -> None:
        super().__init__()
        self.highlight = highlight
        self.raw = False
        self._is_cancelled = False

    def cancel(self) -> None:
        """The reply was stopped; it is complete as it is."""
        self._is_cancelled = True
        self.finish()

    def toggle_raw(self) -> None:
        """Show the Markdown itself, or what it means."""
        self.raw = not self.raw
        self.changed()

    def _renderer(self, width: int) -> _Stream:
        return VerbatimStream(width) if self.raw else MarkdownStream(width, self.highlight)

    def _foot(self) -> list[StyledLine]:
        return [StyledLine((("(cancelled)", "muted"),))] if self._is_cancelled else []


class ThinkingItem(TextItem):
    """Reasoning, folded to a line until somebody wants to read it."""

    compact = True
    mark = ("✻", "muted")

    def __init__(self, *, redacted: bool = False) -> None:
        super().__init__()
        self._redacted = redacted
        self._count: int | None = None

    def finish(self, text: str | None = None) -> None:
        """The reasoning is complete."""
        super().finish(text)
        self._count = None

    def estimate(self, width: int) -> int:
        """One row while folded."""
        return super().estimate(width) + 1 if self.expanded else 1

    @property
    def _shown(self) -> str:
        return self.source if self.expanded and not self._is_hidden else ""

    @property
    def _is_hidden(self) -> bool:
        return self._redacted or (self._finished and not self._words)

    @property
    def _words(self) -> int:
        if self._count is None:
            self._count = len(self.source.split())
        return self._count

    def _renderer(self, width: int) -> VerbatimStream:
        return VerbatimStream(width, "muted")

    def _head(self) -> list[StyledLine]:
        if self._is_hidden:
            head = "Thinking kept hidden by the provider"
        elif not self._finished:
            head = "Thinking…"
        else:
            head = f"Thought, {self._words:,} {'word' if self._words == 1 else 'words'}"
        return [StyledLine(((head, "thinking"),))]
