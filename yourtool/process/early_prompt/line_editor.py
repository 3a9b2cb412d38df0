"""Line editor of the early prompt.

It supports the keys that people press within the first second. Any other key freezes it: the text
stays as it is, and the interface, which gets all the keys, shows what they do.
"""

from collections.abc import Iterable
from unicodedata import category, east_asian_width

from yourtool.process.terminal_input.items import Item, Key, Paste, Text

MAX_PASTED_CHARACTERS = 1_000
MAX_PASTED_LINES = 10
"""A longer paste is folded by the interface."""

_BRACKETS = "()[]{}"
_KNOWN_WIDTH = ("L", "P", "Nd", "Nl", "Sc", "Sm")
"""Categories whose characters take one cell, unless they are wide."""
_JAMO = (range(0x1160, 0x1200), range(0xD7B0, 0xD800), range(0xFFA0, 0xFFA1))
"""Parts of Hangul syllables, which are drawn over the part before them."""


class LineEditor:
    """Edits text with what a terminal sends; `width` is that of the box in cells."""

    def __init__(self, width: int, max_rows: int) -> None:
        self.before: str = ""
        """The text before the cursor."""
        self.after: str = ""
        """The text after the cursor."""
        self.is_frozen = False
        self.wants_to_quit = False
        """Whether Ctrl+C was pressed twice without text, or Ctrl+D."""
        self._width = width
        self._max_rows = max_rows
        self._was_interrupted = False

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.after

    def resize(self, width: int, max_rows: int) -> None:
        """Edit in a box of another size."""
        self._width, self._max_rows = width, max_rows
        self.is_frozen |= not self._fits(self.text)

    def feed(self, items: Iterable[Item]) -> None:
        """Handle keys, text and pastes."""
        for item in items:
            if isinstance(item, Paste):
                self._paste(item.text)
            elif isinstance(item, Text):
                for character in item.source:
                    self._press(character, character)
            elif isinstance(item, Key):
                self._press(item.name, item.text)

    def _paste(self, text: str) -> None:
        if self.is_frozen:
            return
        self._was_interrupted = False
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        is_path = not self.text and text.strip()[:1] in tuple("/~'\"f")  # it may be attached
        if (
            is_path
            or len(text) > MAX_PASTED_CHARACTERS
            or text.count("\n") >= MAX_PASTED_LINES
            or any(c != "\n" and cell_width(c) is None for c in text)
        ):
            self.is_frozen = True
        else:
            self._edit(self.before + text, self.after)

    def _press(self, key: str, text: str) -> None:
        was_interrupted, self._was_interrupted = self._was_interrupted, False
        if key == "ctrl+c" and (self.is_frozen or not self.text):
            self._was_interrupted, self.wants_to_quit = True, self.wants_to_quit | was_interrupted
        elif self.is_frozen:
            return
        elif key == "ctrl+d" and not self.text:
            self.wants_to_quit = True
        elif key == "ctrl+c":
            self._edit("", "")
        elif key == "enter":
            self._enter()
        elif key == "ctrl+j":
            self._edit(f"{self.before}\n", self.after)
        elif key != text:
            self._move_or_delete(key)
        elif len(text) == 1 and cell_width(text) is not None:
            self._edit(self.before + text, self.after)
        else:
            self.is_frozen = True

    def _enter(self) -> None:
        """Start a new line after a backslash; freeze with text that will be sent."""
        if self.before.endswith("\\") and not self.after:
            self._edit(self.before[:-1] + "\n", "")
        elif self.text.strip():
            self.is_frozen = True
        else:
            self._edit("", "")

    def _move_or_delete(self, key: str) -> None:
        before, after = self.before, self.after
        line_start = before.rfind("\n") + 1
        line_end = after.find("\n") if "\n" in after else len(after)
        if key == "backspace":
            self._edit(before[:-1], after)
        elif any(c in _BRACKETS or cell_width(c) == 0 for c in self.text):
            self.is_frozen = True  # the highlight of the cursor is not known
        elif key == "delete":
            self._edit(before, after[1:])
        elif key == "left":
            self._edit(before[:-1], before[-1:] + after)
        elif key == "right":
            self._edit(before + after[:1], after[1:])
        elif key in ("home", "ctrl+a"):
            self._edit(before[:line_start], before[line_start:] + after)
        elif key in ("end", "ctrl+e"):
            self._edit(before + after[:line_end], after[line_end:])
        else:
            self.is_frozen = True

    def _edit(self, before: str, after: str) -> None:
        if self._fits(before + after):
            self.before, self.after = before, after
        else:
            self.is_frozen = True

    def _fits(self, text: str) -> bool:
        """Whether no line has to be wrapped or scrolled; the cursor needs a cell after it."""
        lines = text.split("\n")
        return len(lines) <= self._max_rows and all(
            text_width(line) < self._width for line in lines
        )


def text_width(text: str) -> int:
    """Return the number of cells of a text whose characters all have a known width."""
    return sum(cell_width(c) or 0 for c in text)


def cell_width(character: str) -> int | None:
    """Return the number of cells of a character, or None if terminals disagree or it has none."""
    if " " <= character <= "~":
        return 1
    kind, number = category(character), ord(character)
    if kind == "Mn":
        return 0
    if kind[0] not in "LNPS" or kind == "Sk" or number == 0x3164:
        return None
    if east_asian_width(character) in "WF":
        return 2
    return 1 if kind.startswith(_KNOWN_WIDTH) and not any(number in r for r in _JAMO) else None
