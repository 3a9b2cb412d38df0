"""Prompt text with chips."""

import re

from msgspec import Struct

from yourtool.foundation.amounts import format_size
from yourtool.foundation.text import printable
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, MediaBlock

FOLD_LINES = 10
FOLD_CHARACTERS = 1_000
MAX_DISPLAYED = 20_000
"""Characters of a text that the prompt displays quickly."""

_NAME_CHARACTERS = 40
_KINDS = {ImageBlock: "Image", AudioBlock: "Audio", DocumentBlock: "Document"}
_CHIP = re.compile(r"\[Pasted text #(\d+): [\d,]+ lines?\]")
_LAST_CHIP = re.compile(_CHIP.pattern + r"\Z")


class ChipAttachment(Struct, frozen=True):
    """An attachment and the chip that represents it."""

    chip: str
    """Such as `[Image #1: cat.png, 640x480, 81.2 KiB]`; the model reads it, too."""
    block: MediaBlock


class Draft(Struct, frozen=True, omit_defaults=True):
    """Text as displayed, and the pastes and attachments that its chips represent."""

    text: str = ""
    pastes: tuple[str, ...] = ()
    """Chip number n represents `pastes[n - 1]`."""
    attachments: tuple[ChipAttachment, ...] = ()

    @property
    def visible_attachments(self) -> tuple[ChipAttachment, ...]:
        """The attachments whose chips are in the text; an edited chip is ordinary text."""
        text = self.full_text if self.attachments else ""
        return tuple(each for each in self.attachments if each.chip in text)

    @property
    def media(self) -> tuple[MediaBlock, ...]:
        """The media whose chips are in the text."""
        return tuple(each.block for each in self.visible_attachments)

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


class StoredDraft(Draft, frozen=True):
    """The draft of a run with the stashed ones, as written to its file."""

    stash: tuple[Draft, ...] = ()

    @property
    def draft(self) -> Draft:
        """The draft without the stash."""
        return Draft(self.text, self.pastes, self.attachments)


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
    return Draft(format_chip(len(pastes), pastes[-1]), pastes, draft.attachments)


def format_attachment_chip(number: int, block: MediaBlock, name: str, size: int) -> str:
    """Return the chip of an attachment of `size` bytes."""
    shown = name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 8]}…{name[-7:]}"
    pixels = block.pixels if isinstance(block, ImageBlock) else None
    parts = (shown, pixels and f"{pixels[0]}x{pixels[1]}", format_size(size))
    return f"[{_KINDS[type(block)]} #{number}: {', '.join(filter(None, parts))}]"


def may_mention_files(text: str) -> bool:
    """Whether a text can contain `@file` or the path of an image; most texts do not."""
    return "@" in text or "/" in text


def trailing_chip_length(draft: Draft, text: str) -> int:
    """Return the length of the chip of `draft` at the end of `text`, or 0 without one."""
    for each in draft.attachments:
        if text.endswith(each.chip):
            return len(each.chip)
    found = _LAST_CHIP.search(text)
    return len(found[0]) if found else 0
