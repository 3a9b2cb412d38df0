"""Answers of a question in a list.

The first answers are sentences with a number, one below the other; the others are short and side by
side. Nothing is marked at first.
"""

from collections.abc import Iterator, Mapping, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from yourtool.foundation.text import escape_line
from yourtool.tui.questions.answer_words import (
    Answer,
    count_numbered,
    find_answer,
    starts_answer,
)
from yourtool.tui.questions.approval_hints import SHORT_ROWS, WIDE_COLUMNS
from yourtool.tui.widgets.wrapped_widget import WrappedWidget


class AnswerList(WrappedWidget):
    """The answers, and which of them is marked."""

    DEFAULT_CSS = """
    AnswerList {
        .answers--marked { background: $warning; color: $background; text-style: bold; }
        &:ansi .answers--marked { color: $block-cursor-foreground; }
        .answers--disabled { color: $text-disabled; }
    }
    """
    COMPONENT_CLASSES = {"answers--marked", "answers--disabled"}  # noqa: RUF012 - Textual's form

    class Pressed(Message):
        """Posted when an answer was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    marked: var[int | None] = var[int | None](None)
    """The index of the answer that Enter confirms."""
    is_ready: var[bool] = var(False)
    """Whether keys answer now."""
    is_blocked: var[frozenset[int]] = var(frozenset[int]())
    """The answers that are not possible yet."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: Sequence[Answer] = ()
        self.letters: Mapping[str, str] = {}
        self.first: int | None = None
        """The answer that is marked without a key."""

    def on_mount(self) -> None:
        """Redraw when an attribute changes."""
        for name in ("marked", "is_ready", "is_blocked"):
            self.watch(self, name, self._redraw, init=False)

    def _redraw(self) -> None:
        self.refresh()

    def show(self, answers: Sequence[Answer], letters: Mapping[str, str]) -> None:
        """Show the answers of a question; `letters`: their names by the keys that give them."""
        letter = "" if self.marked is None else self.answers[self.marked].letter
        self.answers, self.letters = answers, letters
        self.marked = self.find_letter(letter) if letter else self.first
        self.refresh_rows()

    def find(self, typed: str) -> int | None:
        """Return the index of the answer that a text gives, if it gives one."""
        return find_answer(typed, self.answers, self.letters)

    def find_letter(self, letter: str) -> int | None:
        """Return the index of the answer with a name."""
        return next((at for at, each in enumerate(self.answers) if each.letter == letter), None)

    def is_answer_so_far(self, typed: str) -> bool:
        """Whether a text is an answer, or the start of one."""
        return starts_answer(typed, self.answers, self.letters)

    def unmark(self) -> None:
        """Mark no answer, or the one that needs no key."""
        self.marked = self.first

    def move(self, step: int) -> None:
        """Move the mark, from nothing and from the last answer to the first one."""
        self.marked = ((-1 if self.marked is None else self.marked) + step) % len(self.answers)

    def rows(self, width: int) -> list[Content]:
        """Draw the answers with their numbers and keys."""
        return [Content("").join(piece for _, piece in row) for row in self._layout(width)]

    def on_click(self, event: events.Click) -> None:
        """Report which answer was clicked."""
        if (offset := event.get_content_offset(self)) is None:
            return
        column = 0
        for at, piece in self._layout(max(1, self.content_size.width))[offset.y]:
            column += piece.cell_length
            if offset.x < column:
                self.post_message(self.Pressed(at))
                return

    def _layout(self, width: int) -> list[list[tuple[int, Content]]]:
        """Return the rows; each piece has the index of its answer."""
        is_short = self.app.size.height < SHORT_ROWS
        numbered = 0 if is_short else count_numbered(self.answers)
        rows = [[(at, row)] for at in range(numbered) for row in self._sentence(at, width)]
        used = width
        for at in range(numbered, len(self.answers)):
            label = self.answers[at].label if width >= WIDE_COLUMNS else self.answers[at].short
            piece = self._paint(at, f" {self._key_of(at)}{label} ")
            if used + piece.cell_length > width:
                rows.append([])
                used = 0
            rows[-1].append((at, piece))
            used += piece.cell_length
        return rows

    def _sentence(self, at: int, width: int) -> Iterator[Content]:
        head = f" {at + 1} {self._key_of(at)}"
        for row in Content(escape_line(self.answers[at].label)).wrap(max(1, width - len(head))):
            yield self._paint(at, f"{head}{row.plain}")
            head = " " * len(head)

    def _key_of(self, at: int) -> str:
        letter = self.answers[at].letter
        key = next((key for key, each in self.letters.items() if each == letter), "")
        return f"[{key}] " if key else ""

    def _paint(self, at: int, text: str) -> Content:
        if at == self.marked and self.is_ready:
            return Content(text).stylize(self.get_visual_style("answers--marked"))
        if not self.is_ready or at in self.is_blocked:
            return Content(text).stylize(self.get_visual_style("answers--disabled"))
        return Content(text)
