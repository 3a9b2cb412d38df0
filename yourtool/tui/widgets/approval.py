"""Approval prompt.

It does not block the screen: the transcript scrolls, the prompt accepts text and the turn can be
stopped. The prompt keeps the focus; `AnswerKeys` has the keys that answer. A call can be allowed
only after its last row was on the screen.
"""

import asyncio
import time
from collections.abc import Callable

from textual import events, getters, on, widgets
from textual.containers import Vertical
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.foundation.text import escape_line
from yourtool.tui.keys.active_keys import bindings, get_keymap, get_keys, is_reading_key
from yourtool.tui.keys.key_names import get_character
from yourtool.tui.keys.keystroke_guard import QUIET_SECONDS, KeystrokeGuard
from yourtool.tui.lines.styled_lines import HighlighterFactory
from yourtool.tui.questions import approval_text
from yourtool.tui.questions.approval_hints import SHOW_REST, Feedback, HintState
from yourtool.tui.questions.question_list import QuestionList
from yourtool.tui.terminal.slow_terminal_app import get_shown_since
from yourtool.tui.widgets.answer_keys import AnswerKeys, KeyResult
from yourtool.tui.widgets.answer_list import AnswerList
from yourtool.tui.widgets.approval_field import ApprovalField, RuleExamples
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
        #preview { height: auto; max-height: 40vh; }
        &.-expanded #preview { max-height: 45vh; }
        &.-noting AnswerList { display: none; }
    }
    """

    BINDINGS = bindings("approval")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    preview = getters.query_one("#preview StyledText", StyledText)
    pane = getters.query_one(PreviewPane)
    remaining = getters.query_one(RemainingRows)
    field = getters.query_one(ApprovalField)

    def __init__(self, prompt: Prompt, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.highlight: HighlighterFactory | None = None
        """The colours of code, once they are loaded."""
        self.guard = KeystrokeGuard(clock, lambda: get_shown_since(self))
        self.answers = AnswerList()
        self.keys = AnswerKeys(prompt, self.answers, self.guard)
        self.enter_approves = False
        """Whether allowing it once is marked at first."""
        self._prompt = prompt
        self.in_editor: Confirmation | None = None  # its file, while the user changes it
        self._feedback: Feedback | None = None  # on the last key
        self._questions = QuestionList()
        self._options: tuple[approval_text.Option, ...] = ()
        self._mount_lock = asyncio.Lock()

    # ── called by the core and the screen ───────────────────────────────────────────────────────

    @property
    def confirmation(self) -> Confirmation | None:
        """The request on the screen."""
        return self._questions.shown

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

        Everything that is no answer goes to the prompt, in the order it was typed.
        """
        self.guard.mark_keystroke()
        if (field := self.open_field) is not None:
            return self.screen.focused is field and field.insert_typed(event)
        is_consumed = self._handle_key(event)
        is_reading = self.guard.was_seen and not self._prompt.text and is_reading_key(event)
        if not (is_consumed or is_reading or self.keys.may_answer):
            self.guard.mark_typing()
        return is_consumed

    def _handle_key(self, event: events.Key | events.Paste) -> bool:
        if self.confirmation is None or self.app.screen is not self.screen:
            return False
        self._feedback = None
        is_consumed = self._handle_own_key(event) if isinstance(event, events.Key) else False
        if not is_consumed and self.screen.focused in (self._prompt, None):
            is_consumed = self._apply(self.keys.handle(event))
        self._update_hints()
        return is_consumed

    def _handle_own_key(self, event: events.Key) -> bool:
        """Handle a key that has an effect on questions only."""
        if self._prompt.text and not self.keys.is_answering:
            return False
        if event.key in get_keys("approval.expand"):
            self.action_expand()
            return True
        if event.key in ("left", "right") and self._questions.total > 1:
            self._questions.move(-1 if event.key == "left" else 1)
            self._show_current()
            return True
        edits = self.answers.find_letter("s") if self._offers_edits else None
        if edits is not None and self.guard.was_seen and event.key in get_keys("chat.mode"):
            return self.answers.marked != edits and self._apply(self.keys.mark(edits))
        return False

    @property
    def _offers_edits(self) -> bool:
        return self.confirmation is not None and self.confirmation.offers_edits

    def _apply(self, result: KeyResult) -> bool:
        self._feedback = result.feedback or self._feedback
        if result.chosen is not None:
            self._choose(self._options[result.chosen])
        return result.is_consumed

    @on(AnswerList.Pressed)
    def _press(self, pressed: AnswerList.Pressed) -> None:
        """Mark the answer that was clicked, or confirm it."""
        if not self._prompt.text or self.keys.is_answering:
            self._apply(self.keys.click(pressed.at))
        self._update_hints()

    def arm_when_safe(self) -> None:
        """Accept answers if that is safe now, otherwise check again later."""
        if self.confirmation is None or self.open_field or self.app.screen is not self.screen:
            return
        if isinstance(self.screen.focused, widgets.Input):  # a search is typed
            self.set_timer(QUIET_SECONDS, self.arm_when_safe)
            return
        result, seconds = self.keys.arm()
        if seconds:
            self.set_timer(seconds, self.arm_when_safe)
        elif self.answers.is_ready:
            self.screen.set_focus(self._prompt)
        self._apply(result)
        self._update_hints()

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
            self.answers.is_ready = True
            self._update_hints()
        else:
            self.keys.take_answer()
            self._answer(approval_text.DENY)
        return True

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def answer_with_edit(self, question: Confirmation, text: str) -> None:
        """Answer with the text that the user changed in an editor, if it still waits for one."""
        if self.confirmation is question and (decision := approval_text.build_edit(question, text)):
            self._answer(decision)

    def action_expand(self) -> None:
        """Enlarge or shrink the preview; enlarged, it scrolls with Page Up and Page Down."""
        self._expand(not self.has_class("-expanded"))

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    async def _mount_children(self) -> None:
        """Mount the preview and the answers with the first request, later than the first paint."""
        field = ApprovalField(examples := RuleExamples(), self._answer_with_text)
        await self.mount(PreviewPane(), RemainingRows(), self.answers, field, examples)

    def _answer_with_text(self, decision: Decision | None) -> None:
        """Answer with the text of the field, or go back if it changes nothing."""
        if decision is None:
            self.handle_escape()
        else:
            self._answer(decision)

    def _choose(self, option: approval_text.Option) -> None:
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
            self.answers.is_ready = False
            self.add_class("-noting")
            self.field.open(entry, self.confirmation)
            self._update_hints()

    def _answer(self, decision: Decision) -> None:
        self._questions.answer(decision)
        self._disarm()
        self.field.take_unsent()

    def _disarm(self) -> None:
        """Stop accepting answers; what is in the prompt is a message."""
        self.keys.disarm()
        self._close_field()
        self._update_hints()

    def _close_field(self) -> None:
        if self.has_class("-noting"):
            self.remove_class("-noting")
            self.field.close()
            self.screen.set_focus(self._prompt)

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
            waiting = self._questions.total - 1
            self._options = approval_text.approval_options(self.confirmation, waiting=waiting)
            letters = {get_character(key): name for key, name in get_keymap().answers.items()}
            self.answers.first = 0 if self.enter_approves else None
            self.answers.show(self._options, letters)
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
        allowing = (at for at, each in enumerate(self._options) if each.allows)
        blocked = frozenset(() if self.pane.was_read_to_end else allowing)
        self.answers.is_blocked = blocked
        marked = self.answers.marked if self.answers.is_ready else None
        chosen = "" if marked is None else escape_line(self._options[marked].name)
        hints = HintState(
            columns=self.size.width,
            prompt_text="" if self.keys.is_answering else self._prompt.text,
            feedback=self._feedback,
            chosen=SHOW_REST if marked in blocked else chosen,
            submits=self.field.entry.submits if self.field.entry is not None else "",
            is_ready=self.answers.is_ready,
            overflows=self.pane.overflows,
            is_expanded=self.has_class("-expanded"),
            is_at_end=self.pane.is_at_end,
            place=self._questions.place,
            total=self._questions.total,
            stops="stops" if self.guard.is_new else "denies",
        )
        self.border_subtitle = Content(f" {hints.text()} ")
        self.remaining.show(self.pane, roomy=hints.is_roomy)
