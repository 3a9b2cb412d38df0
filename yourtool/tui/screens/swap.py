"""Sheet about a swap."""

from collections.abc import Sequence

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from yourtool.agent.commands.base import Choice, SheetRow, ShowSwap
from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import bindings, build_hint, join_hints
from yourtool.tui.lines.choice_rows import RowFormat
from yourtool.tui.lines.styled_lines import wrap
from yourtool.tui.screens.dialog import Chooser
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

_STAKE, _OTHER = "! ", "  "
_MIN_TEXT = 24
"""Minimum width of a text next to its name; narrower texts go below it."""
_TALL = 20
"""Height from which on the answers are explained."""
_FRAME = 3
"""Rows of the border and of the line between the consequences and the answers."""


class Answers(OptionList, inherit_bindings=False):
    """The answers; the keys of the sheet move the highlight."""

    BINDINGS = [("enter", "select", "choose")]  # noqa: RUF012 - Textual's form


class SwapSheet(Chooser):
    """Returns the value of the answer, or None."""

    DEFAULT_CSS = """
    SwapSheet {
        #window { border: round $warning; border-title-color: $text-warning; }
        #rows { height: auto; scrollbar-size-vertical: 1; }
        OptionList {
            height: auto;
            border: none;
            border-top: solid $panel;
            padding: 0;
            background: $background;
            &:focus { border: none; border-top: solid $panel; }
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
    }
    """
    BINDINGS = bindings("list")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    options = getters.query_one(Answers)

    def __init__(self, sheet: ShowSwap) -> None:
        super().__init__()
        self._sheet = sheet

    def compose(self) -> ComposeResult:
        """Lay out the consequences above the answers."""
        with Vertical(id="window") as window:
            window.border_title = Content(printable(self._sheet.title))
            hint = join_hints("Enter selects", build_hint("list.close", "cancels"))
            window.border_subtitle = Content(hint)
            with VerticalScroll(id="rows", can_focus=False):
                yield ConsequenceRows(self._sheet.rows)
            yield Answers(markup=False)

    def on_mount(self) -> None:
        """Focus the answers."""
        self.options.focus()
        self._show_answers(self.app.size)

    def on_resize(self) -> None:
        """Fit the sheet into the screen."""
        self.call_after_refresh(lambda: self._show_answers(self.app.size))

    @on(OptionList.OptionSelected)
    def answer(self, selected: OptionList.OptionSelected) -> None:
        """Return the selected answer."""
        self.dismiss(self._sheet.choices[selected.option_index].value)

    def action_move(self, step: int) -> None:
        """Highlight another answer; the keys for pages scroll the consequences."""
        if abs(step) > 1:
            rows = self.query_one("#rows")
            rows.scroll_relative(y=step // abs(step) * max(1, rows.size.height), animate=False)
            return
        now = self.options.highlighted or 0
        self.options.highlighted = max(0, min(now + step, len(self._sheet.choices) - 1))

    def _show_answers(self, screen: Size) -> None:
        """Show the answers, with explanations if the screen has the space."""
        is_tall = screen.height >= _TALL
        width = max(10, self.options.scrollable_content_region.width - 2)
        choices = [_shorten(each, is_tall=is_tall) for each in self._sheet.choices]
        rows, highlighted = RowFormat(choices, ()), self.options.highlighted or 0
        self.options.clear_options()
        self.options.add_options(Option(rows.row(each, width)) for each in choices)
        self.options.highlighted = highlighted
        taken = len(choices) * (2 if is_tall else 1) + _FRAME
        self.query_one("#rows").styles.max_height = max(1, screen.height * 9 // 10 - taken)


class ConsequenceRows(WrappedWidget):
    """What a swap changes; the reasons for the question come first and are marked."""

    DEFAULT_CSS = """
    ConsequenceRows {
        .rows--stake { color: $text-warning; text-style: bold; }
        .rows--name { color: $text-accent; }
    }
    """
    COMPONENT_CLASSES = {"rows--stake", "rows--name"}  # noqa: RUF012 - Textual's form

    def __init__(self, consequences: Sequence[SheetRow]) -> None:
        super().__init__()
        self._consequences = sorted(consequences, key=lambda each: not each.is_stake)

    def rows(self, width: int) -> list[Content]:
        """Wrap the texts to a width."""
        names = [printable(each.name) for each in self._consequences]
        column = max(map(len, names), default=0) + 2 * len(_STAKE)
        indent = column if column + _MIN_TEXT <= width else len(_STAKE)
        lines = list[Content]()
        for name, each in zip(names, self._consequences, strict=True):
            style = self.get_visual_style("rows--stake" if each.is_stake else "rows--name")
            mark = _STAKE if each.is_stake else _OTHER
            left = Content(f"{mark}{name}").stylize(style)
            texts = wrap([(printable(each.text), "")], max(8, width - indent))
            right = ["".join(part for part, _ in row) for row in texts]
            if indent == column:
                gap = " " * (column - len(mark) - len(name))
                lines.append(Content.assemble(left, gap, right.pop(0)))
            else:
                lines.append(left)
            lines += [Content(" " * indent + part) for part in right]
        return lines


def _shorten(choice: Choice, *, is_tall: bool) -> Choice:
    return choice if is_tall else Choice(choice.value, choice.title)
