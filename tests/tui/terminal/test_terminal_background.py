"""The theme follows the background that the terminal reports."""

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession
from tests.tui.pilot_helpers import say, settle, until
from yourtool.tui.app import YourtoolApp
from yourtool.tui.terminal.terminal_background import (
    BackgroundReported,
    get_query,
    is_dark_by_environment,
    parse_is_dark,
)
from yourtool.tui.theme.theme_choice import ThemeChosen


@pytest.mark.parametrize(
    ("color", "is_dark"),
    [
        ("rgb:ffff/ffff/ffff", False),
        ("rgb:00/00/00", True),
        ("rgb:f/f/d", False),
        ("rgba:1e1e/1e1e/1e1e/ffff", True),
        ("rgb:fdf6/e3/d5", False),
        ("#ffffff", None),
        ("rgb:fffff/0/0", None),
        ("?", None),
    ],
)
def test_brightness_of_a_background_is_computed_from_its_colour(color, is_dark):
    assert parse_is_dark(f"\x1b]11;{color}\x07") is is_dark
    assert parse_is_dark(f"\x1b]10;{color}\x1b\\") is None


@pytest.mark.parametrize(
    ("value", "is_dark"), [("15;0", True), ("0;15", False), ("0;default;7", False), ("", True)]
)
def test_environment_can_contain_the_background(value, is_dark):
    assert is_dark_by_environment({"COLORFGBG": value}) is is_dark


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_terminals_that_would_print_the_query_get_none(environ, sent):
    assert bool(get_query(environ)) is sent


def app_of(home, **options):
    runtime = FakeRuntime(home, FakeSession([], workspace=home))

    async def opens():
        return runtime

    return YourtoolApp(opens, **options)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path))
    monkeypatch.delenv("COLORFGBG", raising=False)
    return tmp_path


@pytest.mark.req("R-TUI-23")
async def test_automatic_theme_follows_the_terminal_until_the_user_chooses_one(home):
    app = app_of(home, theme="auto")
    assert app.theme == "dark"
    async with app.run_test() as pilot:
        app.post_message(BackgroundReported(is_dark=False))
        await pilot.pause()
        assert app.theme == "light"
        app.post_message(ThemeChosen("contrast"))
        await settle(pilot)
        app.post_message(BackgroundReported(is_dark=True))
        await pilot.pause()
        assert app.theme == "contrast"


async def test_chosen_theme_does_not_follow_the_terminal(home):
    app = app_of(home, theme="dark")
    async with app.run_test() as pilot:
        app.post_message(BackgroundReported(is_dark=False))
        await pilot.pause()
        assert app.theme == "dark"


async def test_theme_follows_the_terminal_again_after_theme_auto(home):
    app = app_of(home, theme="contrast")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        app.post_message(BackgroundReported(is_dark=False))
        await settle(pilot)
        assert app.theme == "contrast"
        await say(pilot, "/theme auto ")
        await until(pilot, lambda: app.theme == "light")
        app.post_message(BackgroundReported(is_dark=True))
        await until(pilot, lambda: app.theme == "dark")
