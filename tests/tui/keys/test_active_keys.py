"""Changed keys work, and everything that names keys shows them."""

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, screen_text, settle, until
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.keys.active_keys import describe_keys, get_label, use_keymap
from yourtool.tui.screens.report import ReportScreen

KEYS = {
    "chat": {"mode": "f2", "keys": "f1", "folds": []},
    "prompt": {"send": "alt+enter", "newline": "enter", "queue": []},
    "transcript": {"copy": "y"},
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    yield tmp_path / "home"
    use_keymap(UiConfig())


def app_with(home, settings):
    session = FakeSession(turn("hello", "Hello to you."), workspace=home.parent / "work")
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    app.apply_settings(settings)
    return app


@pytest.mark.req("R-TUI-23")
async def test_changed_keys_work_and_the_old_ones_do_not(home):
    app = app_with(home, UiConfig(keys=KEYS))
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"a", "enter", *"b")
        assert app.chat.prompt.text == "a\nb"
        await press(pilot, "alt+enter")
        await until(pilot, lambda: app.chat.session.sent == ["a\nb"])
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "shift+tab")
        assert app.chat.session.mode == "ask"
        await press(pilot, "f2")
        await until(pilot, lambda: app.chat.session.mode == "accept-edits")
        await press(pilot, "tab", "c")
        assert app.chat.prompt.text == "c"
        await press(pilot, "backspace", "tab", "y")
        assert app.clipboard == "Hello to you."


async def test_hints_and_help_name_the_keys_in_use(home):
    app = app_with(home, UiConfig(keys=KEYS))
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        assert "F1 keys · / commands · @ files · F2 mode" in screen_text(app)
        await press(pilot, "f1")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))
        await until(pilot, lambda: "Alt+Enter" in screen_text(app))
        shown = screen_text(app)
        assert "Shift+Tab" not in shown
        assert "Ctrl+O" not in shown
    rows = dict(row for section in describe_keys() for row in section.rows)
    assert "y" in rows
    assert get_label("chat.folds") == ""


async def test_broken_entry_has_no_effect_and_its_warning_is_a_notice(home):
    app = app_with(home, UiConfig(keys={"chat": {"mode": "ctrl+o"}}))
    app.config_warnings = ("config.toml:2: `ctrl+o` is also the key of `chat.folds`",)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await until(pilot, lambda: "config.toml:2: `ctrl+o` is also the key" in screen_text(app))
        await press(pilot, "shift+tab")
        await until(pilot, lambda: app.chat.session.mode == "accept-edits")
