"""Events of Textual from the input of a terminal."""

import pytest
from textual import events
from textual.messages import TerminalSupportsSynchronizedOutput

from yourtool.process.terminal_input.reader import Reader
from yourtool.tui.terminal.terminal_events import TerminalEvents


def build(sent):
    reader, replies = Reader(), []
    items = [*reader.feed(sent.encode("latin-1"), 0.0), *reader.tick(9.0)]
    return list(TerminalEvents(replies.append).build(items)), replies


@pytest.mark.parametrize(
    ("sent", "key", "character"),
    [
        ("a", "a", "a"),
        ("?", "question_mark", "?"),
        ("\x1b[A", "up", None),
        ("\x1b[59;5u", "ctrl+semicolon", None),
        ("\x1b[43;5u", "ctrl+plus", None),
        ("\x1b[32;5u", "ctrl+@", None),
        ("\x00", "ctrl+@", "\x00"),
        ("\r", "enter", "\r"),
        ("\x1b[13;2u", "shift+enter", None),
        ("\x1b[13;5u", "ctrl+enter", None),
        ("\x1b[57405u", "6", "6"),
        ("\x1f", "ctrl+underscore", "\x1f"),
    ],
)
def test_key_has_the_name_that_is_bound(sent, key, character):
    [event], _ = build(sent)
    assert isinstance(event, events.Key)
    assert (event.key, event.character) == (key, character)


def test_composed_character_is_typed_in_full():
    typed, _ = build("\x1b[0;;101:769u")
    assert "".join(event.character for event in typed) == "e\u0301"


def test_paste_is_one_event():
    [paste], _ = build("\x1b[200~two\nlines\x1b[201~")
    assert isinstance(paste, events.Paste) and paste.text == "two\nlines"


@pytest.mark.parametrize(
    ("sent", "kind", "button"),
    [
        ("\x1b[<0;3;4M", events.MouseDown, 1),
        ("\x1b[<0;3;4m", events.MouseUp, 1),
        ("\x1b[<2;3;4M", events.MouseDown, 3),
        ("\x1b[<35;3;4M", events.MouseMove, 0),
        ("\x1b[<64;3;4M", events.MouseScrollUp, 0),
        ("\x1b[<65;3;4M", events.MouseScrollDown, 0),
        ("\x1b[M \x23\x24", events.MouseDown, 1),
        ("\x1b[M\x23\x23\x24", events.MouseUp, 0),
        ("\x1b[32;3;4M", events.MouseDown, 1),
        ("\x1b[35;3;4M", events.MouseUp, 0),
    ],
)
def test_report_of_the_mouse_is_an_event_at_its_place(sent, kind, button):
    [event], _ = build(sent)
    assert type(event) is kind
    assert (event.x, event.y, event.button) == (2, 3, button)


def test_old_report_far_to_the_right_has_its_place():
    [event], _ = build("\x1b[M \xe3\xa9")
    assert (event.x, event.y) == (0xE3 - 33, 0xA9 - 33)


def test_movement_and_modifiers_of_the_mouse_are_known():
    [_, event], _ = build("\x1b[<35;3;4M\x1b[<52;10;2M")
    assert (event.delta_x, event.delta_y) == (7, -2)
    assert (event.shift, event.meta, event.ctrl) == (True, False, True)


def test_focus_of_the_terminal_is_an_event():
    found, _ = build("\x1b[I\x1b[O")
    assert [type(event) for event in found] == [events.AppFocus, events.AppBlur]


def test_replies_are_reported_and_typed_nowhere():
    found, replies = build("\x1b[?2026;2$y\x1b[?2026;0$y\x1b[?5u\x1b]11;rgb:0/0/0\x07")
    assert [type(event) for event in found] == [TerminalSupportsSynchronizedOutput]
    assert replies[1:] == ["\x1b[?2026;0$y", "\x1b[?5u", "\x1b]11;rgb:0/0/0\x07"]
