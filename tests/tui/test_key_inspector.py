"""`/keys` names the keys that are pressed."""

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.keys.active_keys import use_keymap
from yourtool.tui.keys.key_names import KeyNameError, format_key_name, parse_key
from yourtool.tui.keys.keys import KEYS
from yourtool.tui.screens.key_inspector import KeyInspector, describe_key


@pytest.fixture(autouse=True)
def default_keys():
    yield
    use_keymap(UiConfig())


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    runtime = FakeRuntime(tmp_path / "home", FakeSession(workspace=tmp_path))

    async def opens():
        return runtime

    return YourtoolApp(opens)


def rows_of(key):
    return dict(describe_key(key, is_text=len(key) == 1).rows)


@pytest.mark.req("R-TUI-23")
@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
@pytest.mark.sample(2)
async def test_keys_names_each_pressed_key_without_obeying_it_until_esc(app, size):
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/keys")
        await until(pilot, lambda: isinstance(app.screen, KeyInspector))
        for key, shown in (
            ("ctrl+o", "`ctrl+o`"),
            ("ctrl+c", "`ctrl+c`"),
            ("ctrl+d", "`ctrl+d`"),
            ("ctrl+q", "`ctrl+q`"),
            ("shift+tab", "`shift+tab`"),
            ("q", "`q`"),
            ("enter", "`enter`"),
            ("tab", "`tab`"),
        ):
            await press(pilot, key)
            assert shown in screen_text(app)
            assert isinstance(app.screen, KeyInspector)
        await press(pilot, "escape")
        await settle(pilot)
        assert app.screen is app.chat
        assert app.chat.prompt.text == ""
        assert app.chat.session.mode == "ask"


@pytest.mark.req("R-TUI-23")
def test_key_is_described_with_its_action_in_every_place():
    rows = rows_of("ctrl+t")
    assert rows["Name"] == "`ctrl+t` in `[ui.keys]`"
    assert rows["Anywhere"] == "retry a failed turn (`chat.retry`)"
    assert rows["In a list"].endswith("(`list.preview`)")
    assert rows_of("n")["In the transcript"].endswith("(`transcript.next_match`)")
    assert rows_of("n")["In the prompt"] == "types the character"
    assert rows_of("ctrl+w")["In the prompt"] == "delete left to start of word"
    assert rows_of("f9")["Action"] == "none"


def test_changed_keys_are_described_as_changed():
    use_keymap(UiConfig(keys={"chat": {"retry": "f5"}}))
    assert rows_of("f5")["Anywhere"].endswith("(`chat.retry`)")
    assert "Anywhere" not in rows_of("ctrl+t")


def test_keys_that_terminals_do_not_distinguish_are_named_together():
    assert rows_of("tab")["Also"] == "most terminals send the same for Ctrl+I"


def test_key_that_cannot_be_set_is_described_so():
    assert rows_of("ctrl+shift+a")["Name"].startswith("none")
    assert rows_of("section_sign")["Name"].startswith("none")


def test_every_name_that_is_shown_can_be_set():
    for key in {key for row in KEYS for key in row.keys.split(",") if key}:
        assert parse_key(format_key_name(key)) == key


def test_sign_without_a_name_is_refused_as_a_key():
    with pytest.raises(KeyNameError, match="`§` cannot be"):
        parse_key("§")
