"""The text that some answers to an approval prompt need, such as a note."""

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from yourtool.text import storable
from yourtool.tui.active_keys import get_keys
from yourtool.tui.drafts import normalize_newlines

_NEWLINE = "prompt.newline"


class ApprovalField(TextArea):
    """A text of a few lines; Enter submits it."""

    DEFAULT_CSS = """
    ApprovalField {
        display: none;
        border: none;
        padding: 0;
        height: auto;
        max-height: 5;
        background: $background;
        &:focus { border: none; background: $background; }
    }
    """

    class Submitted(Message):
        """Posted when Enter was pressed."""

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False

    def open(self, text: str, placeholder: str) -> None:
        """Show the field with a text, which is selected so that the next key replaces it."""
        self.placeholder = placeholder
        self.load_text(text)
        self.select_all()
        self.display = True
        self.screen.set_focus(self)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows; the terminal's cursor, where input methods draw, goes to the caret."""
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset
        return super().render_lines(crop)

    async def on_event(self, event: events.Event) -> None:
        """Submit or start a line before Textual inserts a line break."""
        if isinstance(event, events.Key) and event.key == "enter":
            self.post_message(self.Submitted())
        elif isinstance(event, events.Key) and event.key in get_keys(_NEWLINE):
            self.insert("\n")
        elif isinstance(event, events.Paste):
            self.insert(storable(normalize_newlines(event.text)))
        elif not isinstance(event, events.Key) or event.key != "tab":
            await super().on_event(event)
