"""A paste never presses a key."""

import itertools
import os
import pty
import selectors
import threading
import time
import tty

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from yourtool.tui.terminal.keyboard import (
    PASTE_END,
    PASTE_START,
    VISIBLE_ESCAPE,
    PasteFilter,
    SelectableEvent,
    read_keys,
    unify_keys,
)

PASTED = st.text(st.sampled_from(["\x1b", "[", "3", "1", "m", "\n", "\r", "a", "~", "2", "0", "O"]))


def pieces(text, cuts):
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(edges)]


@given(
    PASTED.filter(lambda text: PASTE_END not in f"{text}{PASTE_END}"[:-1]),
    st.lists(st.integers(0, 99)),
)
def test_paste_is_one_event_for_any_content_and_chunking(text, cuts):
    parser, pastes = XTermParser(), PasteFilter()
    came = [pastes(piece) for piece in pieces(f"x{PASTE_START}{text}{PASTE_END}yz", cuts)]
    events = [event for some in came if some for event in parser.feed(some)]
    shown = text.replace("\x1b", VISIBLE_ESCAPE)
    assert [event.text for event in events if isinstance(event, Paste)] == [shown]
    assert [event.key for event in events if isinstance(event, Key)] == ["x", "y", "z"]


@pytest.mark.parametrize("keys", ["\x1b", "\x1b[A", "\x1bf", "\x1b[20", "a\x1b[200"])
def test_keys_outside_a_paste_are_not_delayed(keys):
    pastes = PasteFilter()
    assert pastes(keys) == keys
    assert pastes("\r") == "\r"


def test_undecodable_bytes_are_skipped_and_a_closed_terminal_ends_the_keys():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.write(ours, b"a\xffb")
    heard, done = [], threading.Event()

    def feed(text):
        heard.append(text)
        if "b" in "".join(heard):
            os.close(ours)
        return ()

    def run():
        list(read_keys(theirs, feed, lambda: (), SelectableEvent()))
        done.set()

    threading.Thread(target=run, daemon=True).start()
    assert done.wait(10)
    assert "".join(heard) == "a\ufffdb"
    os.close(theirs)


def test_input_that_another_program_has_read_does_not_end_the_keys():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.set_blocking(theirs, False)  # as a program can leave the terminal that it shares
    ended, heard = SelectableEvent(), []

    def feed(text):
        heard.append(text)
        ended.set()
        return ()

    select, later = selectors.DefaultSelector.select, []

    def steal(self, timeout=None):
        if later:
            os.write(ours, later.pop())
        elif found := select(self, timeout):
            later.append(b"b")
            os.read(theirs, 99)
            return found
        return select(self, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selectors.DefaultSelector, "select", steal)
        os.write(ours, b"stolen")
        list(read_keys(theirs, feed, lambda: (), ended))
    assert heard == ["b"]
    os.close(ours)
    os.close(theirs)


def test_reading_keys_ends_at_once_and_can_begin_again():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ended = SelectableEvent()
    heard = []

    def run():
        list(read_keys(theirs, lambda text: heard.append(text) or (), lambda: (), ended))

    for typed in "ab":
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        os.write(ours, typed.encode())
        while typed not in heard:
            time.sleep(0.01)
        ended.set()
        thread.join(10)
        assert not thread.is_alive()
        ended.clear()
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b\r", "alt+enter"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
        ("\x1b[13;5u", "ctrl+enter"),
        ("\x1b[27;5;111~", "ctrl+o"),
        ("\x1b[27;2;9~", "shift+tab"),
        ("\n", "ctrl+j"),
        ("\r", "enter"),
    ],
)
def test_every_form_of_a_key_has_the_name_that_is_bound(sent, key):
    assert [event.key for event in XTermParser(False).feed(unify_keys(sent))] == [key]
