"""Theme in use.

The setting is a name or `auto`, which follows the background of the terminal.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from textual.app import App
from textual.message import Message

from yourtool.settings.config import AUTO_THEME
from yourtool.tui.terminal.terminal_background import is_dark_by_environment
from yourtool.tui.theme.themes import load_chosen_theme, register_themes, theme_for_background


class ThemeChosen(Message):
    """Posted to the app when the user chooses a theme."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class ThemeChoice:
    """Loads themes and applies them to an app."""

    def __init__(self, app: App[Any], environ: Mapping[str, str]) -> None:
        self.is_auto = False
        """Whether the theme follows the background of the terminal."""
        self._app = app
        self._is_dark = is_dark_by_environment(environ)

    def choose(self, name: str) -> None:
        """Use a theme by name, or `auto`."""
        self.is_auto = name == AUTO_THEME
        self._use(theme_for_background(self._is_dark) if self.is_auto else name)

    def follow(self, *, is_dark: bool) -> None:
        """Use the theme for a background, unless the user chose one by name."""
        if is_dark != self._is_dark:
            self._is_dark = is_dark
            if self.is_auto:
                self._use(theme_for_background(is_dark))

    def _use(self, name: str) -> None:
        theme = load_chosen_theme(name)
        self._app.register_theme(theme.to_textual_theme())
        register_themes([theme])
        if self._app.theme == theme.name:  # its file can have changed
            self._app.mutate_reactive(App.theme)
        else:
            self._app.theme = theme.name


def list_candidates(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return `auto`, with its description, and the names of the themes."""
    auto = (AUTO_THEME, "`dark` or `light`, like the background of the terminal")
    return [auto, *((name, "") for name in names)]


class ThemedApp(Protocol):
    """An app with a choice of themes."""

    theme: str
    theme_choice: ThemeChoice


def get_chosen_name(app: object) -> str:
    """Return the name that was chosen: `auto` or a theme."""
    themed = cast("ThemedApp", app)
    return AUTO_THEME if themed.theme_choice.is_auto else themed.theme
