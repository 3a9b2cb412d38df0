"""Vim's keys for the prompt widget.

The module `normal_mode.py` defines their effects.
"""

from msgspec.structs import replace

from yourtool.extensions.vim import normal_mode
from yourtool.extensions.vim.state import VimState
from yourtool.tui.widgets.key_mode import KeyMode
from yourtool.tui.widgets.prompt import Prompt


class VimKeys(KeyMode):
    """The mode of the prompt, and the effects of its keys on the text and the caret."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._state = VimState()

    @property
    def name(self) -> str:
        """The mode and an incomplete command, for the status line."""
        return f"NORMAL {self._state.pending}".rstrip() if self.has_commands else "INSERT"

    @property
    def has_commands(self) -> bool:
        """Whether the mode is the normal one."""
        return not self._state.is_insert

    def reset(self, text: str) -> None:
        """Start with another text; an empty one starts in the insert mode."""
        is_insert = self._state.is_insert or not text
        self._state = VimState(
            text=text, caret=len(text), is_insert=is_insert, register=self._state.register
        )
        self._prompt.post_message(self.Changed())

    def escape(self) -> bool:
        """Leave the insert mode or an incomplete command; return False if there is neither."""
        is_needed = self._state.is_insert or self._state.pending
        if not (self._prompt.has_focus and is_needed):
            return False
        if self._state.is_insert:
            self._show(normal_mode.leave_insert(self._state, self._prompt.text, self._caret))
        else:
            self._show(replace(self._state, pending=""))
        return True

    def press(self, key: str) -> bool:
        """Run a key of the normal mode; return False if it changed nothing."""
        before = replace(self._state, text=self._prompt.text, caret=self._caret)
        after = normal_mode.press(before, key)
        self._show(after)
        return after != before

    def redo(self) -> bool:
        """Ctrl+R: redo a change in the normal mode; return False in other modes."""
        if self.has_commands:
            self.press(normal_mode.REDO)
        return self.has_commands

    @property
    def _caret(self) -> int:
        row, column = self._prompt.cursor_location
        return sum(len(line) + 1 for line in self._prompt.text.split("\n")[:row]) + column

    def _show(self, state: VimState) -> None:
        prompt, self._state = self._prompt, state
        if state.text != prompt.text:
            prompt.replace(state.text, (0, 0), prompt.document.end)
        before = state.text[: state.caret]
        prompt.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))
        prompt.post_message(self.Changed())


def build_key_mode(prompt: Prompt) -> VimKeys:
    """Return the keys of a prompt, in the insert mode."""
    return VimKeys(prompt)
