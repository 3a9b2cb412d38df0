"""Private names of painting.

They concern the rows of widgets, the next frame, scroll bars and styles.
"""

from collections.abc import Callable, Iterable
from typing import Any

from rich.console import RenderableType
from textual._compositor import Compositor
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea


class PartialCompositor(Compositor):
    """A compositor that asks widgets only for the rows that it paints.

    Textual asks each widget next to a change for all its rows, so that a key in the prompt also
    renders the screen, its containers and the transcript.
    """

    def __init__(self, is_hidden: Callable[[], bool]) -> None:
        """`is_hidden` returns whether nothing is rendered; all has to be painted afterwards."""
        super().__init__()
        self._is_hidden = is_hidden

    def render_update(self, *arguments: Any, **options: Any) -> RenderableType | None:
        """Return the next update of the terminal, if there is one."""
        return None if self._is_hidden() else super().render_update(*arguments, **options)

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders(crop)
            return
        for widget, (region, clip) in self.visible_widgets.items():
            rows = Region(region.x, crop.y, region.width, crop.height).intersection(region)
            if shown := rows.intersection(clip):
                yield rows, clip, widget.render_lines(shown.translate(-region.offset))


def use_compositor(screen: Screen[Any], compositor: Compositor) -> None:
    """Replace the compositor of a screen that has no widgets yet."""
    screen._compositor = compositor  # pyright: ignore[reportPrivateUsage]


def render_screen(screen: Screen[Any]) -> list[Strip]:
    """Return the rows of a screen as they are painted now."""
    return [Strip(row) for row in screen._compositor.render_strips()]  # pyright: ignore[reportPrivateUsage]


def paint_at_once(screen: Screen[Any], widget: Widget) -> bool:
    """Paint all changes if those of a widget are known, without waiting for the next frame.

    Textual paints at the ticks of a timer, sixty a second.
    """
    is_changed = widget in screen._dirty_widgets  # pyright: ignore[reportPrivateUsage]
    if is_changed:
        screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]
    return is_changed


def resize_content(widget: Widget, size: Size) -> None:
    """Set the scrollable size of a widget and of its scroll bars.

    The reactive `virtual_size` would lay out the entire screen.
    """
    widget.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
    widget._scroll_update(size)  # pyright: ignore[reportPrivateUsage]


def get_styles(area: TextArea) -> object:
    """Return what a text area paints with; another object if its theme has changed."""
    return area._theme  # pyright: ignore[reportPrivateUsage]
