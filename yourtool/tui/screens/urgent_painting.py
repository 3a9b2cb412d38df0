"""Screen with immediate painting of typed text.

Otherwise a key would be visible up to 17 ms later.
"""

from functools import partial
from typing import TypeAlias

from textual import events, on
from textual.screen import Screen
from textual.widget import Widget

from yourtool.tui.terminal.slow_terminal_app import is_covered
from yourtool.tui.textual_internals.painting import (
    PartialCompositor,
    paint_at_once,
    use_compositor,
)
from yourtool.tui.transcript import search_bar
from yourtool.tui.widgets.prompt import Prompt

TypingField: TypeAlias = "Prompt | search_bar.QueryInput"
"""A field that handles keys completely, one after the other."""


class UrgentScreen(Screen[None]):
    """Paints one widget as soon as it reports its change, with all other changes until then."""

    _urgent: Widget | None = None
    _was_shown = False

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        use_compositor(self, PartialCompositor(partial(is_covered, self)))

    @property
    def typing_field(self) -> "TypingField | None":
        """The focused field, if a field has the focus."""
        field = self.focused
        if isinstance(field, Prompt):
            return field
        return field if field and isinstance(field, search_bar.QueryInput) else None

    @on(events.ScreenResume)
    def keep_styles(self, event: events.ScreenResume) -> None:
        """Do not compute all styles a second time when the screen is first shown."""
        event.refresh_styles, self._was_shown = self._was_shown, True

    def type_into(self, field: "TypingField", event: events.Key | events.Paste) -> None:
        """Insert text into a field, which gets the focus and is painted at once."""
        if field.insert_typed(event):
            self.set_focus(field)
            self._urgent = field

    def on_idle(self) -> None:
        """Paint the widget once it has reported its change."""
        if self._urgent is not None and self.is_current and paint_at_once(self, self._urgent):
            self._urgent = None
