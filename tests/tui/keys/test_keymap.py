"""The keys of the settings: changes, conflicts, and keys that cannot be used."""

from itertools import combinations, cycle

import pytest

from yourtool.settings.tables import parse_toml
from yourtool.tui.keys.key_names import is_character
from yourtool.tui.keys.key_presets import PRESETS
from yourtool.tui.keys.keymap import ANSWERS, build_keymap, find_actions
from yourtool.tui.keys.keys import KEYS

DIALOGS = {"list", "report"}


def keymap_of(toml):
    return build_keymap("default", parse_toml(toml))


def problems_of(toml):
    return [str(problem) for problem in keymap_of(toml).problems]


@pytest.mark.req("R-TUI-23")
def test_action_gets_one_key_several_keys_or_none():
    keymap = keymap_of('chat.retry = "F5"\nchat.history = ["ctrl+r", "alt+r"]\nchat.queue = []')
    assert keymap.problems == ()
    assert keymap.keys["chat.retry"] == ("f5",)
    assert keymap.keys["chat.history"] == ("ctrl+r", "alt+r")
    assert keymap.keys["chat.queue"] == ()
    assert keymap.keys["chat.folds"] == ("ctrl+o",)


@pytest.mark.parametrize(
    "toml",
    ['"chat.retry" = "f5"', 'chat.retry = "f5"', '[chat]\nretry = "f5"', "chat.retry = ['f5']"],
)
def test_name_of_an_action_can_be_quoted_dotted_or_in_a_table(toml):
    assert keymap_of(toml).keys["chat.retry"] == ("f5",)


def test_none_removes_the_keys():
    assert keymap_of('chat.retry = "none"').keys["chat.retry"] == ()


def test_swapped_keys_are_no_conflict():
    keymap = keymap_of('chat.retry = "ctrl+o"\nchat.folds = "ctrl+t"')
    assert keymap.problems == ()
    assert keymap.keys["chat.retry"] == ("ctrl+o",)


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        (
            'chat.rety = "f5"',
            "`ui.keys.chat.rety`: there is no such action; did you mean `chat.retry`?",
        ),
        (
            'chat.retry = "ctlr+t"',
            "`ui.keys.chat.retry`: `ctlr` is no modifier; did you mean `ctrl`?",
        ),
        (
            "chat.retry = 5",
            '`ui.keys.chat.retry`: must be a key such as `"ctrl+t"`, a list of keys,'
            " or `[]` for none",
        ),
        (
            'chat.retry = "ctrl+o"',
            "`ui.keys.chat.retry`: `ctrl+o` is also the key of `chat.folds`;"
            " use another key, or free this one with `chat.folds = []`",
        ),
        (
            'prompt.newline = "ctrl+o"',
            "`ui.keys.prompt.newline`: `ctrl+o` is also the key of `chat.folds`;"
            " use another key, or free this one with `chat.folds = []`",
        ),
        (
            'chat.retry = "f5"\nchat.folds = "f5"',
            "`ui.keys.chat.folds`: `f5` is also the key of `chat.retry`;"
            " use another key, or change that entry",
        ),
        (
            'chat.retry = "x"',
            "`ui.keys.chat.retry`: `x` is typed as text there;"
            " add `ctrl+` or `alt+`, or use `f1` to `f12`",
        ),
        (
            'chat.retry = "backspace"',
            "`ui.keys.chat.retry`: `backspace` edits the text; add `ctrl+` or `alt+`",
        ),
        (
            'chat.keys = "/"',
            "`ui.keys.chat.keys`: `/` starts a prompt; use another sign, or add `ctrl+` or `alt+`",
        ),
        ("chat.interrupt = []", "`ui.keys.chat.interrupt`: needs at least one key"),
        ('approval.choose = "x"', "`ui.keys.approval.choose`: its keys cannot be changed"),
    ],
)
def test_mistake_has_no_effect_and_is_reported_with_the_way_out(toml, problem):
    keymap = keymap_of(toml)
    assert problem in [str(each) for each in keymap.problems]
    assert len(keymap.problems) == 1
    if "rety" not in toml and "chat.folds" not in toml:
        assert keymap.keys == build_keymap().keys


UNGUARDED = (
    "enter",
    "space",
    "tab",
    "escape",
    "up",
    "ctrl+y",
    "f1",
    "alt+a",
    "backspace",
    "ctrl+c",
)
"""Keys that are no character: which of them it is does not depend on the action."""


@pytest.mark.parametrize(("action", "key"), zip(ANSWERS, cycle(UNGUARDED)))
def test_answer_to_an_approval_prompt_is_always_a_guarded_character(action, key):
    keymap = keymap_of(f'{action} = "{key}"')
    assert "could answer by accident" in str(keymap.problems[0])
    assert keymap.keys == build_keymap().keys


def test_answers_can_be_other_characters():
    keymap = keymap_of(
        'approval.once = "y"\napproval.session = "1"\napproval.deny = "n"\napproval.note = "g"'
    )
    assert keymap.problems == ()
    changed = {"y": "a", "1": "s", "w": "w", "f": "f", "i": "i", "n": "d", "g": "r", "p": "p"}
    others = {"l": "l", "m": "m", "e": "e", "x": "x", "o": "o", "h": "h", "t": "t"}
    assert keymap.answers == {**changed, **others}


def test_entry_that_falls_back_to_a_key_in_use_takes_the_other_one_along():
    keymap = keymap_of('chat.folds = "ctrl+t"\nchat.retry = "ctrl+r"')
    assert {each.key[-1] for each in keymap.problems} == {"retry", "folds"}
    assert keymap.keys == build_keymap().keys


@pytest.mark.parametrize("preset", PRESETS)
def test_no_key_of_a_preset_has_two_actions_in_one_place(preset):
    keymap = build_keymap(preset)
    for one, other in combinations([key for key in KEYS if key.action], 2):
        places = {one.place, other.place}
        if len(places) == 1 or ("chat" in places and not places & DIALOGS):
            assert not set(keymap.keys[one.id]) & set(keymap.keys[other.id]), (one.id, other.id)


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_can_be_written_as_entries(preset):
    changes = {action: list(keys) for action, keys in PRESETS[preset].items()}
    names = {
        action: [key.replace("question_mark", "?") for key in keys]
        for action, keys in changes.items()
    }
    keymap = build_keymap("default", names)
    assert keymap.problems == ()
    assert keymap.keys == build_keymap(preset).keys
    assert all(is_character(key) for key in keymap.answers)


def test_actions_of_a_key_are_listed_by_place():
    found = [row.id for row in find_actions(build_keymap(), "enter")]
    assert found[0] == "prompt.send"
    assert "transcript.toggle" in found


def test_changed_entries_are_checked_in_linear_time():
    many = "\n".join(f'chat.unknown{number} = "f5"' for number in range(1000))
    assert len(problems_of(many)) == 1000
