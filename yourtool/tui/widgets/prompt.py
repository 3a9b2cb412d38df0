"""The prompt: several lines of text, with folded pastes, recall and completion."""

from typing import Literal, Protocol

from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from yourtool.text import printable, storable
from yourtool.tui.completer import Completer
from yourtool.tui.drafts import (
    Draft,
    format_chip,
    normalize_newlines,
    should_fold,
    trailing_chip_length,
)
from yourtool.tui.dropped_paths import find_dropped_file
from yourtool.tui.keys import bindings
from yourtool.tui.widgets.completion import Completion

DRAFT_SECONDS = 0.3


class PromptOwner(Protocol):
    """Decides what the keys do that the prompt does not handle itself.

    These are calls rather than messages: a message waits in a queue while the next key is handled.
    """

    def take(self, draft: Draft) -> None:
        """Enter was pressed on a draft, which may be empty; `drop` what is taken."""
        ...

    def recall(self, step: Literal[-1, 1]) -> None:
        """The cursor would leave the text: -1 asks for something older, 1 for newer."""
        ...

    def leave_prompt(self) -> None:
        """Tab was pressed with nothing to complete."""
        ...


class Prompt(TextArea):
    """Where the user writes."""

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 40%;
        padding: 0 1;
        border: round $primary 60%;
        background: $background;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; background: $background; }
    }
    """
    BINDINGS = bindings("prompt")  # pyright: ignore[reportAssignmentType] - a list of Binding is one of BindingType

    class Paused(Message):
        """Nothing was typed for a moment, so the draft is worth keeping."""

    class FilesWanted(Message):
        """The user began to mention a file."""

    def __init__(self, completer: Completer, completion: Completion, owner: PromptOwner) -> None:
        super().__init__(soft_wrap=True, highlight_cursor_line=False, placeholder="Say what to do")
        self.cursor_blink = False
        self._owner = owner
        self._completer = completer
        self._completion = completion
        self._offered_for = ""
        """The text before the cursor when the list of completions was last opened or closed."""
        self._pastes: tuple[str, ...] = ()
        self._pause: Timer | None = None

    def render_line(self, y: int) -> Strip:
        """Paint one row; there is none to paint where the terminal leaves no room for it."""
        return super().render_line(y) if self.content_size.width > 0 else Strip([])

    def insert_typed(self, character: str) -> None:
        """Insert a character that was typed."""
        self._replace_via_keyboard(character, *self.selection)

    def on_text_area_changed(self) -> None:
        """Offer what fits, and let the draft be kept once typing pauses."""
        self._refresh_offers()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(DRAFT_SECONDS, lambda: self.post_message(self.Paused()))

    @property
    def draft(self) -> Draft:
        """What the prompt holds."""
        return Draft(self.text, self._pastes)

    def load(self, draft: Draft, *, selected: bool = False) -> None:
        """Replace what the prompt holds and put the cursor at the end.

        `selected`: what is typed next takes its place, unless the cursor is moved first.
        """
        self._pastes = draft.pastes
        self.load_text(draft.text)
        self.move_cursor(self.document.end)
        if selected:
            self.select_all()
        self._completion.open(None)

    def paste(self, text: str) -> None:
        """Insert text that was not typed; folded when it is long or could not be shown as it is."""
        text = storable(normalize_newlines(text))
        if not self.text and (path := find_dropped_file(text)) is not None:
            text = f"/attach {path}"
        if should_fold(text) or printable(text) != text:
            self._pastes = (*self._pastes, text)
            text = format_chip(len(self._pastes), text)
        result = self.replace(text, *self.selection)
        self.move_cursor(result.end_location)

    def type(self, text: str) -> None:
        """Insert text as if it was typed here."""
        result = self.replace(text, *self.selection)
        self.move_cursor(result.end_location)

    def offer(self) -> None:
        """Open or close the list of completions according to the word at the cursor."""
        before = self._offered_for = self._before_cursor()
        offers = self._completer.suggest(before) if self.selection.is_empty else None
        if self._completer.needs_files(before):
            self.post_message(self.FilesWanted())
        self._completion.open(offers)

    def action_send(self) -> None:
        """Send, or take the completion, or begin a new line after a backslash."""
        self._refresh_offers()
        before = self._before_cursor()
        if (chosen := self._completion.chosen) is not None and self._completion.offers is not None:
            word = before[self._completion.offers.start :]
            # What merely stands first in a list is no answer to a word that was not begun.
            if word != chosen.text.rstrip() and (word or self._completion.at):
                self._take()
                if chosen.text.endswith(" "):
                    return
        elif before.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            self.type("\n")
            return
        self._completion.open(None)
        self._owner.take(self.draft)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.type("\n")

    def action_complete(self) -> None:
        """Take the completion that is chosen."""
        self._refresh_offers()
        if self._completion.chosen is None:
            self._owner.leave_prompt()
        else:
            self._take()

    def action_older(self) -> None:
        """Move up: in the list, in the text, or out of it."""
        self._refresh_offers()
        if self._completion.chosen is not None:
            self._completion.move(-1)
        elif self.wrapped_document.location_to_offset(self.cursor_location).y > 0:
            self.action_cursor_up()
        else:
            self._owner.recall(-1)

    def action_newer(self) -> None:
        """Move down: in the list, in the text, or out of it."""
        self._refresh_offers()
        last = self.wrapped_document.location_to_offset(self.document.end).y
        if self._completion.chosen is not None:
            self._completion.move(1)
        elif self.wrapped_document.location_to_offset(self.cursor_location).y < last:
            self.action_cursor_down()
        else:
            self._owner.recall(1)

    def action_delete_left(self) -> None:
        """Delete a character, or the whole chip of a folded paste."""
        row, column = self.cursor_location
        length = trailing_chip_length(self.document[row][:column]) if self.selection.is_empty else 0
        if length:
            self.delete((row, column - length), (row, column))
        else:
            super().action_delete_left()

    def close_list(self) -> bool:
        """Close the list of completions; False if none was open."""
        was_open = self._completion.chosen is not None
        self._completion.open(None)
        return was_open

    def _refresh_offers(self) -> None:
        """Offer what fits, unless that was done before: the user may have closed the list."""
        if self._before_cursor() != self._offered_for:
            self.offer()

    def _before_cursor(self) -> str:
        return self.document.get_text_range((0, 0), self.cursor_location)

    def _take(self) -> None:
        offers, chosen = self._completion.offers, self._completion.chosen
        assert offers is not None and chosen is not None, "only called while the list is open"
        row, column = self.cursor_location
        word = len(self._before_cursor()) - offers.start  # a word never crosses a line
        result = self.replace(chosen.text, (row, column - word), (row, column))
        self.move_cursor(result.end_location)
