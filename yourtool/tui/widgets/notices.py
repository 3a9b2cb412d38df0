"""What is said for as long as it is true: notices above the prompt, a greeting in the void."""

from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from yourtool import __version__
from yourtool.config import Mode
from yourtool.text import printable
from yourtool.tui.widgets.block import WrappedWidget
from yourtool.tui.widgets.status import StatusFields, StatusLine

MODE_WORDS = {
    Mode.ASK: "ask before anything is changed or run",
    Mode.ACCEPT_EDITS: "edit files unasked, ask before the rest",
    Mode.PLAN: "read only",
    Mode.AUTO: "never ask",
}
_HINTS = (
    ("/help", "commands and keys"),
    ("/resume", "an earlier session"),
    ("/models", "another model"),
)


class Banner(Static):
    """One notice per kind; hidden when there is none."""

    DEFAULT_CSS = """
    Banner {
        display: none;
        height: auto;
        max-height: 5;
        padding: 0 1;
        background: $warning-muted;
        color: $text-warning;
        &.-shown { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._notices: dict[str, str] = {}

    def tell(self, kind: str, text: str | None) -> None:
        """Say something, in place of what was said of this kind; None takes it away."""
        if text is None:
            self._notices.pop(kind, None)
        else:
            self._notices[kind] = text
        self.update("\n".join(self._notices.values()))
        self.set_class(bool(self._notices), "-shown")


class Greeting(WrappedWidget):
    """Who is here, and three ways to begin; leaves once something is said."""

    DEFAULT_CSS = """
    Greeting {
        display: none;
        padding: 1 1 0 1;
        color: $text-muted;
        &.-shown { display: block; }
        .greeting--name { color: $text-primary; text-style: bold; }
        .greeting--key { color: $foreground; }
    }
    """
    COMPONENT_CLASSES = {"greeting--name", "greeting--key"}  # noqa: RUF012 - Textual's form

    def __init__(self, line: StatusLine) -> None:
        super().__init__(classes="-shown")
        self._line = line
        self._status = StatusFields()

    def on_mount(self) -> None:
        """Keep to what the status line says."""
        self.watch(self._line, "status", self._tell)

    def rows(self, width: int) -> list[Content]:
        """Draw name, place, model and hints; no blank row where rows are rare."""
        name = Content.styled(f"yourtool {__version__}", self.get_visual_style("greeting--name"))
        key = self.get_visual_style("greeting--key")
        status = self._status
        mode = f" · {MODE_WORDS[Mode(status.mode)]}" if status.mode else ""
        place = Content.assemble(name, "  ", _shown(status.directory))
        fits = cell_len(status.model + mode) <= width
        rows = [place, Content(status.model + mode * fits), Content()]
        rows += [Content.assemble((f"{usage:10}", key), words) for usage, words in _HINTS]
        kept = [row for row in rows if row.plain] if self.app.size.height < 16 else rows
        return [row.truncate(width, ellipsis=True) for row in kept]

    def _tell(self, status: StatusFields) -> None:
        before, self._status = self._status, status
        self.set_class(status.fresh, "-shown")
        if status.fresh and (status.model, status.mode) != (before.model, before.mode):
            self.changed()


def _shown(directory: str) -> str:
    """Return a directory as people write it."""
    home = f"{Path.home()}/"
    return printable(
        f"~/{directory.removeprefix(home)}" if directory.startswith(home) else directory
    )
