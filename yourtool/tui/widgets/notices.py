"""Notices above the prompt, and the greeting."""

from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from yourtool import __version__
from yourtool.agent.commands.modes import MODE_DESCRIPTIONS
from yourtool.foundation.files import expand_home
from yourtool.foundation.text import printable
from yourtool.settings.config import Mode
from yourtool.tui.keys.active_keys import get_label
from yourtool.tui.widgets.status import StatusFields, StatusLine
from yourtool.tui.widgets.wrapped_widget import WrappedWidget

_HINTS = (
    ("/help", "commands and keys"),
    ("/resume", "an earlier conversation"),
    ("/models", "another model"),
)
_DEMO_HINTS = (
    ("Enter", "the two-minute tour, in a copy"),
    ("/key", "enter an API key, or set ANTHROPIC_API_KEY"),
    ("/models", "a model on this machine"),
)


class Banner(Static):
    """At most one notice per kind; hidden if empty."""

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

    def show_mode(self, mode: Mode, sandbox: str) -> None:
        """Set a notice for the approval mode `auto`; remove it for the others.

        `sandbox`: the level that contains commands, or `off`; empty before it is measured.
        """
        back = get_label("chat.mode") or "`/mode ask`"
        auto = "AUTO: tools run without approval."
        if sandbox == "off":
            auto += " No sandbox: scripts can write to protected places."
        elif sandbox == "none":
            auto += " No sandbox: commands are refused."
        auto += f" {back} ends it."
        self.set_notice("mode", auto if mode is Mode.AUTO else None)

    def set_notice(self, kind: str, text: str | None) -> None:
        """Set the notice of a kind; None removes it."""
        if self._notices.get(kind) == text:
            return
        if text is None:
            self._notices.pop(kind, None)
        else:
            self._notices[kind] = text
        self.update("\n".join(self._notices.values()))
        self.set_class(bool(self._notices), "-shown")


class Greeting(WrappedWidget):
    """Version, directory, model, files of the project and hints; hidden after the first prompt."""

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
        """Follow the status line."""
        self.watch(self._line, "status", self._update_status)

    def rows(self, width: int) -> list[Content]:
        """Draw name, directory, model and hints, without blank rows on a low screen."""
        name = Content.styled(f"yourtool {__version__}", self.get_visual_style("greeting--name"))
        key = self.get_visual_style("greeting--key")
        status = self._status
        mode = f" · {MODE_DESCRIPTIONS[Mode(status.mode)]}" if status.mode else ""
        place = Content.assemble(name, "  ", _format_directory(status.directory))
        fits = cell_len(status.model + mode) <= width
        rows = [place, Content(status.model + mode * fits)]
        if status.project_files:
            rows.append(Content(printable(status.project_files)))
        hints = _DEMO_HINTS if status.offers_tour else _HINTS
        rows += [
            Content(),
            *(Content.assemble((f"{usage:10}", key), text) for usage, text in hints),
        ]
        visible = [row for row in rows if row.plain] if self.app.size.height < 16 else rows
        return [row.truncate(width, ellipsis=True) for row in visible]

    def _update_status(self, status: StatusFields) -> None:
        before, self._status = self._status, status
        self.set_class(status.is_new_session, "-shown")
        if status.is_new_session and status != before:
            self.refresh_rows()


def _format_directory(directory: str) -> str:
    """Return a directory with `~` for the home directory."""
    home = f"{expand_home(Path('~'))}/"
    return printable(
        f"~/{directory.removeprefix(home)}" if directory.startswith(home) else directory
    )
