"""The question that only the user may answer, above the prompt.

It is modal to nothing but the answer: the transcript scrolls, the prompt takes text, the turn can
be stopped. The prompt keeps the cursor, and of its keys only the letters of the answers reach the
question, when `KeystrokeGuard` allows it. From an empty prompt, Tab moves into it, where arrows
and Enter answer too. Nothing is allowed before the end of what is asked about was on the screen.
"""

import asyncio
import time
from collections.abc import Callable

from textual import events, getters
from textual.containers import Vertical
from textual.widgets import Input, Static

from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.tui.keys import KEYS, bindings
from yourtool.tui.keystroke_guard import HOLD_SECONDS, QUIET_SECONDS, KeystrokeGuard
from yourtool.tui.questions import DENY, Option, approval_options, approval_title
from yourtool.tui.widgets.options import Options
from yourtool.tui.widgets.preview import PreviewText, ReadingPane
from yourtool.tui.widgets.prompt import Prompt

ROOMY = 60
"""Columns from which on every hint has room."""
_CHAT_KEYS = frozenset(name for key in KEYS if key.place == "chat" for name in key.keys.split(","))
"""Keys that do the same everywhere, so they are not typing."""


class Consent(Vertical):
    """Shows one question at a time; others wait behind it."""

    DEFAULT_CSS = """
    Consent {
        display: none;
        height: auto;
        max-height: 85vh;
        border: round $warning;
        border-title-color: $text-warning;
        border-subtitle-color: $text-muted;
        padding: 0 1;
        &.-open { display: block; }
        &:focus { border: heavy $warning; }
        #preview { height: auto; max-height: 40vh; }
        &.-expanded #preview { max-height: 60vh; }
        #rest { display: none; height: auto; max-height: 1; color: $text-warning; }
        #note { display: none; border: none; height: auto; max-height: 1; padding: 0; }
        &.-noting #note { display: block; }
        &.-noting Options { display: none; }
    }
    """
    BINDINGS = bindings("approval")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    preview = getters.query_one(PreviewText)
    scroll = getters.query_one(ReadingPane)
    rest_line = getters.query_one("#rest", Static)
    choices = getters.query_one(Options)
    note = getters.query_one("#note", Input)

    def __init__(self, prompt: Prompt, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.can_focus = False
        self.answering = KeystrokeGuard(clock)
        self._prompt = prompt
        self._waiting: list[tuple[Confirmation, asyncio.Future[Decision]]] = []
        self._furnishing = asyncio.Lock()

    # ── for the core and the screen ─────────────────────────────────────────────────────────────

    @property
    def question(self) -> Confirmation | None:
        """What is being asked."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def reading(self) -> bool:
        """Whether the keys that turn pages turn those of the question."""
        return self.question is not None and self.has_class("-expanded")

    async def ask(self, question: Confirmation) -> Decision:
        """Ask, after the questions before; taken back when the waiting task is cancelled."""
        async with self._furnishing:
            if not self.children:
                await self._furnish()
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        entry = (question, answer)
        self._waiting.append(entry)
        if self.question is question:
            self._show()
        else:
            self._subtitle()
        try:
            return await answer
        finally:
            shown = self._waiting[0] is entry
            self._waiting.remove(entry)
            if not self.is_running or not self.is_attached:
                pass  # the screen is being taken down
            elif shown:
                self._show()
            else:
                self._subtitle()

    def intercept(self, event: events.Key | events.Paste) -> bool:
        """See every key and paste before it has a destination; True: it was meant for here.

        Everything that looks like typing goes to the prompt, in the order it was typed.
        """
        self.answering.mark_keystroke()
        if self.question is None or self.app.screen is not self.screen:
            return False
        is_here = self.screen.focused is self  # `has_focus` is set later
        if self._prompt.text:
            if is_here:
                self._leave_to_prompt()
            return False
        if is_here:
            return self._obey(event)
        listens = self.choices.awake and self.screen.focused in (self._prompt, None)
        return listens and self._obey_letter(event)

    def reconsider(self) -> None:
        """Let letters count if that is safe now, or look again when it may be."""
        if self.question is None or self.app.screen is not self.screen:
            return
        if self.has_class("-noting"):
            return  # the cursor is on its way there
        if self._prompt.text:
            self._sleep()
        elif self.screen.focused is self:
            return
        elif (wait := self.answering.seconds_until_ready) > 0:
            if wait < 60:
                self.set_timer(wait, self.reconsider)
        else:
            self.choices.awake = True
            self._prompt.focus()
        self._subtitle()

    def enter(self) -> None:
        """Move the cursor here, for arrows and Enter, unless the prompt holds text.

        Enter after a text is meant to send it, also when Tab was pressed to complete a word.
        Tab that was pressed before the question could be seen was not meant for it. It moves here
        when nothing was pressed for a while since.
        """
        if self.question is None or self._prompt.text:
            return
        if not self.answering.is_new:
            self._enter()
        elif (wait := self.answering.seconds_until_ready) < 60:
            self.set_timer(wait, lambda: self.answering.seconds_until_ready > 0 or self._enter())

    def rest(self) -> None:
        """Something was laid over the screen: its keys are not answers, nor are those after it."""
        if self.question is not None:
            self._sleep()

    def escape(self) -> bool:
        """Obey Esc; False where it cannot mean this question, because it is too new."""
        if self.question is None or self.answering.is_new:
            return False
        if self.has_class("-noting"):
            self.remove_class("-noting")
            self._enter()
        else:
            self._answer(DENY)
        return True

    # ── keys ────────────────────────────────────────────────────────────────────────────────────

    def on_blur(self) -> None:
        """The cursor is elsewhere: keys do not answer."""
        if not self.has_class("-noting"):
            self._sleep()

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """Deny with the words of the note."""
        submitted.stop()
        note = submitted.value.strip()
        self._answer(Decision(verdict=Verdict.DENY, note=note or None))

    def on_reading_pane_looked(self) -> None:
        """More of the question was seen, or there is more of it to see."""
        self._subtitle()

    def action_answer(self, letter: str) -> None:
        """Take a letter as the answer unless typing goes on at once."""
        if self.choices.awake and letter in {each.letter for each in self.choices.options}:
            self.answering.hold_letter(letter)
            self.set_timer(HOLD_SECONDS, self.settle)

    def action_expand(self) -> None:
        """Give the command or the change more room and the keys that turn pages, or less."""
        self._expand(not self.has_class("-expanded"))

    def settle(self) -> None:
        """Let a held letter count once its time has come."""
        if (letter := self.answering.accept_letter()) is not None:
            self._choose(next(each for each in self.choices.options if each.letter == letter))
        elif self.answering.held_letter is not None:
            self.set_timer(HOLD_SECONDS / 4, self.settle)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    async def _furnish(self) -> None:
        """Lay out the question and the answers: not before the first is asked.

        The first paint does not need them, and should not wait for them.
        """
        note = Input(id="note", placeholder="Why not? Enter sends, Esc goes back")
        note.cursor_blink = False
        await self.mount(ReadingPane(), Static(id="rest", markup=False), Options(), note)

    def _obey(self, event: events.Key | events.Paste) -> bool:
        """Obey what is pressed while the cursor is here."""
        if isinstance(event, events.Key) and self.answering.held_letter is None:
            if event.key in ("left", "up", "right", "down"):
                self._move(-1 if event.key in ("left", "up") else 1)
                return True
            if event.key == "enter":
                self._choose(self.choices.options[self.choices.at])
                return True
            if event.key == "tab":
                self._leave_to_prompt()
                return True
        return self._obey_letter(event)

    def _obey_letter(self, event: events.Key | events.Paste) -> bool:
        """Obey the letter of an answer; any other key goes to the prompt, after a held letter."""
        if isinstance(event, events.Key) and self.answering.held_letter is None:
            if event.character in {each.letter for each in self.choices.options}:
                self.action_answer(event.character)
                return True
            if event.key == "ctrl+e":
                self.action_expand()
                return True
            edits = event.is_printable or event.key == "backspace"
            if event.key in _CHAT_KEYS or (self.screen.focused is self and not edits):
                return False
        self._leave_to_prompt()
        return False

    def _leave_to_prompt(self) -> None:
        self._sleep()
        self.set_timer(QUIET_SECONDS, self.reconsider)

    def _move(self, step: int) -> None:
        self.choices.at = max(0, min(self.choices.at + step, len(self.choices.options) - 1))

    def _choose(self, option: Option) -> None:
        self.scroll.look()
        if option.allows and not self.scroll.was_read:
            self._expand(True)
        elif option.decision is None:
            self.choices.awake = False  # the cursor arrives there later
            self.note.value = ""
            self.add_class("-noting")
            self.note.focus()
        else:
            self._answer(option.decision)

    def _answer(self, decision: Decision) -> None:
        if self._waiting and not self._waiting[0][1].done():
            self._waiting[0][1].set_result(decision)
        self._sleep()

    def _enter(self) -> None:
        if self._prompt.text:
            self._sleep()
        elif self.question is not None:
            self.can_focus = True
            self.choices.reset()
            self.choices.awake = self.choices.entered = True
            self.screen.set_focus(self.note if self.has_class("-noting") else self)
            self._subtitle()

    def _sleep(self) -> None:
        """Answer to no key; a letter that did not count yet belongs to the prompt."""
        if letter := self.answering.release_letter():
            self._prompt.type(letter)
        if self.screen.focused in (self, self.note):
            self.screen.set_focus(self._prompt)
        self.choices.awake = self.choices.entered = False
        self.choices.reset()
        self.can_focus = False
        self.remove_class("-noting")
        self._subtitle()

    def _show(self) -> None:
        self._sleep()
        self.answering.reset()
        self.remove_class("-expanded")
        self.set_class(self.question is not None, "-open")
        if (question := self.question) is None:
            return
        self.border_title = approval_title(question)
        self.scroll.show(question)
        self.choices.options = approval_options(question)
        self.choices.reset()
        self.choices.changed()
        self._subtitle()
        self.call_after_refresh(self._drawn, question)

    def _drawn(self, question: Confirmation) -> None:
        if self.question is question:
            self.answering.mark_drawn()
            self.scroll.look()
            self.reconsider()

    def _expand(self, expanded: bool) -> None:
        self.set_class(self.scroll.overflows and expanded, "-expanded")
        self._subtitle()

    def _subtitle(self) -> None:
        """Update the key hints and the count of hidden lines."""
        roomy, expanded = self.size.width >= ROOMY, self.has_class("-expanded")
        hints: list[str] = []
        if self._prompt.text and not self.choices.entered:
            hints.append("send or clear the prompt to answer" if roomy else "clear the prompt")
        elif not self.choices.awake:
            hints += ["stop typing to answer"] if roomy else []
        elif self.scroll.overflows:
            hints.append("Page Down for more" if expanded else "Ctrl+E shows more")
            hints += ["Ctrl+E shows less"] if expanded and roomy else []
        elif roomy:
            hints.append("Enter selects" if self.choices.entered else "press a letter")
        hints.append("Esc denies")
        if (behind := len(self._waiting) - 1) > 0:
            hints.append(f"{behind} more")
        self.border_subtitle = " · ".join(hints)
        if not self.children:
            return
        below, is_complete = self.scroll.below, self.scroll.is_complete
        self.choices.locked = not self.scroll.was_read
        self.rest_line.display = self.scroll.overflows
        count = f"{below:,}" if is_complete else f"more than {below:,}"
        lines = f"{count} {'line' if below == 1 and is_complete else 'lines'} not shown"
        locked = "; scroll to the end before you allow it" if roomy else "; read first"
        why = locked if self.choices.locked else ""
        self.rest_line.update(f"↓ {lines}{why}" if below or not is_complete else "the end")
