"""Preview of the highlighted row of a list."""

from collections.abc import Sequence

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from yourtool.agent.commands.base import Previewer
from yourtool.errors import YourtoolError
from yourtool.foundation.text import printable


class ChoicePreview(VerticalScroll, can_focus=False):
    """Shows the last texts of a conversation; reads one preview at a time, the latest wanted."""

    DEFAULT_CSS = """
    ChoicePreview { color: $foreground 85%; scrollbar-gutter: stable; }
    """

    def __init__(self, read: Previewer) -> None:
        super().__init__()
        self._texts = Static(markup=False)
        self._read = read
        self._wanted = self._shown = ""
        self._is_reading = False

    def compose(self) -> ComposeResult:
        """Lay out the texts."""
        yield self._texts

    def show(self, value: str) -> None:
        """Show the preview of a value as soon as it is read; nothing for an empty one."""
        self._wanted = value
        if not self._is_reading and value != self._shown:
            self._is_reading = True
            self._read_wanted()

    @work(exclusive=False)
    async def _read_wanted(self) -> None:
        try:
            while (value := self._wanted) != self._shown:
                texts = await self._preview_of(value)
                self._shown = value
                if value == self._wanted:
                    self._texts.update(_format_texts(texts))
                    self.call_after_refresh(self.scroll_end, animate=False)
        finally:
            self._is_reading = False

    async def _preview_of(self, value: str) -> Sequence[tuple[str, str]]:
        try:
            return await self._read(value) if value else ()
        except YourtoolError as error:
            return (("error", str(error)),)


def _format_texts(texts: Sequence[tuple[str, str]]) -> Content:
    paragraphs = [
        Content.assemble((f"{speaker}: ", "bold"), printable(text)) for speaker, text in texts
    ]
    return Content("\n").join(paragraphs)
