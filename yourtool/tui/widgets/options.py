"""The answers that a question offers, with their letters."""

from textual.content import Content
from textual.reactive import var

from yourtool.tui.questions import Option
from yourtool.tui.widgets.block import WrappedWidget


class Options(WrappedWidget):
    """The answers, side by side where there is room."""

    DEFAULT_CSS = """
    Options {
        .options--chosen { background: $warning; color: $background; text-style: bold; }
        &:ansi .options--chosen { color: $block-cursor-foreground; }
        .options--asleep { color: $text-disabled; }
    }
    """
    COMPONENT_CLASSES = {"options--chosen", "options--asleep"}  # noqa: RUF012 - Textual's form

    at: var[int] = var(0)
    awake: var[bool] = var(False)
    """The letters count."""
    entered: var[bool] = var(False)
    """Arrows choose, and Enter takes what they chose."""
    locked: var[bool] = var(False)
    """Nothing can be allowed yet."""

    def __init__(self) -> None:
        super().__init__()
        self.options: tuple[Option, ...] = ()

    def on_mount(self) -> None:
        """Redraw whenever the keys do something else."""
        for name in ("at", "awake", "entered", "locked"):
            self.watch(self, name, self._redraw, init=False)

    def _redraw(self) -> None:
        self.refresh()

    def reset(self) -> None:
        """Choose what is chosen until arrows choose something else: to deny."""
        self.at = next((at for at, each in enumerate(self.options) if each.letter == "d"), 0)

    def rows(self, width: int) -> list[Content]:
        """Draw the answers with their letters."""
        asleep = self.get_visual_style("options--asleep")
        chosen = self.get_visual_style("options--chosen")
        rows: list[Content] = []
        for at, option in enumerate(self.options):
            text = Content(f" [{option.letter}] {option.label} ")
            if self.entered and at == self.at:
                text = text.stylize(chosen)
            elif not self.awake or (self.locked and option.allows):
                text = text.stylize(asleep)
            if rows and rows[-1].cell_length + text.cell_length <= width:
                rows[-1] += text
            else:
                rows.append(text)
        return rows
