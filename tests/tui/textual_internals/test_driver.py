"""Contracts of the driver: a version of Textual that breaks one of them needs another way."""

import asyncio
import os
import signal
import threading

import pytest
from textual import events
from textual.app import App

from yourtool.tui.textual_internals.driver import KeyParser, OutputFileDriver


class SlowFile:
    """Takes nothing until it is opened."""

    def __init__(self, descriptor):
        self.opened = threading.Event()
        self.text = ""
        self.fileno = lambda: descriptor

    def write(self, text):
        assert self.opened.wait(20)
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return False


class SilentDriver(OutputFileDriver):
    def run_input_thread(self):
        """Read nothing."""


@pytest.fixture
def file():
    numbers = signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH
    before = [signal.getsignal(number) for number in numbers]
    descriptor = os.open(os.devnull, os.O_RDWR)
    yield SlowFile(descriptor)
    os.close(descriptor)
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


async def test_all_is_drawn_on_our_file_whose_texts_are_counted(monkeypatch, file):
    """`_file`: without it, nothing could redirect standard error, and a slow terminal would stop
    the turn, because the waiting frames are not counted."""
    monkeypatch.setattr("sys.__stdin__", file)
    driver = SilentDriver(App(), file)
    driver.start_application_mode()
    driver.write("<frame>")
    assert driver.waiting_writes > 1
    file.opened.set()
    await asyncio.to_thread(driver.close)
    assert driver.waiting_writes == 0
    assert file.text.startswith("\x1b[?1049h") and file.text.endswith("<frame>")


def test_bytes_of_a_terminal_become_events():
    """`_xterm_parser`: without it, keys that were typed ahead and replies of the terminal between
    keys would need a parser of our own for all terminals."""
    parser = KeyParser()
    [key, paste] = [*parser.feed("\x1b[1;5A"), *parser.feed("\x1b[200~text\x1b[201~")]
    assert isinstance(key, events.Key) and key.key == "ctrl+up"
    assert isinstance(paste, events.Paste) and paste.text == "text"
    assert [*parser.feed("\x1b"), *parser.tick()] == []
