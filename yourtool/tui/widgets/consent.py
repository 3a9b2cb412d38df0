"""The question that only the user may answer, above the prompt.

It is modal to nothing but the answer: the transcript scrolls, the prompt takes text, the turn can
be stopped. `Answering` says when its keys count.
"""

import asyncio
import time
from collections.abc import Callable

from textual import events, getters
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.tui.answering import HOLD_SECONDS, Answering
from yourtool.tui.keys import bindings
from yourtool.tui.questions import DENY, Option, about, options_of, title
from yourtool.tui.widgets.block import Block
from yourtool.tui.widgets.preview import PreviewText
from yourtool.tui.widgets.prompt import Prompt

ROOMY = 60
"""Columns from which on every hint has room."""


class Options(Block):
    """The answers, side by side where there is room."""

    DEFAULT_CSS = """
    Options {
        .options--chosen { background: $warning; color: $background; text-style: bold; }
        &:ansi .options--chosen { color: $block-cursor-foreground; }
        .options--asleep { color: $text-disabled; }
    }
    """
    COMPONENT_CLASSES = {"options--chosen", "options--asleep"}  # noqa: RUF012 - Textual's form

    at: var[int] = var(0)
    awake: var[bool] = var(False)

    def __init__(self) -> None:
        super().__init__()
        self.options: tuple[Option, ...] = ()

    def watch_at(self) -> None:
        """Redraw with another answer chosen."""
        self.refresh()

    def watch_awake(self) -> None:
        """Redraw, dimmed or not."""
        self.refresh()

    def rows(self, width: int) -> list[Content]:
        """Draw the answers with their letters."""
        asleep = self.get_visual_style("options--asleep")
        chosen = self.get_visual_style("options--chosen")
        rows: list[Content] = []
        for at, option in enumerate(self.options):
            text = Content(f" [{option.letter}] {option.label} ")
            if not self.awake:
                text = text.stylize(asleep)
            elif at == self.at:
                text = text.stylize(chosen)
            if rows and rows[-1].cell_length + text.cell_length <= width:
                rows[-1] += text
            else:
                rows.append(text)
        return rows


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
        #preview {
            height: auto;
            max-height: 40vh;
            scrollbar-size-vertical: 1;
        }
        &.-expanded #preview { max-height: 65vh; }
        #about { height: auto; max-height: 4; color: $text-muted; }
        #note { display: none; border: none; height: 1; padding: 0; }
        &.-noting #note { display: block; }
        &.-noting Options { display: none; }
    }
    """
    BINDINGS = bindings("question")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    preview = getters.query_one(PreviewText)
    scroll = getters.query_one("#preview", VerticalScroll)
    reasons = getters.query_one("#about", Static)
    choices = getters.query_one(Options)
    note = getters.query_one("#note", Input)

    def __init__(self, prompt: Prompt, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.can_focus = False
        self.answering = Answering(clock)
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

        Whatever looks like typing moves the cursor to the prompt first and so arrives there, in
        the order it was typed.
        """
        self.answering.keystroke()
        if not self._listens:
            return False
        if isinstance(event, events.Paste) or not self.choices.awake:
            self._leave_to_prompt()
            return False
        return self._obey(event)

    def reconsider(self) -> None:
        """Take the keys if that is safe now, or look again when it may be."""
        if self.question is None or self.has_focus_within or self.app.screen is not self.screen:
            return
        if (wait := self.answering.wait) > 0:
            if wait < 60:
                self.set_timer(wait, self.reconsider)
        elif not self._prompt.text:
            self.take_keys()
        self._subtitle()

    def take_keys(self, *, again: bool = True) -> None:
        """Listen for an answer; the user asked for it, or nothing was typed for a while.

        The key that asks is one that was just pressed, so that is looked at once `again`: what is
        typed after it is meant for the prompt.
        """
        if self.question is None:
            return
        if (wait := self.answering.wait) > 0:
            if again and wait < 60:
                self.set_timer(wait, lambda: self.take_keys(again=False))
            return
        self.can_focus = True
        self.choices.awake = True
        self.screen.set_focus(self.note if self.has_class("-noting") else self)
        self._subtitle()

    def rest(self) -> None:
        """Something was laid over the screen: its keys are not answers, nor are those after it."""
        if self.question is not None:
            self._sleep()

    def escape(self) -> bool:
        """Obey Esc; False where it cannot mean this question, because it is too new."""
        if self.question is None or self.answering.fresh:
            return False
        if self.has_class("-noting"):
            self.remove_class("-noting")
            self.focus()
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

    def action_answer(self, letter: str) -> None:
        """Take a letter as the answer unless typing goes on at once."""
        offered = [each.letter for each in self.choices.options]
        if self.choices.awake and letter in offered:
            self.choices.at = offered.index(letter)
            self.answering.hold(letter)
            self.set_timer(HOLD_SECONDS, self.settle)

    def action_expand(self) -> None:
        """Give the command or the change more room and the keys that turn pages, or less."""
        self.set_class(self._overflows and not self.has_class("-expanded"), "-expanded")
        self._subtitle()

    def settle(self) -> None:
        """Let a held letter count once its time has come."""
        if (letter := self.answering.settled()) is not None:
            self._choose(next(each for each in self.choices.options if each.letter == letter))
        elif self.answering.held is not None:
            self.set_timer(HOLD_SECONDS / 4, self.settle)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    async def _furnish(self) -> None:
        """Lay out the question, its reasons and the answers: not before the first is asked.

        The first paint does not need them, and should not wait for them.
        """
        note = Input(id="note", placeholder="Why not? Enter sends, Esc goes back")
        note.cursor_blink = False
        await self.mount(
            VerticalScroll(PreviewText(), id="preview", can_focus=False),
            Static(id="about", markup=False),
            Options(),
            note,
        )
        # There is more to see when, and only when, there is a scrollbar.
        self.watch(self.scroll, "show_vertical_scrollbar", self._subtitle, init=False)

    @property
    def _listens(self) -> bool:
        return self.app.screen is self.screen and self.screen.focused is self

    def _obey(self, event: events.Key) -> bool:
        held = self.answering.held
        if held is not None and (event.key == "enter" or event.character == held):
            return True
        if event.key in ("left", "up", "right", "down"):
            self.answering.take_back()
            self._move(-1 if event.key in ("left", "up") else 1)
        elif event.key == "enter":
            self._choose(self.choices.options[self.choices.at])
        elif event.key == "tab":
            self._leave_to_prompt()
        elif held is None and event.character in [each.letter for each in self.choices.options]:
            self.action_answer(event.key)
        else:
            if event.is_printable or event.key == "backspace":
                self._leave_to_prompt()
            return False
        return True

    def _leave_to_prompt(self) -> None:
        letter = self.answering.take_back()
        self._sleep()
        if letter:
            self._prompt.type(letter)

    def _move(self, step: int) -> None:
        self.choices.at = max(0, min(self.choices.at + step, len(self.choices.options) - 1))

    def _choose(self, option: Option) -> None:
        if option.decision is None:
            self.note.value = ""
            self.add_class("-noting")
            self.note.focus()
        else:
            self._answer(option.decision)

    def _answer(self, decision: Decision) -> None:
        if self._waiting and not self._waiting[0][1].done():
            self._waiting[0][1].set_result(decision)
        self._sleep()

    def _sleep(self) -> None:
        self.answering.take_back()
        if self.screen.focused in (self, self.note):
            self.screen.set_focus(self._prompt)
        self.choices.awake = False
        self.can_focus = False
        self.remove_class("-noting")

    def _show(self) -> None:
        self.answering.asked()
        self._sleep()
        self.remove_class("-expanded")
        self.set_class(self.question is not None, "-open")
        if (question := self.question) is None:
            return
        self.border_title = title(question)
        self.preview.show(question)
        self.scroll.scroll_home(animate=False)
        reasons = about(question)
        self.reasons.update(reasons)
        self.reasons.display = bool(reasons)
        self.choices.options = options_of(question)
        self.choices.at = [o.letter for o in self.choices.options].index("d")
        self.choices.changed()
        self._subtitle()
        self.call_after_refresh(self._drawn, question)

    def _drawn(self, question: Confirmation) -> None:
        if self.question is question:
            self.answering.drawn()
            self.reconsider()

    @property
    def _overflows(self) -> bool:
        return self.scroll.show_vertical_scrollbar

    def _subtitle(self) -> None:
        hints: list[str] = []
        roomy = self.size.width >= ROOMY
        if self.choices.awake:
            if self.has_class("-expanded"):
                hints += ["Page Down reads on", *(["Ctrl+E shows less"] if roomy else [])]
            elif self._overflows:
                hints.append("Ctrl+E shows more")
            elif roomy:
                hints.append("press a letter")
        elif self._prompt.text:
            hints.append("Tab to answer")
        elif roomy:
            hints.append("stop typing to answer")
        hints.append("Esc denies")
        if (behind := len(self._waiting) - 1) > 0:
            hints.append(f"{behind} more")
        self.border_subtitle = " · ".join(hints)
