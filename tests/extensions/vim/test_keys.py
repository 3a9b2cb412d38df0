"""Vim's modes in the prompt."""

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.extensions.vim.keys import build_key_mode
from yourtool.tui.app import YourtoolApp
from yourtool.tui.widgets.key_mode import KeyMode


@pytest.fixture
def session(tmp_path):
    (tmp_path / "work").mkdir()
    return FakeSession(turn("hello", "Hello to you."), workspace=tmp_path / "work")


@pytest.fixture
def app(tmp_path, monkeypatch, session):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    runtime = FakeRuntime(tmp_path / "home", session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    app.chat.prompt.key_mode = build_key_mode(app.chat.prompt)
    return app


async def all_sent(pilot):
    chat = pilot.app.chat
    await until(pilot, lambda: not chat.runner.is_running and not len(chat.runner.queue))
    await settle(pilot)


async def test_status_line_shows_the_mode_and_the_incomplete_command(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "INSERT" in screen_text(app)
        await press(pilot, *"ab", "escape")
        assert "NORMAL" in screen_text(app)
        await press(pilot, *"2d")
        assert "NORMAL 2d" in screen_text(app)
        await press(pilot, "escape")
        assert "NORMAL " in screen_text(app) and "2d" not in screen_text(app)


async def test_commands_at_any_speed_edit_the_prompt_and_enter_sends(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"one two", "escape", *"0dwi", *"new ", "escape", *"xu", "enter")
        await all_sent(pilot)
        assert session.sent == ["new two"]
        await burst(pilot, *"dd")
        assert app.chat.prompt.text == "dd", "an empty prompt is in the insert mode"


@pytest.mark.remaining
async def test_ctrl_r_redoes_in_the_normal_mode_and_searches_in_the_insert_mode(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"abc", "escape", "x", "u", "ctrl+r")
        assert app.chat.prompt.text == "ab"
        await burst(pilot, "A", "ctrl+r")
        await until(pilot, lambda: app.screen is not app.chat)


async def test_only_escape_in_the_normal_mode_stops_a_turn(app, session):
    async with app.run_test() as pilot:
        await settle(pilot)
        stopped: list[bool] = []
        app.chat.runner.stop = lambda: stopped.append(True)
        app.chat.runner.is_running = True
        await press(pilot, *"x", "escape")
        assert stopped == []
        await press(pilot, "escape")
        assert stopped == [True]
        app.chat.runner.is_running = False


async def test_j_and_k_at_the_edge_recall_prompts(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "first")
        await all_sent(pilot)
        await burst(pilot, *"now", "escape", "k")
        assert app.chat.prompt.text == "first"
        await burst(pilot, "j")
        assert app.chat.prompt.text == "now"


async def test_without_the_setting_escape_changes_no_mode(app):
    app.chat.prompt.key_mode = KeyMode()
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"ab", "escape", *"dd")
        assert app.chat.prompt.text == "abdd"
        assert "INSERT" not in screen_text(app)
