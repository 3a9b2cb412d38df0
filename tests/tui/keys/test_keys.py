"""Typed text goes to the prompt; only keys of the table have other effects."""

import importlib
import pkgutil

import pytest
from textual import events
from textual.widget import Widget

from tests.tui.fakes import (
    FakeRuntime,
    FakeSession,
    default_route,
    failed_request,
    turn,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool import tui
from yourtool.agent.commands.base import Section
from yourtool.tui.app import YourtoolApp
from yourtool.tui.keys.active_keys import describe_keys, fit_hints, place_hints
from yourtool.tui.keys.keys import KEYS
from yourtool.tui.screens.report import ReportScreen

SIZES = [(40, 12), (80, 24), (120, 40)]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


def app_with(home, *scripts):
    session = FakeSession(*scripts, workspace=home.parent / "work")
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    return YourtoolApp(opens)


@pytest.fixture
def app(home):
    return app_with(home, turn("hello", "Hello to you."))


async def sent_hello(pilot):
    await settle(pilot)
    await say(pilot, "hello")
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)


@pytest.mark.req("R-TUI-01")
async def test_text_typed_in_the_transcript_goes_to_the_prompt(app):
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await press(pilot, "tab")
        assert app.focused is app.chat.transcript
        await press(pilot, *"yes, run")
        assert app.chat.prompt.text == "yes, run"
        assert app.focused is app.chat.prompt


async def test_text_typed_right_after_tab_is_complete_and_in_order(app):
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await burst(pilot, "tab", *"fix it", "enter", *"next")
        await until(pilot, lambda: app.chat.session.sent == ["hello", "fix it"])
        assert app.chat.prompt.text == "next"


async def test_paste_in_the_transcript_goes_to_the_prompt(app):
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await press(pilot, "tab")
        app._driver.send_message(events.Paste("pasted"))
        await settle(pilot)
        assert app.chat.prompt.text == "pasted"
        assert app.focused is app.chat.prompt


async def test_keys_of_the_transcript_work_and_keep_the_focus_there(app):
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await press(pilot, "tab", "c")
        assert app.clipboard == "Hello to you."
        assert app.focused is app.chat.transcript
        assert app.chat.prompt.text == ""
        await press(pilot, "tab")
        assert app.focused is app.chat.prompt


async def test_r_in_the_transcript_retries_only_a_failed_turn(home):
    script = [turn_start("go"), default_route(), failed_request(), turn_end()]
    app = app_with(home, turn("hello", "Hello to you."), script)
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await press(pilot, "tab", "r")
        assert app.chat.prompt.text == "r"
        await press(pilot, "enter")
        await until(pilot, lambda: len(app.chat.session.sent) == 2)
        await until(pilot, lambda: not app.chat.runner.is_running)
        retried = []
        app.chat.session.retry = lambda: retried.append(1) or app.chat.session._play()
        await press(pilot, "tab", "r")
        await until(pilot, lambda: retried)
        assert app.chat.prompt.text == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.sample(3)
async def test_transcript_lists_its_keys_while_it_has_the_focus(app, size):
    async with app.run_test(size=size) as pilot:
        await sent_hello(pilot)
        assert "Up/Down move" not in screen_text(app)
        await press(pilot, "tab")
        assert "Up/Down move · Enter open · Tab back" in screen_text(app)
        assert ("c copy" in screen_text(app)) == (size[0] >= 80)
        await press(pilot, "ctrl+c")
        assert "press Ctrl+C again to quit" in screen_text(app)
        await press(pilot, "x")
        assert "Up/Down move" not in screen_text(app)


async def test_hints_fit_after_a_resize(app):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "Shift+Tab mode" in screen_text(app)
        await pilot.resize_terminal(40, 24)
        await until(pilot, lambda: "? keys · / commands · @ files ─" in screen_text(app))


async def test_keys_of_the_transcript_stay_visible_on_a_screen_that_becomes_short(app):
    async with app.run_test(size=(80, 24)) as pilot:
        await sent_hello(pilot)
        await press(pilot, "tab")
        await pilot.resize_terminal(80, 12)
        await until(pilot, lambda: "Up/Down move" in screen_text(app).splitlines()[-1])


@pytest.mark.parametrize("size", SIZES)
async def test_question_mark_in_an_empty_prompt_shows_the_keys(app, size):
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "?")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))
        await until(pilot, lambda: "In the prompt" in screen_text(app))
        assert app.chat.prompt.text == ""
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_question_mark_in_a_text_is_typed(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"why?")
        assert app.chat.prompt.text == "why?"
        assert app.screen is app.chat
        app.set_focus(app.chat.transcript)
        await burst(pilot, "?")
        assert app.chat.prompt.text == "why??"


async def test_text_typed_in_a_report_closes_it_and_goes_to_the_prompt(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, "?", *"hello", "enter")
        await until(pilot, lambda: app.chat.session.sent == ["hello"])
        assert app.screen is app.chat
        assert app.focused is app.chat.prompt


async def test_keys_of_other_agents_recall_earlier_prompts(app):
    async with app.run_test() as pilot:
        await sent_hello(pilot)
        await press(pilot, *"draft", "ctrl+p")
        assert app.chat.prompt.text == "hello"
        await press(pilot, "ctrl+n")
        assert app.chat.prompt.text == "draft"


def test_every_key_of_a_screen_or_widget_is_in_the_table():
    for module in pkgutil.walk_packages(tui.__path__, "yourtool.tui."):
        importlib.import_module(module.name)
    classes, ours = [Widget], []
    for each in classes:
        classes += each.__subclasses__()
        if each.__module__.startswith("yourtool."):
            ours += [(each.__name__, key) for key in each.__dict__.get("BINDINGS", ())]
    ids = {key.id for key in KEYS}
    others = [(name, key) for name, key in ours if getattr(key, "id", "") not in ids]
    assert len(ours) > 60
    assert [(name, key[0]) for name, key in others] == [("Answers", "enter")], "`list.choose`"


def test_every_key_belongs_to_a_section_of_the_help():
    sections = describe_keys()
    assert sum(len(section.rows) for section in sections) == sum(bool(key.keys) for key in KEYS)
    assert all(isinstance(section, Section) and section.rows for section in sections)


def test_hints_are_dropped_from_the_end():
    assert fit_hints(["a 1", "b 2", "c 3"], 9) == "a 1 · b 2"
    assert fit_hints(["a 1", "b 2"], 2) == ""
    assert place_hints("transcript")[0] == "Up/Down move"
