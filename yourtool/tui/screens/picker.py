"""List with a filter.

The user types to filter, and chooses with the arrows and Enter.
"""

from collections.abc import Awaitable, Callable, Sequence

from textual import events, getters, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from yourtool.agent.commands.base import Choice, ChoiceAction, Previewer
from yourtool.foundation.text import printable
from yourtool.tui.input.choice_filter import ChoiceFilter
from yourtool.tui.keys.active_keys import bindings, build_hint, join_hints, shorten_hints
from yourtool.tui.lines.choice_rows import Row, RowFormat, group_choices
from yourtool.tui.screens.dialog import Chooser
from yourtool.tui.textual_internals.app import bind_key
from yourtool.tui.widgets.choice_preview import ChoicePreview

REFRESH_SECONDS = 1.0
_MAX_ROWS = 200
"""Rows of the list; the filter searches all choices."""
_WIDEST, _FRAME = 100, 6
"""The widest window, and the cells of its frame next to the keys."""
_ROWS = 3
"""Height of the border and the filter."""
_ABOUT_ROWS = 2
"""Height of the text about the highlighted row."""
_TALL = 16
"""Height from which on a screen has space for headings and margins."""
_ROOMY = 100
"""Width from which on a preview is at the side of the list."""
_PREVIEW_ROWS = 7
"""Height of a preview below the list."""
_MIN_SIDE_ROWS = 12
"""Height of a preview at the side of a short list."""


class Picker(Chooser):
    """Returns the `value` of the choice, or None."""

    DEFAULT_CSS = """
    Picker {
        #filter { border: none; height: 1; padding: 0; background: $background; }
        #nothing { display: none; color: $text-muted; }
        #about { height: 2; margin-top: 1; color: $text-muted; }
        &.-short #about { margin-top: 0; }
        #columns { padding: 0 1; }
        &.-short #columns { display: none; }
        &.-narrow {
            #window { padding: 0; }
            #filter, #about, #nothing { padding: 0 1; }
        }
        OptionList {
            height: auto;
            scrollbar-gutter: stable;
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
        #body { height: auto; }
        ChoicePreview { padding: 0 1; border-top: solid $panel; }
        &.-short ChoicePreview { display: none; }
        &.-roomy {
            &.-has-preview #window { max-width: 180; }
            &.-has-preview #body { layout: horizontal; }
            &.-has-preview OptionList { width: 3fr; }
            ChoicePreview { width: 2fr; border: none; border-left: solid $panel; }
        }
        &.-preview {
            OptionList { display: none; }
            ChoicePreview { display: block; border: none; }
        }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012 - Textual's form
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as above
        (0, "-narrow"),
        (60, "-wide"),
        (_ROOMY, "-roomy"),
    ]
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
        columns: Sequence[str] = (),
        actions: Sequence[ChoiceAction] = (),
    ) -> None:
        """`current` is the value of the row that is highlighted first."""
        super().__init__()
        self.chosen_action: ChoiceAction | None = None
        """The action whose key closed the list; None: the row was chosen."""
        self._actions = actions
        for index, action in enumerate(actions):
            bind_key(self, action.key, f"run_action({index})")
        self._title = title
        self._current = current
        self._columns = columns
        self._choices, self._count = ChoiceFilter(choices), len(choices)
        self._format = RowFormat(choices, columns)
        self.follow: Callable[[str], object] | None = None
        """Called with the value of each row that is highlighted."""
        self.rows = list[Row]()
        """What the list shows."""
        self._hint = hint
        self._preview: ChoicePreview | None = None

    def add_preview(self, read: Previewer) -> None:
        """Show a preview of the highlighted row; call before the list is shown."""
        self._preview = ChoicePreview(read)
        self.add_class("-has-preview")

    def keep_fresh(self, read: Callable[[], Awaitable[Sequence[Choice] | None]]) -> None:
        """Show what `read` returns, each second; call before the list is shown."""

        async def refresh() -> None:
            if (choices := await read()) is not None:
                self.set_choices(choices)

        self.call_later(self.set_interval, REFRESH_SECONDS, refresh)

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Replace the choices; the highlighted one stays highlighted."""
        self._choices, self._count = ChoiceFilter(choices), len(choices)
        self._format = RowFormat(choices, self._columns)
        if self.is_attached:
            self._redraw_options()

    def compose(self) -> ComposeResult:
        """Lay out the filter above the list."""
        with Vertical(id="window"):
            entry = Input(placeholder="type to filter", id="filter")
            entry.cursor_blink = False
            yield entry
            if self._columns:
                yield Static(id="columns", markup=False)
            with Container(id="body"):
                yield OptionList(markup=False)
                if self._preview is not None:
                    yield self._preview
            yield Label("no matches", id="nothing")
            if self._columns:
                yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        """Show all choices and focus the filter."""
        window = self.query_one("#window")
        window.border_title = Content(printable(self._title))
        self.filter.focus()
        self._refresh_options()  # before the width is known, for keys that are typed already

    def _show_keys(self, width: int) -> None:
        labels = [action.label for action in self._actions]
        preview = build_hint("list.preview", "preview") if self._preview is not None else ""
        default = join_hints("Enter selects", build_hint("list.close", "closes"))
        keys = join_hints(preview, *labels, self._hint)
        shown = shorten_hints(keys or default, min(width, _WIDEST) - _FRAME)
        self.query_one("#window").border_subtitle = Content(shown)

    def on_resize(self, event: events.Resize) -> None:
        """Truncate the rows to the new width, and let the list fill the height."""
        self._fit_height(event.size)
        self._show_keys(event.size.width)
        self.call_after_refresh(self._redraw_options)

    def _fit_height(self, screen: Size) -> None:
        is_short, is_roomy = screen.height < _TALL, screen.width >= _ROOMY
        rows = screen.height * 9 // 10 - _ROWS
        if self._columns:
            rows -= _ABOUT_ROWS if is_short else _ABOUT_ROWS + 2
        is_below = self._preview is not None and not (is_short or is_roomy)
        self.options.styles.max_height = max(3, rows - _PREVIEW_ROWS if is_below else rows)
        if self._preview is not None:
            side_rows = max(_MIN_SIDE_ROWS, 2 * self._count)
            height = _PREVIEW_ROWS if is_below else min(rows, side_rows) if is_roomy else rows
            is_alone = self.has_class("-preview")
            self._preview.styles.height = max(3, rows if is_alone else height)

    @on(Input.Changed)
    def apply_filter(self) -> None:
        """Show the choices that match the filter."""
        self._refresh_options()

    @on(Input.Submitted)
    def choose_highlighted(self) -> None:
        """Return the highlighted choice."""
        if (choice := self.highlighted) is not None and not self.is_unexpected:
            self.dismiss(choice.value)

    @on(OptionList.OptionSelected)
    def choose_clicked(self, selected: OptionList.OptionSelected) -> None:
        """Return the clicked choice."""
        shown = list(self.options.options)
        if selected.option in shown:  # else the filter has changed since
            row = self.rows[shown.index(selected.option)]
            if isinstance(row, Choice):
                self.dismiss(row.value)

    @on(OptionList.OptionHighlighted)
    def show_about(self) -> None:
        """Show the preview of the highlighted row, and the text about it in a list with columns."""
        if self._preview is not None:
            self._preview.show(self.highlighted.value if self.highlighted is not None else "")
        if self.follow is not None and self.highlighted is not None:
            self.follow(self.highlighted.value)
        if self._columns:
            choice = self.highlighted
            self.query_one("#about", Static).update(
                Content(printable(choice.detail) if choice is not None else "")
            )

    def highlight_value(self, value: str) -> None:
        """Highlight the row of a value, if it is shown."""
        for at, row in enumerate(self.rows):
            if isinstance(row, Choice) and row.value == value:
                self._highlight(at)

    def action_run_action(self, index: int) -> None:
        """Return the highlighted choice for a key other than Enter."""
        choice = self.highlighted
        self.chosen_action = self._actions[index]
        self.dismiss("" if choice is None else choice.value)

    def action_toggle_preview(self) -> None:
        """Show only the preview instead of the list, or both again."""
        if self._preview is None:
            raise SkipAction
        self.toggle_class("-preview")
        self._fit_height(self.app.size)

    def action_move(self, step: int) -> None:
        """Move the highlight over the choices."""
        places = [at for at, row in enumerate(self.rows) if isinstance(row, Choice)]
        if not places:
            return
        now = self.options.highlighted
        place = places.index(now) if now in places else -1
        self._highlight(places[max(0, min(place + step, len(places) - 1))])

    @property
    def highlighted(self) -> Choice | None:
        """The highlighted choice."""
        at = self.options.highlighted
        row = None if at is None else self.rows[at]
        return row if isinstance(row, Choice) else None

    def _highlight(self, at: int) -> None:
        """Highlight a row; with the first choice, its heading is visible too."""
        self.options.highlighted = at
        if not any(isinstance(row, Choice) for row in self.rows[:at]):
            self.options.scroll_home(animate=False)

    def _redraw_options(self) -> None:
        """Show the choices again; the highlighted one stays highlighted."""
        choice = self.highlighted
        self._refresh_options(selected=None if choice is None else choice.value)

    def _refresh_options(self, selected: str | None = None) -> None:
        """Show the matching choices; highlight the one with the value `selected`."""
        query = self.filter.value.strip()
        found = self._choices.find(query)
        first = selected if selected is not None or query else self._current
        start = _find_start(found, first or "")
        self.rows = group_choices(found[start : start + _MAX_ROWS])
        if start:
            self.rows.insert(0, f"… {start:,} before; type to filter")
        if (more := len(found) - start - _MAX_ROWS) > 0:
            self.rows.append(f"… {more:,} more; type to filter")
        width = max(10, self.options.scrollable_content_region.width - 2)
        self.options.clear_options()
        self.options.add_options(
            Option(self._format.row(row, width), disabled=isinstance(row, str)) for row in self.rows
        )
        if self._columns:
            self.query_one("#columns", Static).update(self._format.heading(width))
        self.set_class(not self.rows, "-empty")
        places = {row.value: at for at, row in enumerate(self.rows) if isinstance(row, Choice)}
        if places:
            self._highlight(places.get(first or "", min(places.values())))
        self.show_about()


def _find_start(found: Sequence[Choice], value: str) -> int:
    """Return the index of the first row that a list shows, so that it shows the one of a value."""
    if len(found) <= _MAX_ROWS:
        return 0
    at = next((at for at, each in enumerate(found) if each.value == value), 0)
    return max(0, min(at - _MAX_ROWS // 2, len(found) - _MAX_ROWS))
