"""Question of trust above the prompt.

The prompt keeps the focus, as below an approval prompt: only a single letter after a pause without
keys, and Enter after it, is an answer. Everything else is text for the prompt.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from textual import events
from textual.content import Content

from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import build_hint, get_keys, join_hints
from yourtool.tui.keys.keystroke_guard import KeystrokeGuard
from yourtool.tui.terminal.slow_terminal_app import get_shown_since
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
_OTHER_ROWS = 18
"""Rows of the screen that are not for names of files."""
_MIN_FILES = 4
_MAX_FILES_SHORT = 3
"""Files that are named at once."""
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
        self._first = 0
        """The index of the first file that is shown."""

    async def ask(
        self, folder: str, files: Sequence[tuple[str, str]], *, is_changed: bool
    ) -> TrustChoice:
        """Return the answer; `files` are names and descriptions of what would be used.

        `is_changed`: the user has answered for other contents of the files.
        """
        self._folder, self._files, self._first = folder, files, 0
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
        if self._release_letter() or not isinstance(event, events.Key):
            return False
        if self._turn_page(event.key):
            return True
        if self._prompt.text:
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
        answers = (Content(f"[{key}] {label}  ") for key, (_, label) in _ANSWERS.items())
        answer_rows = [next(answers)]
        for each in answers:
            if answer_rows[-1].cell_length + each.cell_length - 2 <= width:
                answer_rows[-1] += each
            else:
                answer_rows.append(each)
        return [row.truncate(width, ellipsis=True) for row in (*rows, *answer_rows)]

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

    def _turn_page(self, key: str) -> bool:
        """Show the files before or after, if the key does that; return whether it does."""
        pages = {"chat.page_up": -self._room, "chat.page_down": self._room}
        step = next((step for name, step in pages.items() if key in get_keys(name)), 0)
        if not (step and self._last_page):
            return False
        self._first = max(0, min(self._first + step, self._last_page))
        self.refresh_rows()
        return True

    def _release_letter(self) -> bool:
        """Pass a letter without its Enter to the prompt; return whether there was one."""
        self.border_subtitle = _HINT
        if letter := self.guard.release_letter():
            self._prompt.insert_text(letter)
        return bool(letter)

    def _choose(self, choice: TrustChoice) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(choice)
