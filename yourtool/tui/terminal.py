"""What reaches the terminal beside the screen: where it is drawn, its title, calls for attention.

Sequences: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (OSC 2, XTWINOPS 22 and 23) and
https://iterm2.com/documentation-escape-codes.html (OSC 9).
"""

import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from yourtool.text import printable
from yourtool.tui.keyboard import read_keys

_PLAIN = ("", "dumb", "linux")
"""Values of TERM whose terminals would print such sequences or know nothing of them."""


class OutputDriver(LinuxDriver):
    """Draws on standard output, so that standard error may be a file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if sys.__stdout__ is not None:
            sys.__stdout__.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]  # a text stream
            self._file = sys.__stdout__
        self._asleep = False
        self._listening = threading.Event()
        self._typed_ahead = b""

    def listen(self, typed_ahead: bytes) -> None:
        """Begin to read keys, after those typed ahead: there is a widget that takes them."""
        if not self._listening.is_set():
            self._typed_ahead = typed_ahead
            self._listening.set()

    def run_input_thread(self) -> None:
        """Read keys and pastes until the program ends.

        The terminal buffers them until `listen` is called. The toolkit drops keys that no widget
        has the focus for.
        """
        while not self._listening.wait(0.05):
            if self.exit_event.is_set():
                return
        parser = XTermParser(self._debug)
        typed_ahead, self._typed_ahead = self._typed_ahead, b""
        is_over = self.exit_event.is_set
        for event in read_keys(self.fileno, parser.feed, parser.tick, is_over, typed_ahead):
            self.process_message(event)

    def _sigtstp_application(self, *arguments: Any) -> None:
        self._asleep = True
        super()._sigtstp_application(*arguments)

    def _sigcont_application(self, *arguments: Any) -> None:
        """Take the terminal back once, although both the shell and the supervisor wake us."""
        if self._asleep:
            self._asleep = False
            super()._sigcont_application(*arguments)
        self._app.refresh(layout=True)  # the shell wrote where the screen was


def can_be_woken() -> bool:
    """Return whether a shell with job control started the program, and can continue it.

    Stopping without one would freeze the terminal. Such a shell gives every job a process group,
    see https://www.gnu.org/software/libc/manual/html_node/Orphaned-Process-Groups.html.
    """
    return os.getsid(0) != os.getpgrp()


def titled(name: str, environ: Mapping[str, str]) -> str:
    """Return what names the window after a directory, and keeps the title it had."""
    if environ.get("TERM", "") in _PLAIN:
        return ""
    return f"\x1b[22;2t\x1b]2;yourtool — {_one_line(name)}\x07"


def untitled(environ: Mapping[str, str]) -> str:
    """Return what gives the window its title back."""
    return "" if environ.get("TERM", "") in _PLAIN else "\x1b[23;2t"


def called(words: str, environ: Mapping[str, str]) -> str:
    """Return a bell and, where it is understood, a notification."""
    if environ.get("TERM", "") in _PLAIN:
        return "\x07"
    return f"\x07\x1b]9;yourtool: {_one_line(words)}\x07"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
