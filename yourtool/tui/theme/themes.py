"""Theme files and their styles.

A theme file contains colours. `DEFAULT_STYLES` defines which of them a style uses; a theme can
override it in `[styles]`. Colours are `#rrggbb` or, in a theme with `ansi = true`, the sixteen
names of the terminal's palette and `default`.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from yourtool.errors import ConfigError
from yourtool.foundation.files import read_small_file
from yourtool.foundation.text import printable
from yourtool.paths import resolve_paths, shipped_directory
from yourtool.settings.tables import parse_toml
from yourtool.tui.lines.styled_lines import TARGET

_log = logging.getLogger(__name__)

_MAX_THEME_BYTES = 64 * 1024

DARK, LIGHT = "dark", "light"
"""The themes that `auto` chooses from; the first is the default."""

DEFAULT_STYLES: Mapping[str, str] = {
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
    "diff.added.word": "bold foreground on added_word_background",
    "diff.removed.word": "bold foreground on removed_word_background",
    "diff.hunk": "muted",
    "diff.file": "bold",
    "diff.call": "bold accent",
    "diff.number": "muted",
    "syntax.keyword": "keyword",
    "syntax.string": "string",
    "syntax.number": "number",
    "syntax.comment": "italic muted",
    "syntax.function": "function",
    "syntax.type": "type",
    "syntax.added": "success",
    "syntax.removed": "error",
    "syntax.heading": "bold",
}
"""By style name: attributes, a colour of the theme and, after `on`, a background colour."""


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
    added_word_background: str = ""
    """Background of the words that differ; empty: the background of the line."""
    removed_word_background: str = ""


class ThemeFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One `themes/*.toml`."""

    name: str
    """Replaced by the name of the file, by which it is chosen."""
    label: str
    colors: Colors
    dark: bool = True
    ansi: bool = False
    """Whether the colours are names of the terminal's palette."""
    styles: dict[str, str] = {}
    """Styles that differ from `DEFAULT_STYLES`."""

    def check_colors(self) -> None:
        """Check that the style sheets can use all colours.

        Raises:
            ValueError: a value is not a colour; with `ansi`, not one of the terminal's palette.
        """
        for name, color in msgspec.structs.asdict(self.colors).items():
            with suppress(ColorParseError):
                if not color or (color != "auto" and Color.parse(self._convert(color))):
                    continue
            kind = "a colour of the terminal's palette" if self.ansi else "a colour"
            raise ValueError(f"`{name} = {color!r}` is not {kind}")

    def _convert(self, color: str) -> str:
        return f"ansi_{color}" if self.ansi else color

    def to_textual_theme(self) -> Theme:
        """Return the theme as a Textual theme."""
        colors, convert = self.colors, self._convert
        return Theme(
            name=self.name,
            primary=convert(colors.accent),
            secondary=convert(colors.secondary),
            accent=convert(colors.accent),
            warning=convert(colors.warning),
            error=convert(colors.error),
            success=convert(colors.success),
            foreground=convert(colors.foreground),
            background=convert(colors.background),
            surface=convert(colors.surface),
            panel=convert(colors.panel),
            dark=self.dark,
            boost=convert(colors.surface) if self.ansi else None,
            ansi=self.ansi,
            variables={"muted": convert(colors.muted), **(_ansi_variables() if self.ansi else {})},
        )


class Palette:
    """The styles of one theme by name."""

    def __init__(self, theme: ThemeFile) -> None:
        self.theme = theme
        colors = msgspec.structs.asdict(theme.colors)
        for name in ("added", "removed"):
            colors[f"{name}_word_background"] = (
                colors[f"{name}_word_background"] or colors[f"{name}_background"]
            )
        self._styles = {
            name: _parse_style(words, colors)
            for name, words in {**DEFAULT_STYLES, **theme.styles}.items()
        }
        self._cache: dict[str, Style] = {"": Style()}

    def style(self, names: str) -> Style:
        """Return the Rich style of a style name; unknown names have no effect.

        A name that starts with `sgr:` contains a style in Rich's syntax, from program output, and
        one that starts with `target:` an address that a terminal can open.
        """
        if (style := self._cache.get(names)) is None:
            style = Style()
            for name in names.split(" "):
                style += self._named_style(name)
            if TARGET not in names:  # there is no end of addresses
                self._cache[names] = style
        return style

    def _named_style(self, name: str) -> Style:
        if name.startswith("sgr:"):
            return Style.parse(name[4:].replace(",", " "))
        if name.startswith(TARGET):
            return _build_link_style(name.removeprefix(TARGET))
        return self._styles.get(name, self._cache[""])


@lru_cache(1_024)
def _build_link_style(address: str) -> Style:
    """Return the style of a link; its rows have one id, so a terminal opens them as one."""
    return Style(link=address)


def load_theme(path: Path) -> ThemeFile:
    """Read a theme.

    Raises:
        ConfigError: the file is not a valid theme; the message names the file and the error.
    """
    try:
        text = read_small_file(path, _MAX_THEME_BYTES).decode("utf-8-sig")
        read = msgspec.convert(parse_toml(text), ThemeFile)
        theme = msgspec.structs.replace(read, name=path.stem)
        theme.check_colors()
        Palette(theme)
        theme.to_textual_theme().to_color_system().generate()
    except (OSError, ValueError, StyleSyntaxError, ColorParseError) as error:
        raise ConfigError(
            f"`{printable(str(path))}` is not a usable theme: {printable(str(error))};"
            " compare it with a built-in theme"
        ) from error
    return theme


def load_themes(directories: Iterable[Path]) -> dict[str, ThemeFile]:
    """Read all themes by name; later directories override, invalid files are logged and skipped."""
    themes: dict[str, ThemeFile] = {}
    for directory in directories:
        for name in sorted(_find_names(directory)):
            try:
                theme = load_theme(directory / f"{name}.toml")
            except ConfigError as error:
                _log.warning("%s", error)
            else:
                themes[theme.name] = theme
    return themes


def load_named_theme(name: str) -> ThemeFile:
    """Read the theme with a name; the user's own theme overrides a built-in one.

    Raises:
        ConfigError: there is none, or its file is not a valid theme.
    """
    directories = [each for each in theme_directories() if name in _find_names(each)]
    if not directories:
        raise ConfigError(f"there is no theme `{printable(name)}`; `/theme` lists all of them")
    return load_theme(directories[-1] / f"{name}.toml")


def load_chosen_theme(name: str) -> ThemeFile:
    """Read the theme with a name; the default theme if it cannot be read, which is logged."""
    try:
        return load_named_theme(name)
    except ConfigError as error:
        _log.warning("%s", error)
        return load_theme(shipped_directory("themes") / f"{DARK}.toml")


def theme_for_background(is_dark: bool) -> str:
    """Return the name of the theme for a dark or a light terminal."""
    return DARK if is_dark else LIGHT


def find_theme_names() -> list[str]:
    """Return the names of the theme files; it reads the directories, but no file."""
    return sorted({name for each in theme_directories() for name in _find_names(each)})


def _find_names(directory: Path) -> set[str]:
    try:
        return {file.stem for file in directory.glob("*.toml")}
    except OSError:
        return set()


def theme_directories() -> list[Path]:
    """Return the directories of the built-in themes and of the user's themes."""
    return [shipped_directory("themes"), resolve_paths().home / "themes"]


def _ansi_variables() -> dict[str, str]:
    """Return the variables that Textual's style sheets need in addition to the colours."""
    return {
        **BUILTIN_THEMES["ansi-dark"].variables,
        # A muted colour would equal the colour of the text on it.
        **{f"{name}-muted": "ansi_default" for name in ("success", "warning", "error")},
        "foreground-disabled": "ansi_bright_black",
        "surface-active": "ansi_default",
    }


def _parse_style(words: str, colors: Mapping[str, str]) -> Style:
    return Style.parse(" ".join(colors.get(word, word) for word in words.split()))


_palettes: dict[str, Palette] = {}


def register_themes(themes: Iterable[ThemeFile]) -> None:
    """Register the palettes of themes for painting."""
    _palettes.update({theme.name: Palette(theme) for theme in themes})


def get_palette(name: str) -> Palette:
    """Return the palette of a theme; the default palette for Textual's themes."""
    if name not in _palettes and DARK not in _palettes:
        register_themes(load_themes([shipped_directory("themes")]).values())
    return _palettes.get(name) or _palettes[DARK]
