"""A program whose screen is the same in every run."""

from pathlib import Path

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.parsed_styles import share_parsed_styles
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.keys.active_keys import use_keymap
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command


@pytest.fixture(autouse=True)
def default_keys():
    """The keymap is that of the process; no test leaves its own to the next one."""
    yield
    use_keymap(UiConfig())


@pytest.fixture(autouse=True)
def parsed_styles(monkeypatch):
    share_parsed_styles(monkeypatch)


class Still:
    """A clock that only the test moves, so that durations stay zero."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def app_of(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def make(*scripts, theme="dark"):
        session = FakeSession(*(scripts or (turn("hello", "Hello to you."),)), workspace=work)
        runtime = FakeRuntime(tmp_path / "home", session)
        runtime.options.workspace = Path("/home/me/work")  # the screen must not vary

        async def opens():
            return runtime

        app, clock = YourtoolApp(opens, theme=theme), Still()
        app.chat = ChatScreen(run_command, clock)
        app.runtime_of_test, app.session_of_test, app.clock = runtime, session, clock
        return app

    return make
