import re

import pytest
from textual.app import App

from tests.tui.pilot_helpers import paint
from yourtool.errors import ConfigError
from yourtool.paths import shipped_directory
from yourtool.tui.themes import DEFAULT_STYLES, Palette, get_palette, load_theme, load_themes
from yourtool.tui.transcript.transcript import Transcript

THEMES = load_themes([shipped_directory("themes")])


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.req("R-TUI-23")
def test_there_are_five_themes_including_a_light_and_a_terminal_theme():
    assert len(THEMES) == 5
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
