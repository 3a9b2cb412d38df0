"""The line below the transcript in which its search is typed."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

MAX_QUERY = 500
"""Characters of a query; each one makes the search slower."""


class SearchBar(Horizontal):
    """Calls `search` with each change of the query, and `leave` with Enter."""

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        padding: 0 1;
        Static { width: auto; color: $text-muted; }
        Input {
            width: 1fr;
            height: 1;
            border: none;
            padding: 0;
            background: $background;
            &:focus { border: none; }
        }
    }
    """

    def __init__(self, search: Callable[[str], object], leave: Callable[[], object]) -> None:
        super().__init__()
        self._search = search
        self._leave = leave
        self.entry = Input(max_length=MAX_QUERY)
        self.entry.cursor_blink = False
        self._summary = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the query and the number of matches."""
        yield Static("/", markup=False)
        yield self.entry
        yield self._summary

    def on_mount(self) -> None:
        """Accept keys."""
        self.show("")
        self.entry.focus()

    def show(self, summary: str) -> None:
        """Show the number of matches and the keys."""
        keys = "n next · N previous · Esc ends" if self.app.size.width >= 80 else "n/N · Esc ends"
        self._summary.update(f"{summary} · {keys}" if summary else "Esc ends")

    def on_input_changed(self, changed: Input.Changed) -> None:
        """Search as the query is typed."""
        changed.stop()
        self._search(changed.value)

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """Return the focus to the transcript, whose keys go from match to match."""
        submitted.stop()
        self._leave()
