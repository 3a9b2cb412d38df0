"""Attachments of the next prompt, and their notice."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yourtool.foundation.amounts import format_size
from yourtool.foundation.text import printable
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    TextBlock,
    parse_file_block,
)

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.input.attachments import Attachment


class PendingAttachments:
    """Attachments for the next prompt; `on_change` receives their notice, None without any."""

    def __init__(self, on_change: Callable[[str | None], None]) -> None:
        self._on_change = on_change
        self._pending: tuple[Attachment, ...] = ()
        self._sent: tuple[Attachment, ...] = ()

    @property
    def pending(self) -> "tuple[Attachment, ...]":
        """The attachments of the next prompt."""
        return self._pending

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attachments."""
        return tuple(each.name for each in self._pending)

    def add(self, attachment: "Attachment") -> None:
        """Attach something to the next prompt."""
        self._update((*self._pending, attachment))

    def clear(self) -> None:
        """Remove all attachments."""
        self._update(())

    def build_content(
        self, text: str, media: tuple[MediaBlock, ...] = ()
    ) -> str | tuple[ContentBlock, ...]:
        """Return the content of a prompt with its media and the attachments, and remove these."""
        self._sent = self._pending
        self._update(())
        blocks = (*media, *(each.block for each in self._sent))
        return (TextBlock(text), *blocks) if blocks else text

    def restore(self) -> None:
        """Restore the attachments of the last prompt, which could not be sent."""
        self._update((*self._sent, *self._pending))
        self._sent = ()

    def _update(self, waiting: "tuple[Attachment, ...]") -> None:
        self._pending = waiting
        names = ", ".join(self.names)
        self._on_change(
            f"Attached to the next prompt: {names} · `/attach -` removes it" if names else None
        )


def describe_attachments(content: Sequence[ContentBlock]) -> str:
    """Return what a prompt has besides its text, such as `2 images, tally.py (1.2 KiB)`."""
    kinds = ((ImageBlock, "image"), (AudioBlock, "audio file"), (DocumentBlock, "document"))
    found = Counter(word for block in content for kind, word in kinds if isinstance(block, kind))
    counts = [f"{n} {kind}" if n == 1 else f"{n} {kind}s" for kind, n in found.items()]
    files = [
        f"{printable(file[0])} ({format_size(file[1])})"
        for block in content[1:]
        if isinstance(block, TextBlock) and (file := parse_file_block(block)) is not None
    ]
    return ", ".join((*counts, *files))
