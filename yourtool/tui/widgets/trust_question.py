"""The question whether to trust a folder, above the prompt; letters answer it.

The prompt keeps the focus, as below an approval prompt: only a single letter after a pause without
keys, and Enter after it, is an answer. Everything else is text for the prompt.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from textual import events
from textual.content import Content

from yourtool.text import printable
from yourtool.tui.keystroke_guard import KeystrokeGuard
from yourtool.tui.slow_terminal_app import get_shown_since
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

TrustChoice: TypeAlias = Literal["trust", "decline", "quit"]

_ANSWERS: dict[str, tuple[TrustChoice, str]] = {
    "t": ("trust", "trust"),
    "c": ("decline", "continue without"),
    "q": ("quit", "quit"),
}
_HINT = "press a letter and Enter"
_LETTER_FIRST = "first press t, c or q"
_MAX_FILES = 4
"""Files that are named."""
_MAX_FILES_SHORT = 3
_SHORT = 16
"""Rows of the screen below which the question is as short as possible."""


class TrustQuestion(WrappedWidget):
    """Names the files that would be used, and waits for an answer."""

    DEFAULT_CSS = """
    TrustQuestion {
        border: round $warning;
        border-title-color: $text-warning;
        border-subtitle-color: $text-muted;
        padding: 0 1;
        .trust--name { color: $foreground; text-style: bold; }
        .trust--about { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"trust--name", "trust--about"}  # noqa: RUF012 - Textual's form

    def __init__(self, prompt: Prompt, clock: Callable[[], float]) -> None:
        super().__init__()
        self.guard = KeystrokeGuard(clock, lambda: get_shown_since(self))
        self._prompt = prompt
        self._answer: asyncio.Future[TrustChoice] | None = None
        self._folder = ""
        self._files: Sequence[tuple[str, str]] = ()

    async def ask(
        self, folder: str, files: Sequence[tuple[str, str]], *, is_changed: bool
    ) -> TrustChoice:
        """Return the answer; `files` are names and descriptions of what would be used.

        `is_changed`: the user has answered for other contents of the files.
        """
        self._folder, self._files = folder, files
        self.border_title = "Files changed: trust them?" if is_changed else "Trust this folder?"
        self.border_subtitle = _HINT
        self._answer = asyncio.get_running_loop().create_future()
        self.guard.reset()
        await self._prompt.screen.mount(self, before=self._prompt)
        self.call_after_refresh(self.guard.mark_drawn)
        try:
            return await self._answer
        finally:
            self._answer = None
            self._release_letter()
            if self.is_running and self.is_attached:
                await self.remove()

    def intercept(self, event: events.Key | events.Paste) -> bool:
        """Handle a key or paste before it is dispatched; True if it was consumed."""
        self.guard.mark_keystroke()  # also before the question
        is_consumed = self._handle_key(event)
        if not is_consumed:
            self.guard.mark_typing()
        return is_consumed

    def _handle_key(self, event: events.Key | events.Paste) -> bool:
        if self._answer is None or self.app.screen is not self.screen:
            return False
        letter = self.guard.held_letter.lower()
        if isinstance(event, events.Key) and event.key == "enter" and letter:
            self.guard.release_letter()
            self._choose(_ANSWERS[letter][0])
            return True
        if isinstance(event, events.Key) and event.key == "escape" and not self._prompt.text:
            self.guard.release_letter()
            if not self.guard.is_new:
                self._choose("decline")
            return not self.guard.is_new
        if self._release_letter() or self._prompt.text or not isinstance(event, events.Key):
            return False
        if event.key == "enter":
            self.border_subtitle = _LETTER_FIRST
            return True
        typed = event.character or ""
        if not self.guard.was_seen or typed.lower() not in _ANSWERS:
            return False
        self.guard.hold_letter(typed)
        self.border_subtitle = f"Enter: {_ANSWERS[typed.lower()][1]}"
        return True

    def rows(self, width: int) -> list[Content]:
        """Draw the folder, its files and the answers."""
        is_short = self.app.size.height < _SHORT
        name, about = (self.get_visual_style(f"trust--{each}") for each in ("name", "about"))
        shown = self._files[: _MAX_FILES_SHORT if is_short else _MAX_FILES]
        rows = [
            Content.assemble((printable(file), name), (f" {description}", about))
            for file, description in shown
        ]
        if more := len(self._files) - len(shown):
            rows.append(Content.styled(f"and {more:,} more", about))
        if not is_short:
            rows.insert(0, Content(printable(self._folder)))
            rows.append(Content.styled("They are ignored unless you trust the folder.", about))
        answers = (Content(f"[{key}] {label}  ") for key, (_, label) in _ANSWERS.items())
        answer_rows = [next(answers)]
        for each in answers:
            if answer_rows[-1].cell_length + each.cell_length - 2 <= width:
                answer_rows[-1] += each
            else:
                answer_rows.append(each)
        return [row.truncate(width, ellipsis=True) for row in (*rows, *answer_rows)]

    def _release_letter(self) -> bool:
        """Pass a letter without its Enter to the prompt; return whether there was one."""
        self.border_subtitle = _HINT
        if letter := self.guard.release_letter():
            self._prompt.insert_text(letter)
        return bool(letter)

    def _choose(self, choice: TrustChoice) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(choice)
