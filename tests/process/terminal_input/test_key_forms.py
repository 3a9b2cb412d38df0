"""Sixty forms of keys, each of a terminal that sends it, have one name and one text."""

import pytest

from tests.process.terminal_input.test_reader import read, typed
from yourtool.process.terminal_input.items import Key, Text, Unknown
from yourtool.process.terminal_input.key_forms import get_latin_letter

NAMES = {
    "\r": "enter", "\n": "ctrl+j", "\t": "tab", "\x7f": "backspace", "\x08": "backspace",
    "\x00": "ctrl+@", "\x03": "ctrl+c", "\x1c": "ctrl+\\", "\x1f": "ctrl+_",
    # Alt in a VT100
    "\x1b\r": "alt+enter", "\x1bp": "alt+p", "\x1bP": "alt+shift+p", "\x1b\x06": "alt+ctrl+f",
    "\x1bb": "ctrl+left", "\x1bf": "ctrl+right", "\x1b\x7f": "ctrl+w", "\x1b]": "alt+]",
    "\x1b\t": "shift+tab",
    # xterm
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[1;5A": "ctrl+up", "\x1b[1;3D": "alt+left",
    "\x1b[1;6H": "ctrl+shift+home", "\x1b[Z": "shift+tab", "\x1b[1;5Z": "ctrl+shift+tab",
    "\x1b[3~": "delete", "\x1b[3;5~": "ctrl+delete", "\x1b[5~": "pageup", "\x1bOP": "f1",
    "\x1b[15~": "f5", "\x1b[24;2~": "shift+f12", "\x1b[1;2P": "shift+f1", "\x1b[1;5R": "ctrl+f3",
    "\x1bO5P": "ctrl+f1", "\x1b[27;2;13~": "shift+enter", "\x1b[27;5;111~": "ctrl+o",
    "\x1b[27;2;9~": "shift+tab", "\x1b[27;3;13~": "alt+enter",
    # rxvt, the Linux console, old multiplexers
    "\x1b[a": "shift+up", "\x1bOd": "ctrl+left", "\x1b[3$": "shift+delete", "\x1b[7^": "ctrl+home",
    "\x1b[8@": "ctrl+shift+end", "\x1b[[A": "f1", "\x1b[[E": "f5", "\x1b[5C": "ctrl+right",
    "\x1bOM": "enter", "\x9bA": "up", "\x8fP": "f1",
    # the keyboard protocol
    "\x1b[27u": "escape", "\x1b[13u": "enter", "\x1b[13;2u": "shift+enter",
    "\x1b[97;5u": "ctrl+a", "\x1b[97:65;6u": "ctrl+shift+a", "\x1b[97;69u": "ctrl+a",
    "\x1b[32;5u": "ctrl+ ", "\x1b[59;5u": "ctrl+;", "\x1b[9;6u": "ctrl+shift+tab",
    "\x1b[57414;129u": "enter", "\x1b[57419u": "up", "\x1b[57376u": "f13",
    "\x1b[98;3u": "ctrl+left", "\x1b[1;5:2A": "ctrl+up",
    "\x1b[127;3u": "ctrl+w", "\x1b[97;9u": "super+a",
    # other layouts
    "\x1b[1089::99;5u": "ctrl+c", "\x1b[1074::100;5u": "ctrl+d", "\x1b[1089;5u": "ctrl+c",
    "\x1b[968::99;5u": "ctrl+c", "\x1b[1489;5u": "ctrl+c", "\x1b[1379::97;5u": "ctrl+a",
}  # fmt: skip
TEXTS = {
    "a": "a", "£": "£", "€": "€", "\x1b[97u": "a", "\x1b[97;2u": "A", "\x1b[97:65;2u": "A",
    "\x1b[49:33;2u": "!", "\x1b[33u": "!", "\x1b[32u": " ", "\x1b[32;2u": " ", "\x1b[97;65u": "A",
    "\x1b[97;66u": "a", "\x1b[50;65u": "2", "\x1b[233;2u": "É", "\x1b[223;2u": "ß",
    "\x1b[113;7;64u": "@", "\x1b[64;7u": "@", "\x1b[8364;7u": "€", "\x1b[27;7;64~": "@",
    "\x1b[97;;229u": "å", "\x1b[0;;101:769u": "e\u0301", "\x1b[97;3;229u": "å",
    "\x1b[27;2;65~": "A", "\x1b[57404;129u": "5", "\x1bOu": "5", "\x1b[1089u": "с",
    "\x1b[97;1:2u": "a",
}  # fmt: skip
NOTHING = (
    "\x1b[97;1:3u", "\x1b[1;1:3A", "\x1b[57441;2u", "\x1b[57430u", "\x1b[9999999;1u",
    "\x1b[27;5;1114112~", "\x1b[55296u", "\x1b[0u", "\x1b[99999999999999u",
    "\x1b[u", "\x1b[~", "\x1b[99~", "\x1b[E", "\x1b[1;2;3;4;5X", "\x1b[38;2m",
    "\x1b[<1M", "\x1b[<0;0;0M", "\x1b[<999999999;1;1M", "\x1bOz", "\x1b[[Z", "\x85",
    "\x1b[-5A", "\x1b[<35;-1;5M",
)  # fmt: skip


@pytest.mark.parametrize(("sent", "name"), NAMES.items(), ids=map(repr, NAMES))
def test_form_of_a_key_has_its_name(sent, name):
    [item] = read(sent)
    assert isinstance(item, Key) and item.name == name


@pytest.mark.parametrize(("sent", "text"), TEXTS.items(), ids=map(repr, TEXTS))
def test_form_of_a_character_types_it(sent, text):
    assert typed(read(sent)) == text


@pytest.mark.parametrize("sent", NOTHING, ids=repr)
def test_form_that_is_no_key_has_no_effect(sent):
    assert typed(read(f"a{sent}", "b")) == "ab"
    assert any(isinstance(item, Unknown) for item in read(sent))
    assert not any(isinstance(item, Text) for item in read(sent))


def test_text_that_no_terminal_can_have_is_not_typed():
    assert typed(read("\x1b[97;1;1114112u")) == "a"
    assert typed(read("\x1b[97;1;27:7u")) == "a"


@pytest.mark.parametrize(
    ("letters", "latin"),
    [("нфтдуч", "yanlex"), ("υανλεχ", "yanlex"), ("טשמךקס", "yanlex"), ("yn1?é日", "yn1?é日")],
)
def test_letter_of_another_layout_has_the_key_of_a_latin_one(letters, latin):
    assert "".join(map(get_latin_letter, letters)) == latin
    assert get_latin_letter("Н") == "Y"
