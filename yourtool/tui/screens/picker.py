"""Choose one of many: type to filter, arrows and Enter to choose."""

from collections.abc import Sequence

from msgspec import Struct
from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from yourtool.text import printable
from yourtool.tui.completer import best

_SEARCHED = 1_000
"""Characters of a title that the filter looks at; a prompt has any number of them."""


class Choice(Struct, frozen=True):
    """A row of two lines; what is disabled says why in the second."""

    value: str
    title: str
    about: str = ""
    enabled: bool = True


class Picker(ModalScreen[str | None]):
    """Gives the `value` of the choice, or None."""

    DEFAULT_CSS = """
    Picker {
        align: center middle;
        #window {
            width: 90%;
            max-width: 100;
            height: auto;
            max-height: 90%;
            border: round $primary;
            border-title-color: $text-primary;
            border-subtitle-color: $text-muted;
            background: $background;
            padding: 0 1;
        }
        #filter { border: none; height: 1; padding: 0; background: $background; }
        #nothing { display: none; color: $text-muted; }
        OptionList {
            height: auto;
            max-height: 75vh;
            border: none;
            padding: 0;
            background: $background;
            &:focus { border: none; }
            & > .option-list--option-disabled { color: $foreground 75%; }
            & > .option-list--option-highlighted { text-style: bold; }
            &:ansi > .option-list--option-highlighted {
                color: $block-cursor-foreground;
                background: $block-cursor-background;
            }
            &:nocolor > .option-list--option-highlighted {
                color: $background;
                background: $foreground;
            }
        }
        &.-empty #nothing { display: block; }
    }
    """
    BINDINGS = [  # noqa: RUF012 - Textual's form
        ("escape,ctrl+c", "dismiss(None)", "close"),
        ("up", "move(-1)", "up"),
        ("down", "move(1)", "down"),
        ("pageup", "move(-8)", "page up"),
        ("pagedown", "move(8)", "page down"),
    ]

    filter = getters.query_one("#filter", Input)
    options = getters.query_one(OptionList)

    def __init__(
        self, title: str, choices: Sequence[Choice], hint: str = "", *, current: str = ""
    ) -> None:
        """`current` is the value that the cursor stands on at first."""
        super().__init__()
        self._title = title
        self._current = current
        self._choices = _by_text(choices)
        self._shown: list[Choice] = []
        self._hint = hint

    def offer(self, choices: Sequence[Choice]) -> None:
        """Show other choices; the cursor stays on its own."""
        self._choices = _by_text(choices)
        if self.is_attached:
            at = self.options.highlighted
            self._fill(keep=None if at is None else self._shown[at].value)

    def compose(self) -> ComposeResult:
        """Lay out the filter above the list."""
        with Vertical(id="window"):
            entry = Input(placeholder="type to filter", id="filter")
            entry.cursor_blink = False
            yield entry
            yield OptionList(markup=False)
            yield Label("nothing matches", id="nothing")

    def on_mount(self) -> None:
        """Show everything."""
        window = self.query_one("#window")
        window.border_title = Content(printable(self._title))
        window.border_subtitle = Content(self._hint or "Enter chooses · Esc closes")
        self.filter.focus()
        self.call_after_refresh(self._fill)

    def on_resize(self, _event: events.Resize) -> None:
        """Cut the rows for the new width."""
        self.call_after_refresh(self._fill)

    @on(Input.Changed)
    def narrow(self) -> None:
        """Show what matches."""
        self._fill()

    @on(Input.Submitted)
    def choose(self) -> None:
        """Give the highlighted choice."""
        if (at := self.options.highlighted) is not None and self._shown[at].enabled:
            self.dismiss(self._shown[at].value)

    @on(OptionList.OptionSelected)
    def clicked(self, selected: OptionList.OptionSelected) -> None:
        """Give the choice that was clicked."""
        self.dismiss(self._shown[selected.option_index].value)

    def action_move(self, step: int) -> None:
        """Move the highlight over the enabled rows."""
        enabled = [at for at, choice in enumerate(self._shown) if choice.enabled]
        if not enabled:
            return
        now = self.options.highlighted
        place = enabled.index(now) if now in enabled else -1
        self.options.highlighted = enabled[max(0, min(place + step, len(enabled) - 1))]

    def _fill(self, keep: str | None = None) -> None:
        """Show what matches; `keep` is the value that the cursor stays on."""
        query = self.filter.value.strip()
        self._shown = sorted(self._matching(query), key=lambda choice: not choice.enabled)
        width = max(10, self.options.scrollable_content_region.width - 3)
        self.options.clear_options()
        self.options.add_options(
            Option(_row(choice, width), disabled=not choice.enabled) for choice in self._shown
        )
        self.set_class(not self._shown, "-empty")
        if self._shown and self._shown[0].enabled:
            values = [choice.value for choice in self._shown if choice.enabled]
            first = keep if keep is not None or query else self._current
            self.options.highlighted = values.index(first) if first in values else 0

    def _matching(self, query: str) -> list[Choice]:
        """Return what holds the query, those that hold it in their title first."""
        if not query:
            return list(self._choices.values())
        titles = {each.title[:_SEARCHED]: each for each in self._choices.values()}
        found = [titles[title] for title in best(query, titles, len(titles))]
        others = best(query, self._choices, len(self._choices))
        seen = {each.value for each in found}
        return [*found, *(self._choices[o] for o in others if self._choices[o].value not in seen)]


def _row(choice: Choice, width: int) -> Content:
    title = Content(_beginning(choice.title, width)).truncate(width, ellipsis=True)
    if not choice.about:
        return title
    about = Content.styled(_beginning(choice.about, width), "dim").truncate(width, ellipsis=True)
    return Content.assemble(title, "\n  ", about)


def _beginning(text: str, width: int) -> str:
    """Return more of a text than fits, unless most of its characters have no width."""
    return printable(text[: 2 * width])


def _by_text(choices: Sequence[Choice]) -> dict[str, Choice]:
    """Return choices by what can be typed to find them."""
    return {
        " ".join(f"{choice.title[:_SEARCHED]} {choice.about[:_SEARCHED]}".split()): choice
        for choice in choices
    }
