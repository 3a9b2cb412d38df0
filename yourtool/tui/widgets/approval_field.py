"""Text field of an approval prompt."""

from collections.abc import Callable

from rich.text import Text
from textual import events
from textual.widgets import Static

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.foundation.text import storable
from yourtool.tui.input.drafts import normalize_newlines
from yourtool.tui.keys.active_keys import get_keys
from yourtool.tui.questions.approval_text import (
    Entry,
    build_decision,
    get_editable,
    is_about_input,
)
from yourtool.tui.questions.rule_text import build_rules_text, describe_rules
from yourtool.tui.widgets.text_field import TextField

_NEWLINE = "prompt.newline"


class RuleExamples(Static):
    """Examples of what the rules in the field allow, and of what they do not allow."""

    DEFAULT_CSS = """
    RuleExamples { display: none; height: auto; max-height: 6; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.are_valid = True
        """Whether every rule can be stored."""

    def show(self, question: Confirmation, text: str) -> None:
        """Show the examples for the rules in a text."""
        lines, self.are_valid = describe_rules(question, text)
        self.update("\n".join(lines))
        self.display = bool(lines)


class ApprovalField(TextField):
    """A text of a few lines; Enter submits it."""

    DEFAULT_CSS = """
    ApprovalField {
        display: none;
        border: none;
        padding: 0;
        height: auto;
        max-height: 5;
        background: $background;
        &:focus { border: none; background: $background; }
    }
    """

    def __init__(self, examples: RuleExamples, answer: Callable[[Decision | None], None]) -> None:
        """Call `answer` when Enter was pressed; without a decision if the text changes nothing."""
        super().__init__()
        self._examples, self._answer = examples, answer
        self._question: Confirmation | None = None
        self.entry: Entry | None = None
        """What the open field is for."""
        self._note = ""
        """The note that was left without an answer; the next key replaces it."""
        self._unchanged = self._change = ""

    def take_unsent(self) -> str:
        """Return the note or the change that was left, and start over for another request."""
        note, change, self._note, self._change = self._note, self._change, "", ""
        return note if note.strip() else change

    def open(self, entry: Entry, question: Confirmation) -> None:
        """Show the field with the command, or with the note that was left."""
        self.entry, self._question, self.placeholder = entry, question, entry.placeholder
        editable = get_editable(question)
        if entry.decision.scope is Scope.ALWAYS:
            self.load_text(build_rules_text(question))
            self.move_cursor(self.document.end)
        elif is_about_input(question):
            self.load_text("")
        elif self._is_note or editable is None:
            self.load_text(self._note)
            self.select_all()
        else:
            self.load_text(editable.text)
            self.move_cursor(self.document.end)
        self._unchanged, self._change = self.text, ""
        self.display = True
        self.screen.set_focus(self)

    def close(self) -> None:
        """Hide the field; it shows the same note when it is opened again."""
        if self._question is not None and is_about_input(self._question):
            self.load_text("")  # it is for the program alone
        elif self._is_note:
            self._note = self.text
        elif self.text != self._unchanged:
            self._change = self.text
        self.entry, self.display, self._examples.display = None, False, False

    def on_text_area_changed(self) -> None:
        """Show examples for the rules in the field."""
        if self._question is not None and self._has_rules:
            self._examples.show(self._question, self.text)

    def _submit(self) -> None:
        """Answer with the text, unless a rule cannot be stored."""
        if self.entry is None or self._question is None:
            return
        text = self.text
        if self._has_rules:
            self._examples.show(self._question, text)
            if not self._examples.are_valid:
                return
        self._answer(build_decision(self._question, self.entry, text))

    @property
    def _has_rules(self) -> bool:
        return self.entry is not None and self.entry.decision.scope is Scope.ALWAYS

    @property
    def _is_note(self) -> bool:
        if self.entry is None or self._has_rules:
            return False
        return self.entry.decision.verdict is not Verdict.EDIT

    def get_line(self, line_index: int) -> Text:
        """Return a line to paint; that of a password has dots for its characters."""
        line = super().get_line(line_index)
        is_secret = self._question is not None and self._question.kind == "password"
        return Text("•" * len(line), end="") if is_secret else line

    def insert_typed(self, event: events.Key | events.Paste) -> bool:
        """Insert the text of a key or a paste, or submit; return False for another key.

        Called for each key in order: Textual handles Ctrl+U after the letters that follow it.
        """
        if isinstance(event, events.Paste):
            self._type(storable(normalize_newlines(event.text)))
        elif event.key == "enter":
            self._submit()
        elif event.key in get_keys(_NEWLINE):
            self._type("\n")
        elif event.is_printable and event.character is not None:
            self._type(event.character)
        else:
            return event.key == "tab"
        return True

    def _type(self, text: str) -> None:
        self.replace(text, *self.selection, maintain_selection_offset=False)
