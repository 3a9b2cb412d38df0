"""The list of completions above the prompt."""

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import var

from yourtool.foundation.text import printable
from yourtool.tui.input.completer import Candidate, Suggestions
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

VISIBLE_ROWS = 8


class CompletionList(WrappedWidget):
    """The completions of the word at the cursor; hidden if empty, never focused."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        max-height: 8;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        &.-open { display: block; }
        .completion--selected { background: $primary; color: $background; text-style: bold; }
        &:ansi .completion--selected {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }
        .completion--about { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"completion--selected", "completion--about"}  # noqa: RUF012 - Textual's form

    selected: var[int] = var(0)

    def __init__(self) -> None:
        super().__init__()
        self.offers: Suggestions | None = None

    def rows(self, width: int) -> list[Content]:
        """Draw the rows around the selected one."""
        if self.offers is None:
            return []
        candidates = self.offers.candidates
        first = max(0, min(self.selected - VISIBLE_ROWS // 2, len(candidates) - VISIBLE_ROWS))
        shown = candidates[first : first + VISIBLE_ROWS]
        label_width = min(
            max(cell_len(printable(each.label)) for each in shown), max(width * 2 // 3, 12)
        )
        return [
            self._row(each, label_width, width, selected=first + row == self.selected)
            for row, each in enumerate(shown)
        ]

    def watch_selected(self) -> None:
        """Redraw when another row is selected."""
        self.refresh_rows()

    @property
    def candidate(self) -> Candidate | None:
        """The selected completion; None while the list is closed."""
        return self.offers.candidates[self.selected] if self.offers else None

    def open(self, offers: Suggestions | None) -> None:
        """Show completions; None closes the list."""
        if offers is None and self.offers is None:
            return  # on nearly every key; a refresh would lay out the entire screen
        self.offers = offers
        self.set_class(offers is not None, "-open")
        self.selected = 0
        self.refresh_rows()

    def move(self, step: int) -> None:
        """Move the selection; it wraps around at both ends."""
        if self.offers:
            self.selected = (self.selected + step) % len(self.offers.candidates)

    def _row(
        self, candidate: Candidate, label_width: int, width: int, *, selected: bool
    ) -> Content:
        label = Content(printable(candidate.label)).truncate(label_width, ellipsis=True, pad=True)
        about = Content(printable(candidate.description)).stylize(
            "" if selected else self.get_visual_style("completion--about")
        )
        row = Content.assemble(label, "  ", about).truncate(width, ellipsis=True, pad=True)
        return row.stylize(self.get_visual_style("completion--selected")) if selected else row
