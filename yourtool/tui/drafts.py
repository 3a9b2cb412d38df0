"""What stands in the prompt: text in which each long paste is folded into a chip."""

import re

from msgspec import Struct

FOLD_LINES = 10
FOLD_CHARACTERS = 1_000

_CHIP = re.compile(r"\[Pasted text #(\d+): [\d,]+ lines?\]")
_LAST_CHIP = re.compile(_CHIP.pattern + r"\Z")


class Draft(Struct, frozen=True):
    """Text as shown, and the pastes behind its chips."""

    text: str = ""
    pastes: tuple[str, ...] = ()
    """Chip number n stands for `pastes[n - 1]`."""

    @property
    def full(self) -> str:
        """The text with every chip unfolded; a chip that was edited is ordinary text."""
        return _CHIP.sub(self._unfold, self.text)

    def _unfold(self, match: re.Match[str]) -> str:
        number = int(match[1])
        if 0 < number <= len(self.pastes):
            paste = self.pastes[number - 1]
            if match[0] == chip(number, paste):
                return paste
        return match[0]


def line_feeds(text: str) -> str:
    """Return pasted text with its line ends as line feeds; terminals send carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def folds(text: str) -> bool:
    """Whether a paste is long enough to be folded."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES


def chip(number: int, paste: str) -> str:
    """Return what is shown instead of a long paste."""
    lines = paste.count("\n") + (not paste.endswith("\n"))
    return f"[Pasted text #{number}: {lines:,} {'line' if lines == 1 else 'lines'}]"


def folded(text: str) -> Draft:
    """Return a draft of a text, behind a chip where it is long."""
    return Draft(chip(1, text), (text,)) if folds(text) else Draft(text)


def chip_before(text: str) -> int:
    """Return the length of the chip that `text` ends with; 0 if it does not."""
    found = _LAST_CHIP.search(text)
    return len(found[0]) if found else 0
