"""Items with text of any length."""

from abc import abstractmethod
from typing import Protocol

from yourtool.tui.lines.styled_lines import HighlighterFactory, StyledLine
from yourtool.tui.lines.verbatim import VerbatimStream, plain_lines
from yourtool.tui.markdown import stream
from yourtool.tui.transcript.excerpts import add_fold_hint, fold_note
from yourtool.tui.transcript.items import Item, first_difference

STREAMING_SLICE = 4000
"""Characters of a streaming text that are laid out at once; the rest waits for a timer."""
_LONG_PROMPT_LINES = 12
_LONG_PROMPT_CHARACTERS = 2_000
_FOLDED_HEAD_LINES = 6
_FOLDED_HEAD_CHARACTERS = 800
_FOLDED_END_LINES = 3
_FOLDED_END_CHARACTERS = 300
COMPLETE_SLICE = 8_000
"""Characters of a complete text that are laid out at once."""


class _RowStream(Protocol):
    """Renders a text piece by piece; settled rows never change."""

    settled: list[StyledLine]
    tail: list[StyledLine]

    def feed(self, text: str) -> None:
        """Render more of the text."""
        ...

    def finish(self) -> None:
        """Settle all rows, because the text is complete."""
        ...


class TextItem(Item):
    """A text that may grow and is laid out in slices."""

    def __init__(self) -> None:
        super().__init__()
        self._new_pieces: list[str] = []
        self._text = ""
        self._finished = False
        self._stream: _RowStream | None = None
        self._fed_length = 0

    @property
    def source(self) -> str:
        """The unrendered text."""
        if self._new_pieces:
            self._text += "".join(self._new_pieces)
            self._new_pieces.clear()
        return self._text

    @property
    def is_partial(self) -> bool:
        """Whether some of the text has no rows yet."""
        return self._width > 0 and self._fed_length < len(self._visible_text)

    @property
    def is_streaming(self) -> bool:
        """Whether more text can arrive."""
        return not self._finished

    def append(self, text: str) -> None:
        """Append a piece of text."""
        self._new_pieces.append(text)

    def finish(self, text: str | None = None) -> None:
        """Mark the text as complete; `text` replaces it if it differs."""
        if text is not None and text != self.source:
            self._text = text
            self.invalidate()
        self._finished = True

    def invalidate(self) -> None:
        """Render the text again with the next layout."""
        super().invalidate()
        self._stream, self._fed_length = None, 0

    def discard_rows(self) -> None:
        """Discard the rows and the state of the renderer."""
        super().discard_rows()
        self._stream, self._fed_length = None, 0

    def build(self, width: int) -> list[StyledLine]:
        """Render the complete text at once."""
        stream = self._new_stream(width)
        stream.feed(self._visible_text)
        stream.finish()
        return [*self._head_rows(), *stream.settled, *self._foot_rows()]

    def lay_out(self, width: int) -> int:
        """Render new text; settled rows do not change.

        A call renders at most `STREAMING_SLICE` characters while the text streams, and
        `COMPLETE_SLICE` afterwards; `is_partial` is True while more remains.
        """
        if width != self._width or self._stream is None:
            self._stream, self._fed_length, self._rows, self._width = (
                self._new_stream(width),
                0,
                [],
                width,
            )
        stream, text, head = self._stream, self._visible_text, self._head_rows()
        settled = len(stream.settled)
        end = min(
            len(text), self._fed_length + (COMPLETE_SLICE if self._finished else STREAMING_SLICE)
        )
        if self._fed_length < end:
            stream.feed(text[self._fed_length : end])
            self._fed_length = end
        complete = self._finished and end == len(text)
        if complete:
            stream.finish()
        has_changed, self._rows[: len(head)] = self._rows[: len(head)] != head, head
        first = len(head) + settled
        before, after = self._rows[first:], stream.settled[settled:] + stream.tail
        if complete:
            after += self._foot_rows()
        self._rows[first:] = after
        return 0 if has_changed else first + first_difference(before, after)

    @property
    def _visible_text(self) -> str:
        """The text that is rendered."""
        return self.source

    @abstractmethod
    def _new_stream(self, width: int) -> _RowStream:
        """Return a new renderer."""

    def _head_rows(self) -> list[StyledLine]:
        """Return the rows above the text; their number is constant."""
        return []

    def _foot_rows(self) -> list[StyledLine]:
        """Return the rows below the complete text."""
        return []


class UserMessageItem(TextItem):
    """A prompt of the user; a long one is folded to its beginning and its end."""

    foldable = True
    mark = ("❯", "prompt")

    def __init__(self, text: str, attached: str = "") -> None:
        """Create the item; `attached` names the attachments, for example `2 images`."""
        super().__init__()
        self.finish(text)
        self._attachments = attached
        self._head, self._hidden_lines, self._end = _fold(text)

    def estimate(self, width: int) -> int:
        """Guess the height; a folded prompt has few rows."""
        if self.expanded or not self._hidden_lines:
            return super().estimate(width)
        return _FOLDED_HEAD_LINES + 1 + _FOLDED_END_LINES

    @property
    def _visible_text(self) -> str:
        return self.source if self.expanded else self._head

    def _new_stream(self, width: int) -> VerbatimStream:
        return VerbatimStream(width, "user")

    def _foot_rows(self) -> list[StyledLine]:
        rows: list[StyledLine] = []
        if self._hidden_lines and not self.expanded:
            rows.append(fold_note(self._hidden_lines, self._width))
            rows += plain_lines(self._end, "user", self._width)
        if self._attachments:
            rows.append(StyledLine(((f"[{self._attachments}]", "muted"),)))
        return rows


class ReplyItem(TextItem):
    """The reply of the model, streaming or complete."""

    def __init__(self) -> None:
        super().__init__()
        self.highlight: HighlighterFactory | None = None
        self.raw = False
        self._is_cancelled = False

    def cancel(self) -> None:
        """Mark the reply as cancelled and complete."""
        self._is_cancelled = True
        self.finish()

    def toggle_raw(self) -> None:
        """Switch between Markdown source and rendered text."""
        self.raw = not self.raw
        self.invalidate()

    def _new_stream(self, width: int) -> _RowStream:
        return VerbatimStream(width) if self.raw else stream.MarkdownStream(width, self.highlight)

    def _foot_rows(self) -> list[StyledLine]:
        return [StyledLine((("(cancelled)", "muted"),))] if self._is_cancelled else []


class ThinkingItem(TextItem):
    """Reasoning, folded to one line until it is expanded."""

    compact = True
    foldable = True
    mark = ("✻", "muted")

    def __init__(self, *, redacted: bool = False) -> None:
        super().__init__()
        self._redacted = redacted
        self._cached_word_count: int | None = None

    def finish(self, text: str | None = None) -> None:
        """Mark the reasoning as complete."""
        super().finish(text)
        self._cached_word_count = None

    def estimate(self, width: int) -> int:
        """Guess the height; one row while folded."""
        return super().estimate(width) + 1 if self.expanded else 1

    @property
    def _visible_text(self) -> str:
        return self.source if self.expanded and not self._is_hidden else ""

    @property
    def _is_hidden(self) -> bool:
        return self._redacted or (self._finished and not self._word_count)

    @property
    def _word_count(self) -> int:
        if self._cached_word_count is None:
            self._cached_word_count = len(self.source.split())
        return self._cached_word_count

    def _new_stream(self, width: int) -> VerbatimStream:
        return VerbatimStream(width, "muted")

    def _head_rows(self) -> list[StyledLine]:
        if self._is_hidden:
            head = "Reasoning hidden by the provider"
        elif not self._finished:
            head = "Thinking…"
        else:
            head = f"Reasoning, {self._word_count:,} {'word' if self._word_count == 1 else 'words'}"
        line = StyledLine(((head, "thinking"),))
        return [line if self.expanded or self._is_hidden else add_fold_hint(line, self._width)]


class SummaryItem(TextItem):
    """A summary that requests have in place of messages, folded to one line until it is expanded.

    The messages themselves are in the transcript above it; `hint` has the key that lists them.
    """

    compact = True
    foldable = True
    mark = ("✻", "muted")

    def __init__(self, head: str, summary: str, hint: str = "") -> None:
        super().__init__()
        self._head = f"{head}{hint}"
        self.finish(summary)

    def estimate(self, width: int) -> int:
        """Guess the height; a head of at most two rows while folded."""
        return super().estimate(width) + 1 if self.expanded else 1 + len(self._head) // width

    @property
    def _visible_text(self) -> str:
        return self.source if self.expanded else ""

    def _new_stream(self, width: int) -> _RowStream:
        return stream.MarkdownStream(width, None)

    def _head_rows(self) -> list[StyledLine]:
        rows = plain_lines(self._head, "muted", self._width)
        return rows if self.expanded else [*rows[:-1], add_fold_hint(rows[-1], self._width)]


def _fold(text: str) -> tuple[str, int, str]:
    """Return the beginning of a long prompt, the number of hidden lines, and its end.

    A paste is usually long, and the request before or after it is what the user looks for.
    """
    lines = text.count("\n") + 1
    if lines <= _LONG_PROMPT_LINES and len(text) <= _LONG_PROMPT_CHARACTERS:
        return text, 0, ""
    head = "\n".join(text[:_FOLDED_HEAD_CHARACTERS].split("\n")[:_FOLDED_HEAD_LINES])
    end = "\n".join(text[-_FOLDED_END_CHARACTERS:].split("\n")[-_FOLDED_END_LINES:])
    shown = head.count("\n") + end.count("\n") + 2
    return head, max(1, lines - shown), end
