"""A widget whose rows depend on its width."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class WrappedWidget(Widget):
    """Override `rows`; call `changed` when they are others."""

    DEFAULT_CSS = """
    WrappedWidget { height: auto; }
    """

    def rows(self, width: int) -> list[Content]:
        """Return what is drawn, a row each, none wider than `width`."""
        raise NotImplementedError

    def changed(self) -> None:
        """Draw again, with room for as many rows as there are now."""
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return max(1, len(self.rows(width)))

    def render(self) -> Content:
        """Draw the rows."""
        return Content("\n").join(self.rows(max(1, self.content_size.width)))
