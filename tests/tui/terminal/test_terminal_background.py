"""The terminal's reply about its background never becomes keys."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import SetClock
from tests.tui.fakes import FakeRuntime, FakeSession
from tests.tui.pilot_helpers import say, settle, until
from yourtool.tui.app import YourtoolApp
from yourtool.tui.terminal.terminal import BackgroundReported
from yourtool.tui.terminal.terminal_background import (
    BackgroundReplyFilter,
    get_query,
    is_dark_by_environment,
    parse_is_dark,
)
from yourtool.tui.theme.theme_choice import ThemeChosen

LIGHT, DARK = "\x1b]11;rgb:fafa/fafa/f8f8\x07", "\x1b]11;rgb:1616/1818/1d1d\x1b\\"
KEYS = st.text(st.sampled_from("ab]1;é\r\t"), max_size=12)


@pytest.fixture
def clock():
    return SetClock(100.0)


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
    assert parse_is_dark(color) is is_dark


@pytest.mark.parametrize(
    ("value", "is_dark"), [("15;0", True), ("0;15", False), ("0;default;7", False), ("", True)]
)
def test_environment_can_contain_the_background(value, is_dark):
    assert is_dark_by_environment({"COLORFGBG": value}) is is_dark


@given(KEYS, KEYS, st.sampled_from([LIGHT, DARK]), st.lists(st.integers(0, 60), max_size=4))
def test_reply_in_pieces_between_keys_is_removed(before, after, reply, cuts):
    clock = SetClock(100.0)
    reports = list[bool]()
    replies = BackgroundReplyFilter(reports.append, clock)
    text = before + reply + after
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    keys = ""
    for begin, end in itertools.pairwise(edges):
        keys += replies(text[begin:end]) + replies.release()
    clock.now += 1
    assert keys + replies.release() == before + after
    assert reports == [reply == DARK]


@pytest.mark.parametrize("cut", range(6, len(DARK)))
def test_slow_reply_is_removed_however_late_its_end_arrives(clock, cut):
    reports = list[bool]()
    replies = BackgroundReplyFilter(reports.append, clock)
    clock.now += 60
    keys = replies(f"a{DARK[:cut]}")
    clock.now += 30
    keys += replies.release() + replies(f"{DARK[cut:]}b")
    assert (keys, reports) == ("ab", [True])


def test_reply_that_pauses_after_its_first_character_is_removed(clock):
    reports = list[bool]()
    replies = BackgroundReplyFilter(reports.append, clock)
    assert replies("\x1b") == ""
    clock.now += 1
    assert replies.release() == "\x1b"
    assert replies(DARK[1:]) == "" and reports == [True]


def test_keys_that_look_like_the_start_of_a_reply_are_only_delayed(clock):
    replies = BackgroundReplyFilter(lambda _: None, clock)
    for keys in ("\x1b", "\x1b]"):
        assert replies(keys) == ""
        assert replies.release() == ""
        clock.now += 0.2
        assert replies.release() == keys
    clock.now += 60
    assert replies("\x1b") == "\x1b", "Esc is not delayed long after the query"
    assert replies("\x1b[A") == "\x1b[A"


def test_endless_reply_is_discarded(clock):
    replies = BackgroundReplyFilter(lambda _: None, clock)
    assert replies("\x1b]11;" + "0" * 200) == ""
    assert replies("a") == "a"


@pytest.mark.parametrize("cut", range(6, len(LIGHT)))
def test_keys_after_a_reply_whose_end_was_lost_are_keys(clock, cut):
    replies = BackgroundReplyFilter(lambda _: None, clock)
    keys = replies(LIGHT[:cut])
    clock.now += 1
    assert keys + "".join(map(replies, "hello\r\x03")) == "hello\r\x03"


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
