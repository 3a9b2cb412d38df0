"""Base class of multi-line text fields."""

from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from yourtool.tui.textual_internals.painting import get_styles


class TextField(TextArea):
    """A text area whose caret is the terminal's cursor, and which paints a key quickly."""

    _styled: object = None
    """The object that has the current styles of the widget."""

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False

    def post_message(self, message: Message) -> bool:
        """Post a message, except for moves of the cursor, which have no handler."""
        return type(message) is not TextArea.SelectionChanged and super().post_message(message)

    def notify_style_update(self) -> None:
        """Use the new styles with the next paint."""
        self._styled = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows; the terminal's cursor, where input methods draw, goes to the caret.

        Textual computes the styles for each paint, which takes a third of it.
        """
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset
        if self._styled is (styles := get_styles(self)):
            return super(TextArea, self).render_lines(crop)
        self._styled = styles
        return super().render_lines(crop)
