"""Prompt widget.

It is a multi-line input with folded pastes, history and completion.
"""

from collections.abc import Callable
from typing import Literal

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets.text_area import Selection

from yourtool.foundation.text import printable, storable
from yourtool.messages.blocks import MediaBlock
from yourtool.tui.input.completer import Completer
from yourtool.tui.input.drafts import (
    ChipAttachment,
    Draft,
    format_attachment_chip,
    format_chip,
    normalize_newlines,
    should_fold,
    trailing_chip_length,
)
from yourtool.tui.input.message_queue import Delivery
from yourtool.tui.keys.active_keys import bindings
from yourtool.tui.widgets.completion import CompletionList
from yourtool.tui.widgets.input_handler import InputHandler
from yourtool.tui.widgets.key_mode import KeyMode
from yourtool.tui.widgets.text_field import TextField

DRAFT_DELAY_SECONDS = 0.3


class Prompt(TextField):
    """The input for prompts and commands."""

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

    class TypingPaused(Message):
        """Posted when typing pauses and the draft should be saved."""

    class FilesNeeded(Message):
        """Posted when the user starts to mention a file."""

    class Pasted(Message):
        """Posted when text with paths was pasted, or (None) the clipboard should be."""

        def __init__(self, text: str | None) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        completer: Completer,
        completion: CompletionList,
        handler: InputHandler,
        leave: Callable[[], None],
    ) -> None:
        """`leave` moves the focus after Tab with nothing to complete."""
        super().__init__()
        self.key_mode = KeyMode()
        self.recalls = True
        """Whether Up and Down recall prompts; not below a question."""
        self._handler = handler
        self._leave = leave
        self._completer = completer
        self._completion = completion
        self._completed_for = ""
        """The text before the cursor when the completion list was last opened or closed."""
        self._spaced_text: str | None = None
        """The text before the cursor after a completion that ended with a space."""
        self._preselected = ""
        self._pastes: tuple[str, ...] = ()
        self._attachments: tuple[ChipAttachment, ...] = ()
        self._pause: Timer | None = None

    def render_line(self, y: int) -> Strip:
        """Paint one row; empty if the terminal is too narrow for any text."""
        return super().render_line(y) if self.content_size.width > 0 else Strip([])

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key is text; in an empty prompt the screen handles its keys first."""
        return bool(self.text) and super().check_consume_key(key, character)

    def insert_typed(self, event: events.Key | events.Paste) -> bool:
        """Insert the text of a key or a paste, or run it as a command of the mode.

        Returns False for another key.
        """
        if isinstance(event, events.Paste):
            self.paste(event.text)
        elif event.is_printable and event.character is not None:
            self._insert_character(event.character)
        else:
            return False
        return True

    def _insert_character(self, character: str) -> None:
        if self.key_mode.has_commands:
            if not self.key_mode.press(character) and character in "jk":  # at the edge of the text
                self._recall(1 if character == "j" else -1)
            return
        if character == " " and self._text_before_cursor() == self._spaced_text:
            self._spaced_text = None  # the user types the space that the completion has inserted
            return
        self.replace(character, *self.selection, maintain_selection_offset=False)

    def on_text_area_changed(self) -> None:
        """Update the completions, and post `TypingPaused` after a pause."""
        if not self._search_files():
            self._refresh_completions()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(
            DRAFT_DELAY_SECONDS, lambda: self.post_message(self.TypingPaused())
        )

    @property
    def draft(self) -> Draft:
        """The text, the folded pastes and the attachments."""
        return Draft(self.text, self._pastes, self._attachments)

    def load(self, draft: Draft, *, selected: bool = False) -> None:
        """Replace the draft and move the cursor to the end.

        With `selected`, the next key replaces the text unless the cursor moves first.
        """
        self._pastes, self._attachments = draft.pastes, draft.attachments
        self.key_mode.reset(draft.text)
        self.load_text(draft.text)
        self.move_cursor(self.document.end)
        self._completed_for = self._text_before_cursor()  # no list, in which Up would move
        self._preselected = ""
        if selected:
            self.select_all()
            self._preselected = self.text
        self._completion.open(None)

    @property
    def text_selected_by_user(self) -> str:
        """The selected text, unless `load` selected it."""
        selected = self.selected_text
        return "" if selected == self._preselected == self.text else selected

    def rewrite(self, draft: Draft) -> None:
        """Replace the draft by a changed one that has the same pastes first; undo restores it."""
        self._pastes = draft.pastes
        self.history.checkpoint()
        result = self.replace(draft.text, (0, 0), self.document.end)
        self.move_cursor(result.end_location)
        self.history.checkpoint()

    def paste(self, text: str) -> None:
        """Insert pasted text, folded if it is long or contains control characters."""
        text = storable(normalize_newlines(text))
        if should_fold(text) or printable(text) != text:
            self._pastes = (*self._pastes, text)
            text = format_chip(len(self._pastes), text)
        elif "/" in text:
            self.post_message(self.Pasted(text))
        self.insert_text(text)

    def action_paste(self) -> None:
        """Insert the image or the text in the clipboard."""
        self.post_message(self.Pasted(None))

    def attach(self, block: MediaBlock, name: str, size: int, *, instead_of: str = "") -> None:
        """Insert the chip of an attachment, or replace a text by it if the text is still there."""
        chip = format_attachment_chip(len(self._attachments) + 1, block, name, size)
        before, found, _ = self.text.rpartition(instead_of) if instead_of else ("", "", "")
        if instead_of and not found:
            return
        self._attachments = (*self._attachments, ChipAttachment(chip, block))
        if found:
            row, column = before.count("\n"), len(before.rpartition("\n")[2])
            self.replace(chip, (row, column), (row, column + len(found)))
        else:
            self.insert_text(f"{chip} ")

    def insert_text(self, text: str) -> None:
        """Insert text at the cursor."""
        result = self.replace(text, *self.selection)
        self.move_cursor(result.end_location)

    def update_completions(self) -> None:
        """Open or close the completion list for the word at the cursor."""
        before = self._completed_for = self._text_before_cursor()
        offers = self._completer.suggest(before) if self.selection.is_empty else None
        if self._completer.needs_files(before):
            self.post_message(self.FilesNeeded())
        self._completion.open(offers)

    def complete_files(self) -> None:
        """Update the completions after the files of the workspace were loaded."""
        if not self._search_files():
            self.update_completions()

    def _search_files(self) -> bool:
        """Search many files without delaying keys, then update the completions."""
        before = self._text_before_cursor()
        if not self._completer.needs_search(before):
            return False

        async def search() -> None:
            await self._completer.search_files(before)
            if self._text_before_cursor() == before:
                self.update_completions()

        self.run_worker(search, group="completions", exclusive=True)
        return True

    def action_send(self, way: Delivery = "") -> None:
        """Send the draft, accept the completion, or start a new line after a backslash."""
        self._refresh_completions()
        before = self._text_before_cursor()
        if (
            candidate := self._completion.candidate
        ) is not None and self._completion.offers is not None:
            word = before[self._completion.offers.start :]
            # Without a typed word, the preselected first row is not a choice of the user.
            if word != candidate.text.rstrip() and (word or self._completion.selected):
                self._accept_completion()
                if candidate.text.endswith(" "):
                    return
        elif before.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            self.insert_text("\n")
            return
        self._completion.open(None)
        if self._handler.accepts(draft := self.draft):
            self.load(Draft())  # first: `/quit` saves the text of the prompt
            self._handler.submit(draft, way)
            if not draft.text.startswith("/"):  # a command may put another text here
                self._bring_back(asked=False)

    def action_queue(self) -> None:
        """Send the draft after the running turn; without one, insert a line break."""
        self.action_send("queue") if self._handler.can_queue else self.action_newline()

    def action_newline(self) -> None:
        """Insert a line break."""
        self.insert_text("\n")

    def action_stash(self) -> None:
        """Ctrl+S: stash the draft; in an empty prompt, bring the last one back."""
        if self.text:
            self._handler.put_aside(self.draft)
            self.load(Draft())
        else:
            self._bring_back(asked=True)
            self._handler.wait_for_history(self.text, self.action_stash)

    def _bring_back(self, *, asked: bool) -> None:
        if not self.text and (draft := self._handler.bring_back(asked=asked)) is not None:
            self.load(draft)

    @property
    def stashed_count(self) -> int:
        """The number of stashed drafts."""
        return len(self._handler.stash)

    def action_complete(self) -> None:
        """Accept the selected completion."""
        self._refresh_completions()
        if self._completion.candidate is not None:
            self._accept_completion()
        elif self.text and self._handler.can_queue:
            self.action_send("queue")
        elif not self.text:
            self._leave()

    def action_older(self) -> None:
        """Move up in the completion list or the text, or recall an older prompt."""
        self._refresh_completions()
        if self._completion.candidate is not None:
            self._completion.move(-1)
        elif self.wrapped_document.location_to_offset(self.cursor_location).y > 0:
            self.action_cursor_up()
        else:
            self._recall(-1)

    def action_newer(self) -> None:
        """Move down in the completion list or the text, or recall a newer prompt."""
        self._refresh_completions()
        last = self.wrapped_document.location_to_offset(self.document.end).y
        if self._completion.candidate is not None:
            self._completion.move(1)
        elif self.wrapped_document.location_to_offset(self.cursor_location).y < last:
            self.action_cursor_down()
        else:
            self._recall(1)

    def _recall(self, step: Literal[-1, 1]) -> None:
        if not self.recalls:
            return
        if (draft := self._handler.recall(step, self.draft)) is not None:
            self.load(draft)
        else:
            self._handler.wait_for_history(self.text, lambda: self._recall(step))

    def action_delete_left(self) -> None:
        """Delete a character or the chip of a folded paste."""
        row, column = self.cursor_location
        before = self.document[row][:column]
        if self.selection.is_empty and (length := trailing_chip_length(self.draft, before)):
            self.delete((row, column - length), (row, column))
        else:
            super().action_delete_left()

    def undo(self) -> None:
        """Undo the last edit.

        The cursor first moves to the start, because Textual scrolls to it before it has moved: an
        error if its line no longer exists.
        """
        if self.history.undo_stack:
            self.selection = Selection()
        super().undo()

    def redo(self) -> None:
        """Redo the last edit that was undone; see `undo`."""
        if self.history.redo_stack:
            self.selection = Selection()
        super().redo()

    def close_completions(self) -> bool:
        """Close the completion list; False if it was not open."""
        was_open = self._completion.candidate is not None
        self._completion.open(None)
        return was_open

    def _refresh_completions(self) -> None:
        """Update the completions unless they are up to date; the user may have closed the list."""
        if self._text_before_cursor() != self._completed_for:
            self.update_completions()

    def _text_before_cursor(self) -> str:
        return self.document.get_text_range((0, 0), self.cursor_location)

    def _accept_completion(self) -> None:
        offers, candidate = self._completion.offers, self._completion.candidate
        assert offers is not None and candidate is not None, "only called while the list is open"
        row, column = self.cursor_location
        word = len(self._text_before_cursor()) - offers.start  # a word never crosses a line
        has_space = candidate.text.endswith(" ")
        end = column + (has_space and self.document[row][column : column + 1] == " ")
        result = self.replace(candidate.text, (row, column - word), (row, end))
        self.move_cursor(result.end_location)
        self._spaced_text = self._text_before_cursor() if has_space else None
