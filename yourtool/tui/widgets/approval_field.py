"""The text that some answers to an approval prompt need, such as a note."""

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static, TextArea

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.text import storable
from yourtool.tui.active_keys import get_answer_label, get_keys
from yourtool.tui.approval_text import (
    Entry,
    build_decision,
    complete_note,
    describe_rules,
    get_editable,
)
from yourtool.tui.drafts import normalize_newlines

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


class ApprovalField(TextArea):
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

    class Submitted(Message):
        """Posted when Enter was pressed; without an answer if the text changes nothing."""

        def __init__(self, question: Confirmation, decision: Decision | None) -> None:
            super().__init__()
            self.question = question
            self.decision = decision

    def __init__(self, examples: RuleExamples) -> None:
        super().__init__(soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self._examples = examples
        self._question: Confirmation | None = None
        self.entry: Entry | None = None
        """What the open field is for."""
        self._note = ""
        """The note that was left without an answer; the next key replaces it."""

    def take_note(self) -> str:
        """Return the note that was left, and start over for another request."""
        note, self._note = self._note, ""
        return complete_note(get_answer_label("n"), note) if note.strip() else ""

    def open(self, entry: Entry, question: Confirmation) -> None:
        """Show the field with the command, or with the note that was left."""
        self.entry, self._question, self.placeholder = entry, question, entry.placeholder
        editable = get_editable(question)
        if entry.decision.scope is Scope.ALWAYS:
            self.load_text("\n".join(question.rules))
            self.move_cursor(self.document.end)
        elif self._is_note or editable is None:
            self.load_text(self._note)
            self.select_all()
        else:
            self.load_text(editable.text)
            self.move_cursor(self.document.end)
        self.display = True
        self.screen.set_focus(self)

    def close(self) -> None:
        """Hide the field; it shows the same note when it is opened again."""
        if self._is_note:
            self._note = self.text
        self.entry, self.display, self._examples.display = None, False, False

    def on_text_area_changed(self) -> None:
        """Show examples for the rules in the field."""
        if self._question is not None and self._has_rules:
            self._examples.show(self._question, self.text)

    def _submit(self) -> None:
        """Post the answer with the text, unless a rule cannot be stored."""
        if self.entry is None or self._question is None:
            return
        text = self.text
        if self._has_rules:
            self._examples.show(self._question, text)
            if not self._examples.are_valid:
                return
        elif self.entry.opens_at_once:
            text = complete_note(get_answer_label("n"), text.strip())
        decision = build_decision(self._question, self.entry, text)
        self.post_message(self.Submitted(self._question, decision))

    @property
    def _has_rules(self) -> bool:
        return self.entry is not None and self.entry.decision.scope is Scope.ALWAYS

    @property
    def _is_note(self) -> bool:
        if self.entry is None or self._has_rules:
            return False
        return self.entry.decision.verdict is not Verdict.EDIT

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows; the terminal's cursor, where input methods draw, goes to the caret."""
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset
        return super().render_lines(crop)

    async def on_event(self, event: events.Event) -> None:
        """Submit or start a line before Textual inserts a line break."""
        if isinstance(event, events.Key) and event.key == "enter":
            self._submit()
        elif isinstance(event, events.Key) and event.key in get_keys(_NEWLINE):
            self.insert("\n")
        elif isinstance(event, events.Paste):
            self.insert(storable(normalize_newlines(event.text)))
        elif not isinstance(event, events.Key) or event.key != "tab":
            await super().on_event(event)
