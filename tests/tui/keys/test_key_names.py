"""The names of keys in the settings."""

import string

import pytest
from textual.keys import _character_to_key

from yourtool.tui.keys.key_names import (
    KeyNameError,
    format_key_name,
    get_character,
    get_key_label,
    is_character,
    parse_key,
)


@pytest.mark.parametrize(
    ("written", "name", "label"),
    [
        ("ctrl+a", "ctrl+a", "Ctrl+A"),
        ("Ctrl+A", "ctrl+a", "Ctrl+A"),
        ("control+shift+f5", "ctrl+shift+f5", "Ctrl+Shift+F5"),
        ("shift+ctrl+up", "ctrl+shift+up", "Ctrl+Shift+Up"),
        ("esc", "escape", "Esc"),
        ("PgUp", "pageup", "Page Up"),
        ("?", "question_mark", "?"),
        ("question_mark", "question_mark", "?"),
        ("+", "plus", "+"),
        ("ctrl++", "ctrl+plus", "Ctrl++"),
        ("ctrl+_", "ctrl+underscore", "Ctrl+_"),
        ("ctrl+space", "ctrl+@", "Ctrl+Space"),
        ("shift+n", "N", "N"),
        ("N", "N", "N"),
        ("n", "n", "n"),
        ("ö", "ö", "ö"),
        ("option+p", "alt+p", "Alt+P"),
        ("alt+enter", "alt+enter", "Alt+Enter"),
        ("space", "space", "Space"),
    ],
)
def test_key_has_one_name_inside_the_program_and_a_label(written, name, label):
    assert parse_key(written) == name
    assert get_key_label(name) == label
    assert parse_key(format_key_name(name)) == name


@pytest.mark.parametrize("character", string.punctuation + "aZ9")
def test_character_has_the_name_that_textual_gives_it(character):
    assert parse_key(character) == _character_to_key(character)
    assert is_character(parse_key(character))
    assert get_character(parse_key(character)) == character


@pytest.mark.parametrize(
    ("written", "message", "nearest"),
    [
        ("ctrl+i", "most terminals send `tab` for `ctrl+i`", "tab"),
        ("Ctrl+[", "most terminals send `escape` for `Ctrl+[`", "escape"),
        ("entr", "`entr` is not the name of a key", "enter"),
        ("crtl+a", "`crtl` is no modifier", "ctrl"),
        ("", "a key is missing", None),
        ("ctrl+x ctrl+e", "`x ctrl` is no modifier", None),
        ("shift+1", "`1` is typed with its own Shift; leave `shift+` out", None),
        ("ctrl+shift+a", "`a` is typed with its own Shift; leave `shift+` out", None),
    ],
)
def test_wrong_name_is_refused_with_the_one_that_was_meant(written, message, nearest):
    with pytest.raises(KeyNameError) as refused:
        parse_key(written)
    assert str(refused.value) == message
    if nearest is not None:
        assert refused.value.nearest == nearest


def test_keys_that_type_nothing_are_no_characters():
    assert not any(is_character(key) for key in ("enter", "f1", "ctrl+a", "up"))
    assert get_character("enter") == ""
