"""Keys are read until the program ends or the terminal closes."""

import os
import pty
import selectors
import threading
import time
import tty

import pytest

from yourtool.process.terminal_input.reader import Reader
from yourtool.tui.terminal.keyboard import SelectableEvent, read_items


def read_sources(terminal, ended):
    for items in read_items(terminal, Reader(), ended):
        for item in items:
            yield item.source


def test_closed_terminal_ends_the_keys():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.write(ours, b"b")
    done = threading.Event()

    def run():
        for _ in read_sources(theirs, SelectableEvent()):
            os.close(ours)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    assert done.wait(10)
    os.close(theirs)


def test_input_that_another_program_has_read_does_not_end_the_keys():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.set_blocking(theirs, False)  # as a program can leave the terminal that it shares
    ended, heard = SelectableEvent(), []
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
        for source in read_sources(theirs, ended):
            heard.append(source)
            ended.set()
    assert heard == ["b"]
    os.close(ours)
    os.close(theirs)


def test_reading_keys_ends_at_once_and_can_begin_again():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ended = SelectableEvent()
    heard = []

    def listen():
        for source in read_sources(theirs, ended):
            heard.append(source)

    for typed in "ab":
        thread = threading.Thread(target=listen, daemon=True)
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


def test_time_completes_a_key_without_more_input():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ended = SelectableEvent()
    os.write(ours, b"\x1b")
    for source in read_sources(theirs, ended):
        assert source == "\x1b"
        ended.set()
    os.close(ours)
    os.close(theirs)
