"""What stays in the terminal after exit."""

import signal

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import say, settle, until
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.sessions import _get_command


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "Hello to you."), workspace=tmp_path / "work")

    async def opens():
        return FakeRuntime(tmp_path / "home", session)

    return YourtoolApp(opens)


async def talk(pilot):
    await until(pilot, lambda: pilot.app.chat.session is not None)
    await say(pilot, "hello")
    await until(pilot, lambda: pilot.app.chat.session.state.messages)
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)
    await settle(pilot)


RESUME = "To continue this session: yourtool --resume sess_1\n"


@pytest.mark.parametrize("code", [None, 128 + signal.SIGTERM])
async def test_conversation_and_the_command_that_resumes_it_are_printed_on_exit(app, code):
    async with app.run_test() as pilot:
        await talk(pilot)
        await app.shut_down(code)
    assert "hello" in app.last_words
    assert "Hello to you." in app.last_words
    assert app.last_words.endswith(f"\n\n{RESUME}")


async def test_setting_prints_only_the_command_that_resumes(app):
    app.apply_settings(UiConfig(scrollback_on_exit=False))
    async with app.run_test() as pilot:
        await talk(pilot)
        await app.shut_down()
    assert app.last_words == RESUME


async def test_nothing_is_printed_after_a_hangup(app):
    async with app.run_test() as pilot:
        await talk(pilot)
        await app.shut_down(128 + signal.SIGHUP)
    assert app.last_words == ""


async def test_nothing_is_printed_for_a_session_without_messages(app):
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await app.shut_down()
    assert app.last_words == ""


def test_command_to_continue_has_its_directory_if_the_shell_does_not_find_it(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["/opt/some tools/bin/yourtool"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _get_command() == "'/opt/some tools/bin/yourtool'"
    (tmp_path / "yourtool").touch(mode=0o755)
    assert _get_command() == "yourtool"
