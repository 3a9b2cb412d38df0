"""The settings inside the program."""

from types import SimpleNamespace

import pytest

from yourtool.agent.commands.base import Choose, EnterText, Invocation, Report, SettingChanged
from yourtool.agent.history.state import State
from yourtool.events.deltas import Notice
from yourtool.extensions.settings_list.handlers import HANDLERS
from yourtool.extensions.settings_list.weaker import describe_weakening
from yourtool.paths import resolve_paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.settings.config import Config, Mode, RunOptions, config_file, load_config
from yourtool.settings.first_files import install_defaults
from yourtool.settings.tables import flatten, format_key


@pytest.fixture
def place(tmp_path, home):
    """Return a session and a runtime, with the settings of the first run."""
    paths, used = resolve_paths(), []
    install_defaults(paths)
    work = tmp_path / "work"
    work.mkdir()
    runtime = SimpleNamespace(
        paths=paths,
        config=Config(),
        options=RunOptions(workspace=work),
        catalogue=Catalogue.load(paths),
    )
    session = SimpleNamespace(workspace=work, use_settings=used.append, used=used)
    return session, runtime


async def run(place, name="config", argument=""):
    return [each async for each in HANDLERS[name](*place, argument)]


async def follow(results):
    return [each async for each in results]


async def choose(place, name):
    """Choose a setting in the list; return the results."""
    [shown] = await run(place)
    return await follow(shown.then(name))


def find_row(shown, name):
    [row] = [each for each in shown.choices if each.value == name]
    return row


def write(text):
    config_file(resolve_paths()).write_text(text)


async def test_list_has_every_setting_with_value_source_and_sentence(place, monkeypatch):
    monkeypatch.setenv("YOURTOOL_THEME", "light")
    write('mode = "plan"\n[limits]\nmax_retries = 3\n')
    place[1].options = RunOptions(workspace=place[0].workspace, model="a:b")
    [shown] = await run(place)
    assert {each.value for each in shown.choices} == {format_key(k) for k, _ in flatten(Config())}
    assert all(each.detail.endswith(".") for each in shown.choices)
    rows = {each.value: each.cells for each in shown.choices}
    assert rows["mode"] == ('"plan"', "config.toml:1")
    assert rows["limits.max_retries"] == ("3", "config.toml:3")
    assert rows["theme"] == ('"light"', "YOURTOOL_THEME")
    assert rows["model"] == ('"a:b"', "--model")
    assert rows["budget.day"] == ("–", "default")
    assert rows["limits.max_cost_per_turn_usd"] == ("5", "default")


async def test_boolean_is_toggled_in_the_file_and_used_at_once(place):
    saved, changed, shown = await choose(place, "ui.vim")
    assert saved.text.startswith("`ui.vim = true` in ") and saved.text.endswith(": at once.")
    assert changed == SettingChanged("settings")
    assert place[1].config.ui.vim is True and place[0].used == [place[1].config]
    assert find_row(shown, "ui.vim").cells[0] == "true" and shown.current == "ui.vim"
    await choose(place, "ui.vim")
    assert load_config(place[1].paths, {}).ui.vim is False


async def test_choice_offers_the_words_that_a_file_can_have(place):
    [asked] = await choose(place, "mode")
    assert [each.value for each in asked.choices] == ["ask", "accept-edits", "plan"]
    saved, *_ = await follow(asked.then("plan"))
    assert "in new sessions" in saved.text
    assert load_config(place[1].paths, {}).mode is Mode.PLAN


async def test_number_is_edited_in_place_until_it_is_valid(place):
    [asked] = await choose(place, "limits.max_retries")
    assert isinstance(asked, EnterText) and asked.value == "2"
    [again] = await follow(asked.then("many"))
    assert again.value == "many" and "`many` is no value: write a number" in again.explanation
    [again] = await follow(again.then("99"))
    assert "expected `int` <= 10" in again.explanation
    await follow(again.then("7"))
    assert load_config(place[1].paths, {}).limits.max_retries == 7
    [unchanged] = await follow(asked.then(""))
    assert isinstance(unchanged, Choose)


async def test_list_and_amount_and_model_are_checked(place):
    [asked] = await choose(place, "ui.status")
    [again] = await follow(asked.then('["cots"]'))
    assert "Invalid enum value" in again.explanation or "must be one of" in again.explanation
    await follow(again.then('["cost"]'))
    assert load_config(place[1].paths, {}).ui.status == ("cost",)
    [asked] = await choose(place, "budget.day")
    [again] = await follow(asked.then("0"))
    assert "a limit of 0 would stop every request" in again.explanation
    [asked] = await choose(place, "model")
    [again] = await follow(asked.then("nosuch"))
    assert "nosuch" in again.explanation
    await follow(again.then("sonnet"))
    assert load_config(place[1].paths, {}).model.startswith("anthropic:")


async def test_setting_of_the_environment_or_an_option_names_what_sets_it(place, monkeypatch):
    monkeypatch.setenv("YOURTOOL_EFFORT", "high")
    place[1].options = RunOptions(workspace=place[0].workspace, mode=Mode.PLAN)
    before = config_file(place[1].paths).read_bytes()
    for name, words in (("effort", "variable `YOURTOOL_EFFORT`"), ("mode", "option `--mode`")):
        notice, shown = await choose(place, name)
        assert isinstance(notice, Notice) and words in notice.text
        assert isinstance(shown, Choose)
    assert config_file(place[1].paths).read_bytes() == before


async def test_values_that_are_never_shown_are_edited_in_the_file(place):
    write('[providers.a]\nheaders = {k = "secret-value"}\n[[hooks]]\nevent="Stop"\ncommand="x"\n')
    for name, line in (("providers.a.headers", 2), ("hooks", 3)):
        notice, shown = await choose(place, name)
        assert f"config.toml:{line}" in notice.text
    assert "secret-value" not in str(shown)


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("mode", Mode.ASK, Mode.ACCEPT_EDITS),
        ("mode", Mode.PLAN, Mode.ASK),
        ("sandbox.enabled", None, False),
        ("sandbox.require", "full", "none"),
        ("sandbox.auto_allow", False, True),
        ("sandbox.hosts", (), ("a.org",)),
        ("sandbox.hidden", ("~/a",), ()),
        ("sandbox.outside", (), ("git push *",)),
        ("shell.environment.hide", ("A",), ()),
        ("ui.enter_approves", False, True),
        ("providers.a.base_url", None, "http://x"),
    ],
)
def test_change_that_weakens_is_recognised_and_its_opposite_is_not(key, old, new):
    path = tuple(key.split("."))
    assert describe_weakening(path, old, new)
    assert not describe_weakening(path, new, new)
    if path[0] != "providers":
        assert not describe_weakening(path, new, old)


async def test_change_that_weakens_asks_first(place):
    before = config_file(place[1].paths).read_bytes()
    [asked] = await choose(place, "sandbox.enabled")
    assert [each.value for each in asked.choices] == ["true", "false"]
    [question] = await follow(asked.then("false"))
    assert question.title == "Commands of models then run with all your rights."
    assert question.choices[0].title == "Keep"
    await follow(question.then(""))
    assert config_file(place[1].paths).read_bytes() == before
    await follow(question.then("yes"))
    assert load_config(place[1].paths, {}).sandbox.enabled is False
    [shown] = await run(place)
    *_, last = await follow(shown.actions[0].then("sandbox.enabled"))
    assert isinstance(last, Choose)
    assert load_config(place[1].paths, {}).sandbox.enabled is None, "the default is not weaker"


async def test_theme_is_chosen_in_its_own_list(place):
    [invoked] = await choose(place, "theme")
    assert isinstance(invoked, Invocation) and invoked.command.name == "theme"


async def test_vim_switches_the_keys_for_good(place):
    saved, changed = await run(place, "vim")
    assert "`ui.vim = true`" in saved.text and changed == SettingChanged("settings")
    assert load_config(place[1].paths, {}).ui.vim is True


async def test_file_that_cannot_be_changed_is_reported(place):
    write("[ui]\nvim = false\n")
    [shown] = await run(place)
    write("theme = ")
    notice, *_ = await follow(shown.then("ui.vim"))
    assert notice.level == "error" and "not TOML" in notice.text


async def test_hooks_are_listed_with_source_and_state(place):
    [report] = await run(place, "hooks")
    assert isinstance(report, Report) and "There are none" in report.sections[0].rows[0][1]
    write('[[hooks]]\nevent = "PreToolUse"\nmatcher = "Bash"\ncommand = "guard"\n')
    (place[0].workspace / ".yourtool").mkdir()
    (place[0].workspace / ".yourtool" / "config.toml").write_text(
        '[[hooks]]\nevent = "Stop"\ncommand = "x"\n'
    )
    [report] = await run(place, "hooks")
    rows = dict(report.sections[0].rows)
    assert rows["PreToolUse Bash"].startswith("guard\nruns; ")
    assert "config.toml:1" in rows["PreToolUse Bash"]
    assert "not trusted" in rows[".yourtool/config.toml"]
    write('[[hooks]]\nevent = "PreToolUze"\ncommand = "guard"\n')
    [report] = await run(place, "hooks")
    assert "no hook of this file runs" in dict(report.sections[0].rows)["mistake"]


async def test_status_and_doctor_show_what_a_session_runs_with(place):
    session, runtime = place
    session.id, session.mode, session.project = "sess_1", Mode.ASK, session.workspace
    session.model, session.sandbox_level = SimpleNamespace(id="a:b"), "full"
    session.state = State()
    write("thme = 1\n")
    [report] = await run(place, "status")
    rows, files = (dict(each.rows) for each in report.sections)
    assert rows["session"].startswith("sess_1") and rows["model"] == "a:b"
    assert rows["mode"].startswith("ask") and rows["sandbox"] == "full"
    assert rows["cost"] == "$0.00, 0 turns"
    texts = [text for _, text in report.sections[1].rows]
    assert str(config_file(runtime.paths)) in texts
    assert any("did you mean `theme`" in each for each in texts), files
    _, report = await run(place, "doctor")
    sections = {each.title: dict(each.rows) for each in report.sections}
    assert "✗ thme" in sections["config"] and "✓ yourtool" in sections["program"]
    assert "✓ SQLite" in sections["store"]
