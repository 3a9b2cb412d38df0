"""Contracts of the driver: a version of Textual that breaks one of them needs another way."""

import asyncio
import fcntl
import os
import signal
import struct
import termios
import threading

import pytest
from textual.app import App

from yourtool.tui.textual_internals.driver import TEXTUAL_KEYBOARD, OutputFileDriver


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


async def test_size_is_that_of_the_terminal_and_not_of_the_environment(monkeypatch, file):
    """`_get_terminal_size`: without it, an exported `COLUMNS` of another window would be the width
    of every screen."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    file.fileno = lambda: theirs
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "60")
    monkeypatch.setattr("sys.__stdin__", file)
    app = App()
    app._driver = driver = SilentDriver(app, file)
    assert driver.get_size() == (77, 33)
    sent = []
    driver.send_message = sent.append
    app._post_message = lambda event: asyncio.sleep(0, sent.append(event))
    driver.start_application_mode()
    while not sent:
        await asyncio.sleep(0.01)
    assert sent[0].size == (77, 33)
    file.opened.set()
    await asyncio.to_thread(driver.close)
    os.close(ours)
    os.close(theirs)


async def test_textual_asks_for_the_keyboard_in_one_write(monkeypatch, file):
    """The text that our driver replaces: without it, a terminal would send letters as sequences,
    and some terminals send none for characters such as the euro sign."""
    monkeypatch.setattr("sys.__stdin__", file)
    driver = SilentDriver(App(), file)
    written = []
    monkeypatch.setattr(driver, "write", written.append)
    driver.start_application_mode()
    assert TEXTUAL_KEYBOARD in written
    await asyncio.to_thread(driver.close)
