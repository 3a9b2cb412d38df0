"""A screen that paints what the user types without waiting for the next frame.

Textual paints at the ticks of a timer, sixty a second, so a key would be visible up to 17 ms later.
"""

from typing import TypeAlias

from textual import events, on
from textual.screen import Screen
from textual.widget import Widget

from yourtool.tui.screens.partial_painting import PartialCompositor
from yourtool.tui.slow_terminal_app import is_covered
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
        self._compositor = PartialCompositor()

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

    def _compositor_refresh(self) -> None:
        if is_covered(self):
            self._dirty_widgets.clear()  # all is painted afterwards
        else:
            super()._compositor_refresh()

    def type_into(self, field: "TypingField", event: events.Key | events.Paste) -> None:
        """Insert text into a field, which gets the focus and is painted at once."""
        if field.insert_typed(event):
            self.set_focus(field)
            self._urgent = field

    async def _on_idle(self, event: events.Idle) -> None:
        await super()._on_idle(event)
        if self._urgent in self._dirty_widgets and self.is_current:
            self._urgent = None
            self._on_timer_update()
