"""Modes of the prompt with character commands."""

from textual.message import Message


class KeyMode:
    """The only mode without an extension: each character is text.

    An extension replaces it before the first paint, as Vim's keys do.
    """

    class Changed(Message):
        """Posted to the prompt when the mode changes."""

    @property
    def name(self) -> str:
        """The mode and an incomplete command, for the status line."""
        return ""

    @property
    def has_commands(self) -> bool:
        """Whether characters are commands now."""
        return False

    def reset(self, text: str) -> None:
        """Start with another text."""

    def escape(self) -> bool:
        """Leave a mode or an incomplete command; return False if there is neither."""
        return False

    def press(self, key: str) -> bool:
        """Run a character as a command; return False if it changed nothing."""
        del key
        return False

    def redo(self) -> bool:
        """Redo a change; return False in modes without commands."""
        return False
