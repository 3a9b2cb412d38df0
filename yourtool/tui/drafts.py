"""The text in the prompt, with each long paste folded into a chip."""

import re

from msgspec import Struct

from yourtool.text import printable

FOLD_LINES = 10
FOLD_CHARACTERS = 1_000
MAX_DISPLAYED = 20_000
"""Characters of a text that the prompt displays quickly."""

_CHIP = re.compile(r"\[Pasted text #(\d+): [\d,]+ lines?\]")
_LAST_CHIP = re.compile(_CHIP.pattern + r"\Z")


class Draft(Struct, frozen=True):
    """Text as displayed, and the pastes that its chips represent."""

    text: str = ""
    pastes: tuple[str, ...] = ()
    """Chip number n represents `pastes[n - 1]`."""

    @property
    def full_text(self) -> str:
        """The text with every chip expanded; an edited chip is ordinary text."""
        return _CHIP.sub(self._expand_chip, self.text)

    def _expand_chip(self, match: re.Match[str]) -> str:
        number = int(match[1])
        if 0 < number <= len(self.pastes):
            paste = self.pastes[number - 1]
            if match[0] == format_chip(number, paste):
                return paste
        return match[0]


def normalize_newlines(text: str) -> str:
    """Return pasted text with line feeds as line ends; terminals send carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def should_fold(text: str) -> bool:
    """Whether a paste is long enough to be folded."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES


def format_chip(number: int, paste: str) -> str:
    """Return the chip that is displayed instead of a long paste."""
    lines = paste.count("\n") + (not paste.endswith("\n"))
    return f"[Pasted text #{number}: {lines:,} {'line' if lines == 1 else 'lines'}]"


def fold_text(text: str) -> Draft:
    """Return a draft of a text, folded into a chip if it is long."""
    return Draft(format_chip(1, text), (text,)) if should_fold(text) else Draft(text)


def fold_unless_displayable(draft: Draft) -> Draft:
    """Return a draft whose text is short and has no control characters; chips stay."""
    if len(draft.text) <= MAX_DISPLAYED and printable(draft.text) == draft.text:
        return draft
    pastes = (*draft.pastes, draft.full_text)
    return Draft(format_chip(len(pastes), pastes[-1]), pastes)


def trailing_chip_length(text: str) -> int:
    """Return the length of the chip at the end of `text`, or 0 without one."""
    found = _LAST_CHIP.search(text)
    return len(found[0]) if found else 0
