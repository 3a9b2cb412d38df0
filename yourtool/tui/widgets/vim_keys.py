"""Vim's keys in the prompt; `yourtool.tui.vim` defines what they do."""

from msgspec.structs import replace
from textual.message import Message
from textual.widgets import TextArea

from yourtool.tui.vim import normal_mode
from yourtool.tui.vim.state import VimState


class VimKeys:
    """The mode of a text area, and the effects of its keys on the text and the caret."""

    class ModeChanged(Message):
        """Posted by the text area when the mode changes."""

    def __init__(self, area: TextArea) -> None:
        self.is_on = False
        """Whether the modes exist; set before the first paint."""
        self._area = area
        self._state = VimState()

    @property
    def mode(self) -> str:
        """The mode and an incomplete command, for the status line; empty without modes."""
        if not self.is_on:
            return ""
        return f"NORMAL {self._state.pending}".rstrip() if self.is_normal else "INSERT"

    @property
    def is_normal(self) -> bool:
        """Whether characters are commands."""
        return self.is_on and not self._state.is_insert

    def reset(self, text: str) -> None:
        """Start with another text; an empty one starts in the insert mode."""
        is_insert = self._state.is_insert or not text
        self._state = VimState(
            text=text, caret=len(text), is_insert=is_insert, register=self._state.register
        )
        if self.is_on:
            self._area.post_message(self.ModeChanged())

    def escape(self) -> bool:
        """Leave the insert mode or an incomplete command; return False if there is neither."""
        is_needed = self._state.is_insert or self._state.pending
        if not (self.is_on and self._area.has_focus and is_needed):
            return False
        if self._state.is_insert:
            self._show(normal_mode.leave_insert(self._state, self._area.text, self._caret))
        else:
            self._show(replace(self._state, pending=""))
        return True

    def press(self, key: str) -> bool:
        """Run a key of the normal mode; return False if it changed nothing."""
        before = replace(self._state, text=self._area.text, caret=self._caret)
        after = normal_mode.press(before, key)
        self._show(after)
        return after != before

    def redo(self) -> bool:
        """Ctrl+R: redo a change in the normal mode; return False in other modes."""
        if self.is_normal:
            self.press(normal_mode.REDO)
        return self.is_normal

    @property
    def _caret(self) -> int:
        row, column = self._area.cursor_location
        return sum(len(line) + 1 for line in self._area.text.split("\n")[:row]) + column

    def _show(self, state: VimState) -> None:
        area, self._state = self._area, state
        if state.text != area.text:
            area.replace(state.text, (0, 0), area.document.end)
        before = state.text[: state.caret]
        area.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))
        area.post_message(self.ModeChanged())
