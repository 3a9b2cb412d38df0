"""A list to choose from: type to filter, arrows and Enter to choose."""

from collections.abc import Sequence

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from yourtool.agent.commands.base import Choice, ChoiceAction
from yourtool.text import printable
from yourtool.tui.completer import fuzzy_matches
from yourtool.tui.keys import bindings
from yourtool.tui.screens.dialog import Dialog

_FILTERED_CHARACTERS = 1_000
"""Length of a text that the filter searches; prompts can be very long."""


_MAX_ROWS = 200
"""Rows of the list; the filter searches all choices."""


class Picker(Dialog[str | None]):
    """Returns the `value` of the choice, or None."""

    DEFAULT_CSS = """
    Picker {
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
    BINDINGS = bindings("list")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    filter = getters.query_one("#filter", Input)
    options = getters.query_one(OptionList)

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        hint: str = "",
        *,
        current: str = "",
        actions: Sequence[ChoiceAction] = (),
    ) -> None:
        """`current` is the value of the row that is highlighted first."""
        super().__init__()
        self.chosen_action: ChoiceAction | None = None
        """The action whose key closed the list; None: the row was chosen."""
        self._actions = actions
        for index, action in enumerate(actions):
            self._bindings.bind(action.key, f"run_action({index})", priority=True)
        self._title = title
        self._current = current
        self._choices = _choices_by_text(choices)
        self._visible_choices: list[Choice] = []
        self._hint = hint

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Replace the choices; the highlighted one stays highlighted."""
        self._choices = _choices_by_text(choices)
        if self.is_attached:
            self._redraw_options()

    def compose(self) -> ComposeResult:
        """Lay out the filter above the list."""
        with Vertical(id="window"):
            entry = Input(placeholder="type to filter", id="filter")
            entry.cursor_blink = False
            yield entry
            yield OptionList(markup=False)
            yield Label("no matches", id="nothing")

    def on_mount(self) -> None:
        """Show all choices and focus the filter."""
        window = self.query_one("#window")
        window.border_title = Content(printable(self._title))
        keys = " · ".join(action.label for action in self._actions)
        window.border_subtitle = Content(
            " · ".join(filter(None, (keys, self._hint))) or "Enter selects · Esc closes"
        )
        self.filter.focus()
        self._refresh_options()  # before the width is known, for keys that are typed already

    def on_resize(self, _event: events.Resize) -> None:
        """Truncate the rows to the new width."""
        self.call_after_refresh(self._redraw_options)

    @on(Input.Changed)
    def apply_filter(self) -> None:
        """Show the choices that match the filter."""
        self._refresh_options()

    @on(Input.Submitted)
    def choose_highlighted(self) -> None:
        """Return the highlighted choice."""
        if (at := self.options.highlighted) is not None and self._visible_choices[at].enabled:
            self.dismiss(self._visible_choices[at].value)

    @on(OptionList.OptionSelected)
    def choose_clicked(self, selected: OptionList.OptionSelected) -> None:
        """Return the clicked choice."""
        shown = list(self.options.options)
        if selected.option in shown:  # else the filter has changed since
            self.dismiss(self._visible_choices[shown.index(selected.option)].value)

    def action_run_action(self, index: int) -> None:
        """Return the highlighted choice for a key other than Enter."""
        at = self.options.highlighted
        self.chosen_action = self._actions[index]
        self.dismiss("" if at is None else self._visible_choices[at].value)

    def action_move(self, step: int) -> None:
        """Move the highlight over the enabled rows."""
        enabled = [at for at, choice in enumerate(self._visible_choices) if choice.enabled]
        if not enabled:
            return
        now = self.options.highlighted
        place = enabled.index(now) if now in enabled else -1
        self.options.highlighted = enabled[max(0, min(place + step, len(enabled) - 1))]

    def _redraw_options(self) -> None:
        """Show the choices again; the highlighted one stays highlighted."""
        at = self.options.highlighted
        self._refresh_options(selected=None if at is None else self._visible_choices[at].value)

    def _refresh_options(self, selected: str | None = None) -> None:
        """Show the matching choices; highlight the one with the value `selected`."""
        query = self.filter.value.strip()
        found = sorted(self._matching(query), key=lambda choice: not choice.enabled)
        self._visible_choices = found[:_MAX_ROWS]
        if len(found) > _MAX_ROWS:
            more = f"… {len(found) - _MAX_ROWS:,} more; type to filter"
            self._visible_choices.append(Choice("", more, enabled=False))
        width = max(10, self.options.scrollable_content_region.width - 3)
        self.options.clear_options()
        self.options.add_options(
            Option(_format_choice(choice, width), disabled=not choice.enabled)
            for choice in self._visible_choices
        )
        self.set_class(not self._visible_choices, "-empty")
        if self._visible_choices and self._visible_choices[0].enabled:
            values = [choice.value for choice in self._visible_choices if choice.enabled]
            first = selected if selected is not None or query else self._current
            self.options.highlighted = values.index(first) if first in values else 0

    def _matching(self, query: str) -> list[Choice]:
        """Return the choices that match the query, matches in the title first."""
        if not query:
            return list(self._choices.values())
        titles = {each.title[:_FILTERED_CHARACTERS]: each for each in self._choices.values()}
        found = [titles[title] for title in fuzzy_matches(query, titles, len(titles))]
        others = fuzzy_matches(query, self._choices, len(self._choices))
        seen = {each.value for each in found}
        return [*found, *(self._choices[o] for o in others if self._choices[o].value not in seen)]


def _format_choice(choice: Choice, width: int) -> Content:
    title = Content(_shorten(choice.title, width)).truncate(width, ellipsis=True)
    if not choice.detail:
        return title
    about = Content.styled(_shorten(choice.detail, width), "dim").truncate(width, ellipsis=True)
    return Content.assemble(title, "\n  ", about)


def _shorten(text: str, width: int) -> str:
    """Return the start of a text, long enough to fill `width` columns."""
    return printable(text[: 2 * width])


def _choices_by_text(choices: Sequence[Choice]) -> dict[str, Choice]:
    """Return choices by their searchable text, which is made unique with a number."""
    found: dict[str, Choice] = {}
    for number, choice in enumerate(choices):
        title, detail = choice.title[:_FILTERED_CHARACTERS], choice.detail[:_FILTERED_CHARACTERS]
        text = " ".join(f"{title} {detail}".split())
        found[f"{text} {number}" if text in found else text] = choice
    return found
