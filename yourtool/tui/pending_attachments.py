"""What goes with the next prompt, and the line that says so."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from yourtool.messages import AudioBlock, ContentBlock, DocumentBlock, ImageBlock, TextBlock

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.attachments import Attachment


class Attached:
    """Collected until a prompt is sent; `tell` is told what to say of it, None if nothing is."""

    def __init__(self, tell: Callable[[str | None], None]) -> None:
        self._tell = tell
        self._waiting: tuple[Attachment, ...] = ()
        self._sent: tuple[Attachment, ...] = ()

    @property
    def waiting(self) -> "tuple[Attachment, ...]":
        """What goes with the next prompt."""
        return self._waiting

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called."""
        return tuple(each.name for each in self._waiting)

    def add(self, attachment: "Attachment") -> None:
        """Let something go with the next prompt."""
        self._change((*self._waiting, attachment))

    def clear(self) -> None:
        """Let nothing go with it."""
        self._change(())

    def take(self, text: str) -> str | tuple[ContentBlock, ...]:
        """Return what a prompt says together with what waits, which waits no longer."""
        self._sent = self._waiting
        self._change(())
        return (TextBlock(text), *(each.block for each in self._sent)) if self._sent else text

    def put_back(self) -> None:
        """Let wait again what went with the last prompt, for that was not sent after all."""
        self._change((*self._sent, *self._waiting))
        self._sent = ()

    def _change(self, waiting: "tuple[Attachment, ...]") -> None:
        self._waiting = waiting
        names = ", ".join(self.names)
        self._tell(
            f"Goes with the next prompt: {names} · `/attach -` leaves it out" if names else None
        )


def counted(content: Iterable[ContentBlock]) -> str:
    """Say what a message holds beside words, such as `2 images, 1 document`."""
    kinds = ((ImageBlock, "image"), (AudioBlock, "recording"), (DocumentBlock, "document"))
    found = Counter(word for block in content for kind, word in kinds if isinstance(block, kind))
    return ", ".join(f"{n} {kind}" if n == 1 else f"{n} {kind}s" for kind, n in found.items())
