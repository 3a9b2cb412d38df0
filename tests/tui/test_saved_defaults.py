"""Saving the model and the theme as defaults."""

import pytest
from textual.widgets import OptionList

from tests.tui.fakes import GPT, SONNET, FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, say, screen_text, until
from yourtool.settings.config import Config, RunOptions, load_config
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.picker import Picker


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hi", "Hello."), workspace=tmp_path / "work")
    runtime = FakeRuntime(tmp_path / "home", session)

    async def opens():
        return runtime

    return YourtoolApp(opens), session, runtime


def config(runtime):
    return load_config(runtime.paths, {})


async def test_theme_is_saved_as_the_default(opened):
    app, _, runtime = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/theme light --save")
        await until(pilot, lambda: "as the default theme" in screen_text(app))
        assert (app.theme, config(runtime).theme) == ("light", "light")


async def test_theme_is_not_saved_without_the_option(opened):
    app, _, runtime = opened
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/theme light")
        await until(pilot, lambda: app.theme == "light")
        assert config(runtime).theme == Config().theme


@pytest.mark.parametrize(
    ("command", "model"), [("/model gpt --save", GPT.id), ("/model --save", SONNET.id)]
)
async def test_model_is_saved_as_the_default(opened, command, model):
    app, session, runtime = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, command)
        await until(pilot, lambda: "as the default model" in screen_text(app))
        assert (session.model.id, config(runtime).model) == (model, model)
        assert runtime.config.model == model, "the next session of this run has it too"


@pytest.mark.remaining
async def test_key_in_the_list_saves_the_model(opened):
    app, _, runtime = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/models")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await until(pilot, lambda: app.screen.query_one(OptionList).highlighted is not None)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: config(runtime).model == SONNET.id)


async def test_list_shows_each_theme_and_escape_restores_the_first(opened):
    app, _, runtime = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        first = app.theme
        await say(pilot, "/theme")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, *"light")
        await until(pilot, lambda: app.theme == "light")
        await press(pilot, "escape")
        await until(pilot, lambda: app.theme == first)
        assert config(runtime).theme == Config().theme


async def test_theme_of_the_list_is_kept_in_the_file(opened):
    app, _, runtime = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/theme")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, *"light", "enter")
        await until(pilot, lambda: "as the default theme" in screen_text(app))
        assert (app.theme, config(runtime).theme) == ("light", "light")


@pytest.mark.needs("extensions/settings_list")
@pytest.mark.needs("extensions/vim")
async def test_setting_that_is_changed_inside_is_used_at_once(opened):
    app, session, runtime = opened
    session.use_settings = lambda config: None
    runtime.options = RunOptions(workspace=session.workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/vim")
        await until(pilot, lambda: "INSERT" in screen_text(app))
        await say(pilot, "/config")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, *"ui.vim", "enter")
        await until(pilot, lambda: not config(runtime).ui.vim)
        await until(pilot, lambda: app.chat.prompt.key_mode.name == "")
