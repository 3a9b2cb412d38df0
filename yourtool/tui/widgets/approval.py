"""Approval prompt.

It does not block the screen: the transcript scrolls, the prompt accepts text and the turn can be
stopped. The prompt keeps the focus, and only the letters of the answers and the Enter that confirms
them reach the approval prompt, when `KeystrokeGuard` permits it; with a setting, also Enter without
a letter, which allows the call. From an empty prompt, Tab moves the focus here, where arrows and
Enter work too. A call can be allowed only after its last row was on the screen.
"""

import asyncio
import time
from collections.abc import Callable

from textual import events, getters, on, widgets
from textual.containers import Vertical
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.tui.keys.active_keys import bindings, get_keys, is_chat_key, is_reading_key
from yourtool.tui.keys.keystroke_guard import (
    ENTER_SECONDS,
    QUIET_SECONDS,
    SEEN_SECONDS,
    KeystrokeGuard,
)
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.questions import approval_text
from yourtool.tui.questions.approval_hints import Feedback, HintState, explain_key
from yourtool.tui.questions.question_list import QuestionList
from yourtool.tui.terminal.slow_terminal_app import get_shown_since
from yourtool.tui.widgets.approval_field import ApprovalField, RuleExamples
from yourtool.tui.widgets.approval_options import ENTER, ApprovalOptions, get_typed
from yourtool.tui.widgets.preview import PreviewPane, RemainingRows
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.styled_text import StyledText


class ApprovalPrompt(Vertical):
    """Shows one confirmation request at a time and queues the others."""

    DEFAULT_CSS = """
    ApprovalPrompt {
        display: none;
        height: auto;
        max-height: 85vh;
        border-top: solid $warning; border-bottom: solid $warning;
        border-title-color: $text-warning; border-subtitle-color: $text-muted;
        padding: 0 1;
        &.-open { display: block; }
        &:focus { border-top: heavy $warning; border-bottom: heavy $warning; }
        #preview { height: auto; max-height: 40vh; }
        &.-expanded #preview { max-height: 60vh; }
        &.-noting ApprovalOptions { display: none; }
    }
    """

    BINDINGS = bindings("approval")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    preview = getters.query_one("#preview StyledText", StyledText)
    pane = getters.query_one(PreviewPane)
    remaining = getters.query_one(RemainingRows)
    options = getters.query_one(ApprovalOptions)
    field = getters.query_one(ApprovalField)

    def __init__(self, prompt: Prompt, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.can_focus = False
        self.enter_approves = False
        """Whether Enter and `y` allow the call."""
        self.highlight: HighlighterFactory | None = None
        """The colours of code, once they are loaded."""
        self.guard = KeystrokeGuard(clock, lambda: get_shown_since(self))
        self._prompt = prompt
        self.in_editor: Confirmation | None = None  # its file, while the user changes it
        self._feedback: Feedback | None = None  # on the last key
        self._questions = QuestionList()
        self._mount_lock = asyncio.Lock()

    # ── called by the core and the screen ───────────────────────────────────────────────────────

    @property
    def confirmation(self) -> Confirmation | None:
        """The request on the screen."""
        return self._questions.first

    @property
    def handles_page_keys(self) -> bool:
        """Whether Page Up and Page Down scroll the preview instead of the transcript."""
        return self.confirmation is not None and self.has_class("-expanded")

    @property
    def open_field(self) -> ApprovalField | None:
        """The field in which the user writes."""
        return self.field if self.has_class("-noting") else None

    async def ask(self, confirmation: Confirmation) -> Decision:
        """Return the user's decision, after earlier requests; cancelling withdraws the request."""
        async with self._mount_lock:
            if not self.children:
                await self._mount_children()
        answer = self._questions.add(confirmation)
        if self.confirmation is confirmation:
            self._show_current()
        else:
            self._show_options()
        try:
            return await answer
        finally:
            was_shown = self._questions.remove(answer)
            if self.is_running and self.is_attached:  # otherwise the screen is closing
                self._show_current() if was_shown else self._show_options()

    def intercept(self, event: events.Key | events.Paste) -> bool:
        """Handle a key or paste before it is dispatched; True if it was consumed.

        Everything that looks like typing goes to the prompt, in the order it was typed.
        """
        self.guard.mark_keystroke()
        if (field := self.open_field) is not None:
            return self.screen.focused is field and field.insert_typed(event)
        is_consumed = self._handle_key(event)
        is_reading = self.guard.was_seen and not self._prompt.text and is_reading_key(event)
        if not is_consumed and not is_reading:
            self.guard.mark_typing()
        return is_consumed

    def _handle_key(self, event: events.Key | events.Paste) -> bool:
        if self.confirmation is None or self.app.screen is not self.screen:
            return False
        self._explain(event)
        is_here = self.screen.focused is self  # `has_focus` is set later
        if self._prompt.text:
            if is_here:
                self._leave_to_prompt()
            return False
        if is_here:
            return self._handle_focused_key(event)
        listens = self.options.accepts_letters and self.screen.focused in (self._prompt, None)
        return listens and self._handle_letter(event)

    def arm_when_safe(self) -> None:
        """Accept letters if that is safe now, otherwise check again later."""
        if self.confirmation is None or self.open_field or self.app.screen is not self.screen:
            return
        if self._prompt.text:
            self._disarm()
        elif self.screen.focused is self:
            return
        elif isinstance(self.screen.focused, widgets.Input):  # a search is typed
            self.set_timer(QUIET_SECONDS, self.arm_when_safe)
        elif (wait := self.guard.seconds_until_ready) > 0:
            self.set_timer(min(wait, SEEN_SECONDS), self.arm_when_safe)
        else:
            self.options.accepts_letters = True
            self.screen.set_focus(self._prompt)  # at once: Tab may move the focus here now
        self._update_hints()

    def focus_when_safe(self) -> None:
        """Move the focus here, for arrows and Enter, unless the prompt contains text to send.

        After a Tab pressed before the request was seen, it moves after a pause without keys.
        """
        if self.confirmation is None or self._prompt.text:
            return
        if self.guard.was_seen:
            self._take_focus()
        elif (wait := self.guard.seconds_until_ready) < 60:
            self.set_timer(wait, lambda: self.guard.seconds_until_ready > 0 or self._take_focus())

    def resume_after_page(self) -> None:
        """Accept answers again some time after the key that ended a page over the interface."""
        self.guard.mark_keystroke()
        self.suspend()
        self.arm_when_safe()

    def suspend(self) -> None:
        """Stop accepting answers because another screen covers this one."""
        if self.confirmation is not None:
            self._disarm()

    def handle_escape(self) -> bool:
        """Deny, or close the note; return False if Esc came too soon after the request."""
        if self.confirmation is None or self.guard.is_new:
            return False
        if self.has_class("-noting"):
            self._close_field()
            self._take_focus()
        else:
            self.guard.release_letter()  # it was shown as a choice, which this key withdraws
            self._answer(approval_text.DENY)
        return True

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def on_blur(self) -> None:
        """Stop accepting answers when the focus moves elsewhere."""
        if not self.has_class("-noting"):
            self._disarm()

    def answer_with_edit(self, question: Confirmation, text: str) -> None:
        """Answer with the text that the user changed in an editor, if it still waits for one."""
        if self.confirmation is question and (decision := approval_text.build_edit(question, text)):
            self._answer(decision)

    def action_answer(self, typed: str) -> None:
        """Choose the answer of a typed character until Enter confirms it; Enter confirms itself."""
        if self.options.accepts_letters and self._find_option(typed) is not None:
            if typed == ENTER:
                self.guard.hold_letter(typed, ENTER_SECONDS)
                self.set_timer(ENTER_SECONDS, self.commit_enter)
            else:
                self.guard.hold_letter(typed)
            self._update_hints()

    def commit_enter(self) -> None:
        """Apply an Enter without a letter when its delay has passed."""
        if typed := self.guard.accept_letter():
            self._choose(self._find_option(typed))
        elif self.guard.held_letter == ENTER:
            self.set_timer(ENTER_SECONDS / 4, self.commit_enter)

    def action_expand(self) -> None:
        """Enlarge or shrink the preview; enlarged, it scrolls with Page Up and Page Down."""
        self._expand(not self.has_class("-expanded"))

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    async def _mount_children(self) -> None:
        """Mount the preview and the answers with the first request, later than the first paint."""
        field = ApprovalField(examples := RuleExamples(), self._answer_with_text)
        await self.mount(PreviewPane(), RemainingRows(), ApprovalOptions(), field, examples)

    def _answer_with_text(self, decision: Decision | None) -> None:
        """Answer with the text of the field, or go back if it changes nothing."""
        if decision is None:
            self.handle_escape()
        else:
            self._answer(decision)

    def _handle_focused_key(self, event: events.Key | events.Paste) -> bool:
        """Handle a key while the focus is here; True if it was consumed."""
        if isinstance(event, events.Key) and not self.guard.held_letter:
            if event.key in ("left", "up", "right", "down"):
                self.options.move(-1 if event.key in ("left", "up") else 1)
                return True
            if event.key == "enter":
                self._choose(self.options.options[self.options.selected])
                return True
            if event.key == "tab":
                self._leave_to_prompt()
                return True
        return self._handle_letter(event)

    def _handle_letter(self, event: events.Key | events.Paste) -> bool:
        """Handle a letter or Enter; any other key goes to the prompt, after the letter."""
        if isinstance(event, events.Key) and (held := self.guard.held_letter):
            if event.key == "enter" and held != ENTER:
                self._choose(self._find_option(self.guard.release_letter()))
                return True
            if event.key in get_keys("chat.stop"):
                return False
        elif isinstance(event, events.Key):
            typed = get_typed(event)
            if self.guard.was_seen and self._find_option(typed) is not None:
                self.action_answer(typed)
                return True
            if event.key in get_keys("approval.expand"):
                self.action_expand()
                return True
            edits = event.is_printable or event.key == "backspace"
            if is_chat_key(event.key) or (self.screen.focused is self and not edits):
                return False
        self._leave_to_prompt()
        return False

    def _find_option(self, typed: str) -> approval_text.Option | None:
        return self.options.find(typed, enter_approves=self.enter_approves)

    def _leave_to_prompt(self) -> None:
        self._disarm()
        self.set_timer(QUIET_SECONDS, self.arm_when_safe)

    def _choose(self, option: approval_text.Option | None) -> None:
        if option is None:
            return
        self.pane.check_visible_rows()
        if option.allows and not self.pane.was_read_to_end:
            self._expand(True)
        elif option.entry is not None:
            self._open_field(option.entry)
        elif option.decision.verdict is Verdict.EDIT and self.confirmation is not None:
            self.in_editor = self.confirmation
            self.call_later(self.app.run_action, "edit_draft")
        else:
            self._answer(option.decision)

    def _open_field(self, entry: approval_text.Entry) -> None:
        if self.confirmation is not None:
            self.options.accepts_letters = self.options.accepts_arrows = False
            self.add_class("-noting")
            self.field.open(entry, self.confirmation)
            self._update_hints()

    def _answer(self, decision: Decision) -> None:
        self._questions.answer(decision)
        self._disarm()
        self.field.take_unsent()

    def _take_focus(self) -> None:
        if self._prompt.text:
            self._disarm()
        elif self.confirmation is not None:
            self.can_focus = True
            self.options.select_deny()
            self.options.accepts_letters = self.options.accepts_arrows = True
            self.screen.set_focus(self)
            self._update_hints()

    def _disarm(self) -> None:
        """Stop accepting keys; a letter that was not confirmed goes to the prompt."""
        if (letter := self.guard.release_letter()) not in ("", ENTER):
            self._prompt.insert_text(letter)
        if self.screen.focused is self:
            self.screen.set_focus(self._prompt)
        self.options.accepts_letters = self.options.accepts_arrows = False
        self.options.select_deny()
        self.can_focus = False
        self._close_field()
        self._update_hints()

    def _close_field(self) -> None:
        if self.has_class("-noting"):
            self.remove_class("-noting")
            self.field.close()
            self.screen.set_focus(self._prompt)

    def _explain(self, event: events.Key | events.Paste) -> None:
        """Explain a key that looks like an answer and answers nothing, until the next key."""
        self._feedback = None
        if isinstance(event, events.Key) and not self._prompt.text and not self.guard.held_letter:
            typed = get_typed(event)
            if typed != ENTER or self.screen.focused is not self:
                is_ready = self.guard.was_seen and self.options.accepts_letters
                self._feedback = explain_key(typed, self._find_option(typed), is_ready=is_ready)
        self._update_hints()

    def _show_current(self) -> None:
        self._disarm()
        self.guard.reset()
        self._feedback = None
        if (text := self.field.take_unsent()) and not self._prompt.text:  # for a withdrawn request
            self._prompt.insert_text(text)
        self.remove_class("-expanded")
        self.set_class(self.confirmation is not None, "-open")
        if (question := self.confirmation) is None:
            return
        self.border_title = Content.assemble(" ", approval_text.approval_title(question), " ")
        self.pane.show(question, self.highlight)
        self._show_options()
        self.call_after_refresh(self._on_drawn, question)

    def _show_options(self) -> None:
        if self.confirmation is not None:
            waiting = self._questions.waiting
            self.options.show(approval_text.approval_options(self.confirmation, waiting=waiting))
            self._update_hints()

    def _on_drawn(self, question: Confirmation) -> None:
        if self.confirmation is question:
            self.guard.mark_drawn()
            self.pane.check_visible_rows()
            self.arm_when_safe()

    def _expand(self, expanded: bool) -> None:
        self.pane.show_rules(expanded=expanded)
        self.set_class(self.pane.overflows and expanded, "-expanded")
        self._update_hints()

    @on(PreviewPane.VisibleRowsChanged)
    def _update_hints(self) -> None:
        """Update the key hints and the count of hidden lines."""
        self.options.blocks_allowing = not self.pane.was_read_to_end
        hints = HintState(
            columns=self.size.width,
            prompt_text=self._prompt.text,
            feedback=self._feedback,
            chosen=self.options.choose(self._find_option(self.guard.held_letter)),
            submits=self.field.entry.submits if self.field.entry is not None else "",
            accepts_letters=self.options.accepts_letters,
            accepts_arrows=self.options.accepts_arrows,
            enter_approves=self.enter_approves,
            overflows=self.pane.overflows,
            is_expanded=self.has_class("-expanded"),
            is_at_end=self.pane.is_at_end,
            waiting=self._questions.waiting,
        )
        self.border_subtitle = f" {hints.text()} "
        self.remaining.show(self.pane, roomy=hints.is_roomy)
