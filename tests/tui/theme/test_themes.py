import math
import operator
import os
import re

import pytest
from textual.app import App

from tests.tui.pilot_helpers import paint
from yourtool.errors import ConfigError
from yourtool.paths import shipped_directory
from yourtool.tui.theme.themes import (
    DEFAULT_STYLES,
    Palette,
    get_palette,
    load_chosen_theme,
    load_named_theme,
    load_theme,
    load_themes,
)
from yourtool.tui.transcript.transcript import Transcript

THEMES = load_themes([shipped_directory("themes")])


def linear(color: str) -> list[float]:
    """Return a colour without its gamma."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(color: str) -> float:
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.req("R-TUI-23")
def test_there_are_seven_themes_including_a_light_and_a_terminal_theme():
    assert len(THEMES) == 7
    assert any(not theme.dark for theme in THEMES.values())
    assert any(theme.ansi for theme in THEMES.values())


COLORED = [theme for theme in THEMES.values() if not theme.ansi]


def backgrounds_of(name, colors):
    """Return the backgrounds on which a style without one is drawn."""
    found = [colors.background, colors.surface]
    if name.startswith(("syntax.", "diff.")):
        found += [colors.code_background, colors.added_background, colors.removed_background]
    return found


@pytest.mark.parametrize("theme", COLORED, ids=lambda t: t.name)
@pytest.mark.req("R-TUI-23")
def test_every_style_has_the_contrast_of_wcag_level_aa(theme):
    palette = Palette(theme)
    for name in DEFAULT_STYLES:
        style = palette.style(name)
        text = style.color.name if style.color else theme.colors.foreground
        behind = backgrounds_of(name, theme.colors)
        for background in [style.bgcolor.name] if style.bgcolor else behind:
            assert contrast(text, background) >= 4.5, (name, text, background)


@pytest.mark.parametrize("theme", COLORED, ids=lambda t: t.name)
@pytest.mark.req("R-TUI-23")
def test_texts_of_the_widgets_have_the_contrast_of_wcag_level_aa(theme):
    """Textual derives these colours from those of the theme."""
    variables = theme.to_textual_theme().to_color_system().generate()
    for name in ("text-primary", "text-accent", "text-success", "text-warning", "text-error"):
        for background in (theme.colors.background, theme.colors.surface):
            assert contrast(variables[name], background) >= 4.5, (name, background)


COLOR_VISION = {
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216"
    " -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413"
    " -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602"
    " 0.004733 0.691367 0.303900",
}
"""Matrices for linear RGB: Machado, Oliveira, Fernandes, 2009, doi:10.1109/TVCG.2009.113."""
CONTRASTED = [
    ("success", "error"),
    ("success", "warning"),
    ("error", "warning"),
    ("added_background", "removed_background"),
    ("added_word_background", "removed_word_background"),
]


def lab(color: str, vision: str) -> tuple[float, float, float]:
    """Return CIELAB (https://en.wikipedia.org/wiki/CIELAB_color_space) as a person sees it."""
    matrix = [float(word) for word in COLOR_VISION[vision].split()]
    given = linear(color)
    red, green, blue = (
        min(1.0, max(0.0, sum(map(operator.mul, given, matrix[at : at + 3])))) for at in (0, 3, 6)
    )
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (
        part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("name", ["colorblind", "colorblind-light"])
@pytest.mark.parametrize("vision", COLOR_VISION)
@pytest.mark.req("R-TUI-23")
def test_meanings_differ_in_the_colour_blind_themes(name, vision):
    colors = THEMES[name].colors
    for one, other in CONTRASTED:
        seen = lab(getattr(colors, one), vision), lab(getattr(colors, other), vision)
        assert math.dist(*seen) >= 15, (one, other)


@pytest.mark.req("R-TUI-23")
def test_high_contrast_theme_has_the_contrast_of_wcag_level_aaa():
    palette, colors = Palette(THEMES["contrast"]), THEMES["contrast"].colors
    for name in DEFAULT_STYLES:
        style = palette.style(name)
        text = style.color.name if style.color else colors.foreground
        assert contrast(text, style.bgcolor.name if style.bgcolor else colors.background) >= 7, name


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda t: t.name)
async def test_app_accepts_every_theme(theme):
    class Wearer(App[None]):
        def compose(self):
            yield Transcript()

    app = Wearer()
    app.register_theme(theme.to_textual_theme())
    app.theme = theme.name
    async with app.run_test(size=(40, 12)) as pilot:
        app.query_one(Transcript).add_notice("info", "hello")
        await paint(pilot)
        assert app.current_theme.name == theme.name


def test_every_style_in_the_sources_is_defined():
    sources = "".join(
        p.read_text("utf-8")
        for p in (shipped_directory("themes").parent / "yourtool/tui").rglob("*.py")
    )
    styles = set(re.findall(r'"((?:diff|syntax|quote|table|code)\.[a-z.]+)"', sources))
    assert styles and styles <= set(DEFAULT_STYLES) | {"diff.added.mark", "diff.removed.mark"}


def test_styles_combine_and_unknown_styles_have_no_effect():
    palette = Palette(THEMES["dark"])
    style = palette.style("h1 strong nonsense")
    assert style.bold and style.underline and style.color == palette.style("h1").color
    assert palette.style("sgr:bold,red").bold


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000])
def test_unparsable_theme_is_reported_by_name(tmp_path, value):
    (tmp_path / "bad.toml").write_text(f"name = {value}")
    with pytest.raises(ConfigError, match=r"bad\.toml` is not a usable theme: it "):
        load_theme(tmp_path / "bad.toml")


def test_broken_theme_is_reported_by_name_and_skipped(tmp_path, caplog):
    (tmp_path / "bad.toml").write_text('name = "bad"\ncolour = 1\n')
    with pytest.raises(ConfigError, match=r"bad\.toml.*compare it"):
        load_theme(tmp_path / "bad.toml")
    assert "bad" not in load_themes([tmp_path])
    assert "bad.toml" in caplog.text


def test_textual_theme_falls_back_to_the_default():
    assert get_palette("nord").theme.name == "dark"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"accent": "default"}, "accent"),
        ({"surface": "auto"}, "surface"),
        ({"muted": "color(5)"}, "muted"),
        ({"ansi": True}, "background"),
        ({"heading": "#12"}, "heading"),
        ({"panel": ""}, None),
    ],
)
def test_colour_that_the_style_sheets_cannot_use_makes_a_theme_unusable(tmp_path, changed, named):
    lines = list[str]()
    for line in (shipped_directory("themes") / "dark.toml").read_text().splitlines():
        name = line.partition(" ")[0]
        if name in changed and not isinstance(changed[name], bool):
            line = f'{name} = "{changed[name]}"'
        lines.append(line)
    if "ansi" in changed:
        lines.insert(0, "ansi = true")
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigError, match=r"mine\.toml` is not a usable theme") as raised:
        load_theme(file)
    assert named is None or named in str(raised.value)


@pytest.mark.parametrize("kind", ["pipe", "device", "large", "directory", "loop"])
def test_theme_that_is_no_small_file_is_unusable_and_not_waited_for(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path))
    (tmp_path / "themes").mkdir()
    file = tmp_path / "themes" / "light.toml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "large":
        file.write_text("#" * 10_000_000)
    elif kind == "directory":
        file.mkdir()
    else:
        file.symlink_to(file)
    with pytest.raises(ConfigError, match=r"light\.toml` is not a usable theme"):
        load_named_theme("light")
    assert load_chosen_theme("light").name == "dark"


@pytest.mark.parametrize("name", ["nosuch", "x" * 300, "../themes/dark", "", "a\0b", "."])
def test_name_of_no_theme_is_reported_and_the_default_is_used(name):
    with pytest.raises(ConfigError, match="there is no theme"):
        load_named_theme(name)
    assert load_chosen_theme(name).name == "dark"


def test_folder_of_themes_that_cannot_be_reached_has_none(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert load_themes([tmp_path / ("x" * 300) / "themes", tmp_path / "loop"]) == {}
