"""The stored first screen, with a text drawn into it, is what the interface paints."""

import asyncio
import io

import pyte
import pytest
from rich.console import Console
from textual.strip import Strip

from tests.tui.pilot_helpers import settle
from yourtool.paths import shipped_directory
from yourtool.process.early_prompt.line_editor import LineEditor
from yourtool.process.terminal_input.reader import Reader
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.first_screen import (
    MAX_FILES,
    find_missing_file,
    get_first_screen,
    write_first_screen,
)
from yourtool.tui.theme.themes import load_themes

THEMES = sorted(load_themes([shipped_directory("themes")]))
TEXTS = (
    "a",
    "hello world",
    "日本 wörld e\u0301!",
    "one\ntwo\n\nfour",
    "(a) [b]",
    "abc\x1b[D\x1b[D",
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))


def new_app(theme="dark"):
    async def never_opens():
        await asyncio.Event().wait()

    return YourtoolApp(never_opens, theme=theme)


def picture(rows, size):
    screen = pyte.Screen(*size)
    stream = pyte.Stream(screen)
    stream.feed("\x1b[?7l" + "".join(f"\x1b[{y};1H{row}" for y, row in enumerate(rows, 1)))
    return [[screen.buffer[y][x] for x in range(size[0])] for y in range(size[1])]


def new_console(colors="truecolor"):
    return Console(
        file=io.StringIO(), color_system=colors, force_terminal=True, legacy_windows=False
    )


async def compare(app, size, console, texts=TEXTS):
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        chat = app.chat
        first = get_first_screen(chat, chat.prompt, chat.transcript.size.height - 1, console)
        seen = 0
        for text in texts:
            editor = LineEditor(first.width, first.max_rows)
            editor.feed(Reader().feed_ahead(text.encode(), 0.0, is_checked=True))
            if editor.is_frozen:
                continue
            chat.prompt.load_text(editor.text)
            chat.prompt.move_cursor(
                (editor.before.count("\n"), len(editor.before.rpartition("\n")[2]))
            )
            await settle(pilot)
            painted = [Strip(row).render(console) for row in app.screen._compositor.render_strips()]
            assert picture(first.rows_with(editor), size) == picture(painted, size), text
            seen += 1
        return seen


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.req("R-TUI-23")
@pytest.mark.sample(9)
async def test_stored_screen_equals_the_interface_in_every_theme(theme):
    assert await compare(new_app(theme), (80, 24), new_console()) == len(TEXTS)


@pytest.mark.parametrize("size", [(40, 12), (120, 40), (200, 50), (60, 16), (30, 11)])
@pytest.mark.sample(6)
async def test_stored_screen_equals_the_interface_in_every_size(size):
    assert await compare(new_app(), size, new_console()) >= 3


@pytest.mark.parametrize("colors", ["256", "standard"])
async def test_stored_screen_has_the_colours_of_the_terminal(colors):
    assert await compare(new_app(), (80, 24), new_console(colors)) == len(TEXTS)


async def test_stored_screen_equals_the_interface_without_colours_and_in_ascii(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = new_app()
    app.apply_settings(UiConfig(ascii=True))
    assert await compare(app, (80, 24), new_console()) == len(TEXTS)


async def test_a_screen_that_scrolls_is_not_stored():
    app = new_app()
    async with app.run_test(size=(20, 6)) as pilot:
        await settle(pilot)
        assert find_missing_file(app.chat, app.chat.prompt) is None


async def test_a_screen_is_stored_once_and_only_without_text():
    app, console = new_app(), new_console()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        chat = app.chat
        file = find_missing_file(chat, chat.prompt)
        assert file is not None
        chat.prompt.insert_text("x")
        assert find_missing_file(chat, chat.prompt) is None
        chat.prompt.clear()
        await settle(pilot)
        screen = get_first_screen(chat, chat.prompt, 3, console)
        write_first_screen(file, screen)
        assert file.read_text() == str(screen)
        assert file.stat().st_mode & 0o777 == 0o600
        assert find_missing_file(chat, chat.prompt) is None
        for number in range(MAX_FILES + 5):
            write_first_screen(file.with_name(f"{number}"), screen)
        assert len(list(file.parent.iterdir())) == MAX_FILES
        assert file.with_name(f"{MAX_FILES + 4}").exists() and not file.exists()
