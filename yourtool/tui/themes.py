"""Themes: files that name a dozen colours, and the styles that everything drawn is made of.

A theme file holds colours; `STYLES` says which of them an ink uses, so a theme need not repeat it
but may (`[styles]`). Colours are `#rrggbb` or, in a theme with `ansi = true`, the sixteen names of
the terminal's own palette, `default` included.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from yourtool.errors import ConfigError
from yourtool.paths import shipped_directory
from yourtool.tables import parse_toml
from yourtool.text import printable

_log = logging.getLogger(__name__)

DEFAULT = "dark"

STYLES: Mapping[str, str] = {
    "muted": "muted",
    "accent": "accent",
    "success": "success",
    "warning": "warning",
    "error": "error",
    "user": "bold user",
    "prompt": "bold accent",
    "marker": "bold accent",
    "title": "bold",
    "cancelled": "muted strike",
    "strong": "bold",
    "em": "italic",
    "strike": "strike",
    "code": "code",
    "code.block": "on code_background",
    "code.bar": "muted on code_background",
    "link": "underline link",
    "url": "muted",
    "h1": "bold underline heading",
    "h2": "bold heading",
    "h3": "bold heading",
    "h4": "italic heading",
    "h5": "italic heading",
    "h6": "italic heading",
    "bullet": "accent",
    "quote.bar": "accent",
    "rule": "muted",
    "table.head": "bold",
    "table.rule": "muted",
    "thinking": "italic muted",
    "diff.added": "on added_background",
    "diff.removed": "on removed_background",
    "diff.added.mark": "bold success on added_background",
    "diff.removed.mark": "bold error on removed_background",
    "diff.hunk": "muted",
    "diff.file": "bold",
    "diff.number": "muted",
    "syntax.keyword": "keyword on code_background",
    "syntax.string": "string on code_background",
    "syntax.number": "number on code_background",
    "syntax.comment": "italic muted on code_background",
    "syntax.function": "function on code_background",
    "syntax.type": "type on code_background",
    "syntax.added": "success on code_background",
    "syntax.removed": "error on code_background",
    "syntax.heading": "bold on code_background",
}
"""By ink: attributes, a colour of the theme, and after `on` one for the background."""


class Colors(Struct, frozen=True, forbid_unknown_fields=True):
    """The colours of a theme."""

    background: str
    surface: str
    """Behind the prompt and dialogs."""
    panel: str
    foreground: str
    muted: str
    accent: str
    secondary: str
    user: str
    heading: str
    link: str
    code: str
    success: str
    warning: str
    error: str
    code_background: str
    added_background: str
    removed_background: str
    keyword: str
    string: str
    number: str
    function: str
    type: str


class ThemeFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One `themes/*.toml`."""

    name: str
    label: str
    colors: Colors
    dark: bool = True
    ansi: bool = False
    """The colours are names of the terminal's own palette."""
    styles: dict[str, str] = {}
    """Inks that differ from `STYLES`."""

    def toolkit_theme(self) -> Theme:
        """Return the theme as the toolkit takes it."""
        colors = self.colors

        def shown(color: str) -> str:
            return f"ansi_{color}" if self.ansi else color

        return Theme(
            name=self.name,
            primary=shown(colors.accent),
            secondary=shown(colors.secondary),
            accent=shown(colors.accent),
            warning=shown(colors.warning),
            error=shown(colors.error),
            success=shown(colors.success),
            foreground=shown(colors.foreground),
            background=shown(colors.background),
            surface=shown(colors.surface),
            panel=shown(colors.panel),
            dark=self.dark,
            boost=shown(colors.surface) if self.ansi else None,
            ansi=self.ansi,
            variables={"muted": shown(colors.muted), **(_ansi_variables() if self.ansi else {})},
        )


class Palette:
    """The styles of one theme, by ink."""

    def __init__(self, theme: ThemeFile) -> None:
        self.theme = theme
        colors = msgspec.structs.asdict(theme.colors)
        self._named = {
            ink: _style(words, colors) for ink, words in {**STYLES, **theme.styles}.items()
        }
        self._cache: dict[str, Style] = {"": Style()}

    def style(self, ink: str) -> Style:
        """Return the style of an ink; names that no theme knows change nothing.

        A name that begins with `sgr:` is a style in Rich's words: colours a program printed.
        """
        if (style := self._cache.get(ink)) is None:
            style = Style()
            for name in ink.split(" "):
                style += self._one(name)
            self._cache[ink] = style
        return style

    def _one(self, name: str) -> Style:
        if name.startswith("sgr:"):
            return Style.parse(name[4:].replace(",", " "))
        return self._named.get(name, self._cache[""])


def load_theme(path: Path) -> ThemeFile:
    """Read a theme.

    Raises:
        ConfigError: it is not a theme; names the file and what is wrong in it.
    """
    try:
        theme = msgspec.convert(parse_toml(path.read_text("utf-8-sig")), ThemeFile)
        Palette(theme)
        theme.toolkit_theme().to_color_system().generate()
    except (OSError, ValueError, msgspec.ValidationError, StyleSyntaxError) as error:
        raise ConfigError(
            f"`{printable(str(path))}` is not a usable theme: {printable(str(error))};"
            " compare it with a theme that ships with the program"
        ) from error
    return theme


def load_themes(directories: Iterable[Path]) -> dict[str, ThemeFile]:
    """Read all themes by name; later directories win, an unusable file is logged and left out."""
    themes: dict[str, ThemeFile] = {}
    for directory in directories:
        for path in sorted(directory.glob("*.toml")):
            try:
                theme = load_theme(path)
            except ConfigError as error:
                _log.warning("%s", error)
            else:
                themes[theme.name] = theme
    return themes


def _ansi_variables() -> dict[str, str]:
    """Return what the toolkit's style sheets ask of such a theme beyond its colours."""
    return {
        **BUILTIN_THEMES["ansi-dark"].variables,
        # A muted colour would be the very one that is written on it.
        **{f"{name}-muted": "ansi_default" for name in ("success", "warning", "error")},
        "foreground-disabled": "ansi_bright_black",
        "surface-active": "ansi_default",
    }


def _style(words: str, colors: Mapping[str, str]) -> Style:
    return Style.parse(" ".join(colors.get(word, word) for word in words.split()))


_palettes: dict[str, Palette] = {}


def use_themes(themes: Iterable[ThemeFile]) -> None:
    """Make the palettes of these themes the ones that are painted with."""
    _palettes.update({theme.name: Palette(theme) for theme in themes})


def palette_of(name: str) -> Palette:
    """Return the palette of a theme by name; the default's for one of the toolkit's own."""
    if DEFAULT not in _palettes:
        use_themes(load_themes([shipped_directory("themes")]).values())
    return _palettes.get(name) or _palettes[DEFAULT]
