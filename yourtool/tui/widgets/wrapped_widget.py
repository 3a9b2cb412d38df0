"""Base class of width-dependent widgets."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class WrappedWidget(Widget):
    """A widget that draws `rows`; call `refresh_rows` when they change."""

    DEFAULT_CSS = """
    WrappedWidget { height: auto; }
    """

    def rows(self, width: int) -> list[Content]:
        """Return the rows, each at most `width` cells wide."""
        raise NotImplementedError

    def refresh_rows(self) -> None:
        """Redraw, and update the height to the number of rows."""
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return max(1, len(self.rows(width)))

    def render(self) -> Content:
        """Draw the rows."""
        return Content("\n").join(self.rows(max(1, self.content_size.width)))
