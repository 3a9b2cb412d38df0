"""The stored first screen is read only while everything that it depends on is the same."""

from pathlib import Path

import pytest

from yourtool.paths import resolve_paths
from yourtool.process.early_prompt.first_screen import (
    FirstScreen,
    first_screen_file,
    load_first_screen,
)
from yourtool.process.early_prompt.line_editor import LineEditor
from yourtool.process.terminal_input.items import Paste
from yourtool.process.terminal_input.reader import Reader

SCREEN = FirstScreen(
    place=(1, 1),
    width=4,
    max_rows=3,
    styles=("| ", " |", "<text>", "<cursor>"),
    rows=("top", "+------+", "| here |", "+------+", "status"),
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def store(columns=8, rows=5, text=None):
    file = Path(first_screen_file(columns, rows))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if text is not None else str(SCREEN))


def test_stored_screen_is_read_for_its_size_only():
    assert load_first_screen(8, 5) is None
    store()
    assert str(load_first_screen(8, 5)) == str(SCREEN)
    assert load_first_screen(9, 5) is None


@pytest.mark.parametrize(
    "text", ["", "1\n2", "a\nb\nc\nd\ne\n\n\n\n\n1\n2\n3\n4\n5", "\n".join("1" * 40), "\ud800"]
)
def test_a_damaged_file_is_ignored(text):
    store()
    Path(first_screen_file(8, 5)).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert load_first_screen(8, 5) is None


@pytest.mark.parametrize(
    "variable", ["TERM", "COLORTERM", "NO_COLOR", "YOURTOOL_THEME", "YOURTOOL_UI_ASCII"]
)
def test_another_terminal_or_setting_has_another_screen(monkeypatch, variable):
    store()
    monkeypatch.setenv(variable, "another")
    assert load_first_screen(8, 5) is None


@pytest.mark.parametrize("name", ["config.toml", "themes/mine.toml"])
def test_a_changed_file_of_settings_has_another_screen(home, name):
    store()
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# settings")
    assert load_first_screen(8, 5) is None
    store()
    assert str(load_first_screen(8, 5)) == str(SCREEN)
    file.write_text("# other settings")
    assert load_first_screen(8, 5) is None


@pytest.mark.parametrize("root", [None, "~/somewhere", "relative"])
@pytest.mark.parametrize("cache", [None, "/var/cache/me"])
def test_the_directory_is_that_of_the_program(monkeypatch, root, cache):
    for name, value in (("YOURTOOL_HOME", root), ("XDG_CACHE_HOME", cache)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert Path(first_screen_file(80, 24)).parent == resolve_paths().cache / "first-screens"


def rows_with(keys):
    editor = LineEditor(SCREEN.width + 10, SCREEN.max_rows)
    editor.feed(Reader().feed_ahead(keys.encode(), 0.0, is_checked=True))
    return [
        row.replace("\x1b[m", "").replace("<text>", "").replace("<cursor>", "_")
        for row in SCREEN.rows_with(editor)
    ]


def test_the_text_is_drawn_into_the_prompt():
    assert rows_with("") == list(SCREEN.rows)
    assert rows_with("ab") == ["top", "+------+", "| ab_   |", "+------+", "status"]
    assert rows_with("ab\x1b[D")[2] == "| a_b   |"
    assert rows_with("日")[2] == "| 日_   |"


def test_the_prompt_grows_upwards():
    assert rows_with("ab\nc") == ["+------+", "| ab   |", "| c_    |", "+------+", "status"]


def test_text_that_is_too_long_after_a_resize_shows_its_end():
    editor = LineEditor(4, 9)
    editor.feed([Paste(lines := "a\nb\nc\nd\ne\nf", lines)])
    editor.resize(4, SCREEN.max_rows)
    screen = FirstScreen(
        place=(3, 0), width=4, max_rows=3, styles=("", "", "", ""), rows=("1", "2", "3", "4", "5")
    )
    shown = screen.rows_with(editor)
    assert len(shown) == len(screen.rows)
    assert [row[3:4] for row in shown[1:3]] == ["d", "e"]
