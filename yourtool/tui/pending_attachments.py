"""The attachments of the next prompt and their notice."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    TextBlock,
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


def count_attachments(content: Iterable[ContentBlock]) -> str:
    """Return the number of attachments in a message, such as `2 images, 1 document`."""
    kinds = ((ImageBlock, "image"), (AudioBlock, "audio file"), (DocumentBlock, "document"))
    found = Counter(word for block in content for kind, word in kinds if isinstance(block, kind))
    return ", ".join(f"{n} {kind}" if n == 1 else f"{n} {kind}s" for kind, n in found.items())
