"""The list above the prompt: what can be put in place of the word at the cursor."""

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import var

from yourtool.text import printable
from yourtool.tui.completer import Candidate, Suggestions
from yourtool.tui.widgets.block import WrappedWidget

ROWS = 8


class Completion(WrappedWidget):
    """Hidden when it has nothing to offer; never takes the focus."""

    DEFAULT_CSS = """
    Completion {
        display: none;
        max-height: 8;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        &.-open { display: block; }
        .completion--chosen { background: $primary; color: $background; text-style: bold; }
        &:ansi .completion--chosen {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }
        .completion--about { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"completion--chosen", "completion--about"}  # noqa: RUF012 - Textual's form

    at: var[int] = var(0)

    def __init__(self) -> None:
        super().__init__()
        self.offers: Suggestions | None = None

    def rows(self, width: int) -> list[Content]:
        """Draw the rows around the chosen one."""
        if self.offers is None:
            return []
        candidates = self.offers.candidates
        first = max(0, min(self.at - ROWS // 2, len(candidates) - ROWS))
        shown = candidates[first : first + ROWS]
        label_width = min(
            max(cell_len(printable(each.label)) for each in shown), max(width * 2 // 3, 12)
        )
        return [
            self._row(each, label_width, width, chosen=first + row == self.at)
            for row, each in enumerate(shown)
        ]

    def watch_at(self) -> None:
        """Redraw with another row chosen."""
        self.changed()

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that Enter would take; None while the list is closed."""
        return self.offers.candidates[self.at] if self.offers else None

    def open(self, offers: Suggestions | None) -> None:
        """Show offers; None closes the list."""
        if offers is None and self.offers is None:
            return  # as at nearly every key, which would lay the whole screen out again
        self.offers = offers
        self.set_class(offers is not None, "-open")
        self.at = 0
        self.changed()

    def move(self, step: int) -> None:
        """Choose another row; the list is a ring."""
        if self.offers:
            self.at = (self.at + step) % len(self.offers.candidates)

    def _row(self, candidate: Candidate, label_width: int, width: int, *, chosen: bool) -> Content:
        label = Content(printable(candidate.label)).truncate(label_width, ellipsis=True, pad=True)
        about = Content(printable(candidate.description)).stylize(
            "" if chosen else self.get_visual_style("completion--about")
        )
        row = Content.assemble(label, "  ", about).truncate(width, ellipsis=True, pad=True)
        return row.stylize(self.get_visual_style("completion--chosen")) if chosen else row
