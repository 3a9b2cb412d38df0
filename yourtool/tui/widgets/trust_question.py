"""Question of trust above the prompt.

The prompt keeps the focus, as below an approval prompt, and the same keys answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from textual import events, on
from textual.containers import Vertical
from textual.content import Content

from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import build_hint, get_keys, join_hints
from yourtool.tui.keys.keystroke_guard import KeystrokeGuard
from yourtool.tui.questions.answer_words import Meaning
from yourtool.tui.questions.approval_hints import TOO_EARLY, Feedback
from yourtool.tui.terminal.slow_terminal_app import get_shown_since
from yourtool.tui.widgets.answer_keys import AnswerKeys, KeyResult
from yourtool.tui.widgets.answer_list import AnswerList
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

TrustChoice: TypeAlias = Literal["trust", "decline", "quit"]


class TrustAnswer(Struct, frozen=True):
    """One answer."""

    letter: str
    label: str
    means: Meaning
    choice: TrustChoice

    @property
    def short(self) -> str:
        """The label on a narrow screen."""
        return self.label


_ANSWERS = (
    TrustAnswer("t", "Trust", "yes", "trust"),
    TrustAnswer("c", "Continue without", "no", "decline"),
    TrustAnswer("q", "Quit", "", "quit"),
)
_LETTERS = {each.letter: each.letter for each in _ANSWERS}
_HINT = "↑↓ or a letter, then Enter"
_OTHER_ROWS = 18
"""Rows of the screen that are not for names of files."""
_MIN_FILES = 4
_MAX_FILES_SHORT = 3
"""Files that are named at once."""
_SHORT = 16
"""Rows of the screen below which the question is as short as possible."""


class TrustFiles(WrappedWidget):
    """The folder, and the files that would be used, in pages."""

    DEFAULT_CSS = """
    TrustFiles {
        .trust--name { color: $foreground; text-style: bold; }
        .trust--about { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"trust--name", "trust--about"}  # noqa: RUF012 - Textual's form

    def __init__(self, folder: str, files: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._folder, self._files, self._first = folder, files, 0

    def rows(self, width: int) -> list[Content]:
        """Draw the folder and its files."""
        name, about = (self.get_visual_style(f"trust--{each}") for each in ("name", "about"))
        first = min(self._first, self._last_page)
        rows = [
            Content.assemble((printable(file), name), (f" {description}", about))
            for file, description in self._files[first : first + self._room]
        ]
        if self._last_page:
            rows.append(Content.styled(self._describe_page(first), about))
        if not self._is_short:
            rows.insert(0, Content(printable(self._folder)))
            rows.append(Content.styled("They are ignored unless you trust the folder.", about))
        return [row.truncate(width, ellipsis=True) for row in rows]

    def turn_page(self, key: str) -> bool:
        """Show the files before or after, if the key does that; return whether it does."""
        pages = {"chat.page_up": -self._room, "chat.page_down": self._room}
        step = next((step for name, step in pages.items() if key in get_keys(name)), 0)
        if not (step and self._last_page):
            return False
        self._first = max(0, min(self._first + step, self._last_page))
        self.refresh_rows()
        return True

    @property
    def _is_short(self) -> bool:
        return self.app.size.height < _SHORT

    @property
    def _room(self) -> int:
        """The number of files that are named at once."""
        room = max(_MIN_FILES, self.app.size.height - _OTHER_ROWS)
        return _MAX_FILES_SHORT if self._is_short else room

    @property
    def _last_page(self) -> int:
        """The first file of the last page; 0 if all files fit."""
        return max(0, len(self._files) - self._room)

    def _describe_page(self, first: int) -> str:
        before, more = first, self._last_page - first
        return join_hints(
            f"{before:,} before" if before else "",
            f"{more:,} more" if more else "",
            build_hint("chat.page_down", "shows them") if more else "",
            build_hint("chat.page_up", "goes back") if before else "",
        )


class TrustQuestion(Vertical):
    """Names the files that would be used, and waits for an answer."""

    DEFAULT_CSS = """
    TrustQuestion {
        height: auto;
        border: round $warning;
        border-title-color: $text-warning;
        border-subtitle-color: $text-muted;
        padding: 0 1;
    }
    """

    def __init__(self, prompt: Prompt, clock: Callable[[], float]) -> None:
        super().__init__()
        self.guard = KeystrokeGuard(clock, lambda: get_shown_since(self))
        self.answers = AnswerList()
        self.keys = AnswerKeys(prompt, self.answers, self.guard)
        self._prompt = prompt
        self._files: TrustFiles | None = None
        self._feedback: Feedback | None = None  # on the last key
        self._answer: asyncio.Future[TrustChoice] | None = None

    async def ask(
        self, folder: str, files: Sequence[tuple[str, str]], *, is_changed: bool
    ) -> TrustChoice:
        """Return the answer; `files` are names and descriptions of what would be used.

        `is_changed`: the user has answered for other contents of the files.
        """
        self._files = TrustFiles(folder, files)
        self.border_title = "Files changed: trust them?" if is_changed else "Trust this folder?"
        self.border_subtitle = _HINT
        self._answer = asyncio.get_running_loop().create_future()
        self.guard.reset()
        await self._prompt.screen.mount(self, before=self._prompt)
        await self.mount(self._files, self.answers)
        self.answers.show(_ANSWERS, _LETTERS)
        self.call_after_refresh(self._on_drawn)
        try:
            return await self._answer
        finally:
            self._answer = None
            self.keys.reset()
            if self.is_running and self.is_attached:
                await self.remove()

    def _on_drawn(self) -> None:
        self.guard.mark_drawn()
        self.arm_when_safe()

    def arm_when_safe(self) -> None:
        """Accept answers if that is safe now, otherwise check again later."""
        if self._answer is None:
            return
        result, seconds = self.keys.arm()
        if seconds:
            self.set_timer(seconds, self.arm_when_safe)
        self._apply(result)
        self._show_hint()

    def intercept(self, event: events.Key | events.Paste) -> bool:
        """Handle a key or paste before it is dispatched; True if it was consumed."""
        self.guard.mark_keystroke()  # also before the question
        is_consumed = self._handle_key(event)
        if not (is_consumed or self.keys.may_answer):
            self.guard.mark_typing()
        return is_consumed

    def _handle_key(self, event: events.Key | events.Paste) -> bool:
        if self._answer is None or self.app.screen is not self.screen:
            return False
        if isinstance(event, events.Key):
            if event.key == "escape" and (not self._prompt.text or self.keys.is_answering):
                if not self.guard.is_new:
                    self.keys.take_answer()
                    self._choose("decline")
                return not self.guard.is_new
            if self._files is not None and self._files.turn_page(event.key):
                return True
            if event.key in get_keys("chat.mode"):
                return True  # the status line does not show the mode yet
        self._feedback = None
        is_consumed = self._apply(self.keys.handle(event))
        self._show_hint()
        return is_consumed

    @on(AnswerList.Pressed)
    def _press(self, pressed: AnswerList.Pressed) -> None:
        """Mark the answer that was clicked, or confirm it."""
        if not self._prompt.text or self.keys.is_answering:
            self._apply(self.keys.click(pressed.at))
        self._show_hint()

    def _apply(self, result: KeyResult) -> bool:
        self._feedback = result.feedback or self._feedback
        if result.chosen is not None:
            self._choose(_ANSWERS[result.chosen].choice)
        return result.is_consumed

    def _show_hint(self) -> None:
        marked = self.answers.marked if self.answers.is_ready else None
        text = "" if self.keys.is_answering else self._prompt.text
        if marked is not None:
            self.border_subtitle = f"Enter: {_ANSWERS[marked].label}"
        elif self._feedback == TOO_EARLY:
            self.border_subtitle = TOO_EARLY.text(roomy=True, is_in_prompt=bool(text))
        else:
            self.border_subtitle = "send or clear the prompt to answer" if text else _HINT

    def _choose(self, choice: TrustChoice) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(choice)
