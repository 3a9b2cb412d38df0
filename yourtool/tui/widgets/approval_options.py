"""Answers of an approval prompt, with letters."""

from textual.content import Content
from textual.events import Key
from textual.reactive import var

from yourtool.tui.keys.active_keys import find_answer, get_answer_label
from yourtool.tui.questions.approval_hints import SHOW_REST, WIDE_COLUMNS
from yourtool.tui.questions.approval_text import Option
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

ENTER = "enter"
"""Enter without a letter; it does not go to the prompt if another key follows."""


def get_typed(event: Key) -> str:
    """Return the character of a key, or `ENTER`."""
    return ENTER if event.key == ENTER else event.character or ""


class ApprovalOptions(WrappedWidget):
    """The answers, side by side if they fit."""

    DEFAULT_CSS = """
    ApprovalOptions {
        .options--selected { background: $warning; color: $background; text-style: bold; }
        &:ansi .options--selected { color: $block-cursor-foreground; }
        .options--disabled { color: $text-disabled; }
    }
    """
    COMPONENT_CLASSES = {"options--selected", "options--disabled"}  # noqa: RUF012 - Textual's form

    selected: var[int] = var(0)
    chosen: var[str] = var("")
    """The letter whose answer Enter confirms, if one is chosen."""
    accepts_letters: var[bool] = var(False)
    """Whether a letter key chooses its answer."""
    accepts_arrows: var[bool] = var(False)
    """Whether arrows move the selection and Enter confirms it."""
    blocks_allowing: var[bool] = var(False)
    """Whether the answers that allow the call are disabled."""

    def __init__(self) -> None:
        super().__init__()
        self.options: tuple[Option, ...] = ()

    def on_mount(self) -> None:
        """Redraw when an attribute changes."""
        for name in ("selected", "chosen", "accepts_letters", "accepts_arrows", "blocks_allowing"):
            self.watch(self, name, self._redraw, init=False)

    def _redraw(self) -> None:
        self.refresh()

    def show(self, options: tuple[Option, ...]) -> None:
        """Show the answers of another request."""
        self.options = options
        self.select_deny()
        self.refresh_rows()

    def find(self, typed: str, *, enter_approves: bool) -> Option | None:
        """Return the answer of a typed character or of Enter, if there is one."""
        letter = find_answer(typed) if typed else ""
        if not letter and enter_approves and typed in (ENTER, "y"):
            letter = "a"
        return next((each for each in self.options if each.letter == letter), None)

    def choose(self, option: Option | None) -> str:
        """Mark the answer that Enter confirms; return what Enter does."""
        self.chosen = option.letter if option is not None else ""
        if option is not None and option.allows and self.blocks_allowing:
            return SHOW_REST
        return option.label if option is not None else ""

    def move(self, step: int) -> None:
        """Move the selection."""
        self.selected = max(0, min(self.selected + step, len(self.options) - 1))

    def select_deny(self) -> None:
        """Select the deny answer, the default."""
        self.selected = next((at for at, each in enumerate(self.options) if each.letter == "d"), 0)

    def rows(self, width: int) -> list[Content]:
        """Draw the answers with their letters."""
        disabled = self.get_visual_style("options--disabled")
        selected = self.get_visual_style("options--selected")
        rows: list[Content] = []
        for at, option in enumerate(self.options):
            key = get_answer_label(option.letter)
            label = option.label if width >= WIDE_COLUMNS else option.short
            text = Content(f" [{key}] {label} " if key else f" {label} ")
            is_selected = self.accepts_arrows and at == self.selected
            if option.letter == self.chosen if self.chosen else is_selected:
                text = text.stylize(selected)
            elif not self.accepts_letters or (self.blocks_allowing and option.allows):
                text = text.stylize(disabled)
            if rows and rows[-1].cell_length + text.cell_length <= width:
                rows[-1] += text
            else:
                rows.append(text)
        return rows
