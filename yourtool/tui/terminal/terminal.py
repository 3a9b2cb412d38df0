"""Terminal driver, window title and notifications.

Sequences: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (OSC 2, XTWINOPS 22 and 23) and
https://iterm2.com/documentation-escape-codes.html (OSC 9).
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

from textual import events
from textual.app import App
from textual.geometry import Size
from textual.message import Message

from yourtool.foundation.text import printable
from yourtool.process.terminal_input.key_forms import parse_keyboard_flags
from yourtool.process.terminal_input.reader import Reader
from yourtool.process.terminal_modes import (
    Settings,
    get_settings,
    has_lost_terminal,
    is_in_foreground,
    set_settings,
)
from yourtool.tui.terminal.keyboard import SelectableEvent, read_items
from yourtool.tui.terminal.terminal_background import BackgroundReported, parse_is_dark
from yourtool.tui.terminal.terminal_events import TerminalEvents
from yourtool.tui.textual_internals.driver import TEXTUAL_KEYBOARD, OutputFileDriver

_SLICE, _SLICE_SECONDS = 20, 0.01
"""Keys typed ahead are handled in slices, so that many of them do not block the event loop."""
_ATTEMPTS, _ATTEMPT_SECONDS = 50, 0.1
"""To report an error while there is no memory for it."""
_ALTERNATE_SCREEN = "\x1b[?1049h"
_KEYBOARD = "\x1b[>5u\x1b[?u"
"""Keys that would be ambiguous get other forms, with their place in a US layout, and the terminal
replies which of both it does. Text stays text: https://sw.kovidgoyal.net/kitty/keyboard-protocol/
"""
_MAX_TITLE = 120
"""Characters of a title; that of an imported session can be longer."""
BASIC_TERMINALS = ("", "dumb", "linux")
"""Values of TERM whose terminals print or ignore these sequences."""
_MOUSE_ON = "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h"
_MOUSE_OFF = "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
_MODES_ON = "\x1b[?25l\x1b[?1004h\x1b[?2004h\x1b[?7l\x1b[=5u"
"""No cursor, reports of the focus, brackets around pastes, no line wrap, other forms of keys."""
_REPAINT_SECONDS = 0.1
"""After the last change of the size."""


_MAX_WAITING = 12
"""Writes that the terminal has not taken, three for a frame; Textual queues 30 of them."""


@runtime_checkable
class TerminalOwner(Protocol):
    """An app that uses the driver."""

    def use_terminal(self, terminal: "OutputDriver") -> None:
        """Called before the driver starts."""


class OutputDriver(OutputFileDriver):
    """Draws on standard output, so that standard error can be redirected."""

    def __init__(self, app: App[Any], *, mouse: bool, **options: Any) -> None:
        if sys.__stdout__ is not None:
            sys.__stdout__.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]  # a text stream
        # GNU screen keeps Esc until the next key if a program uses the mouse
        self._has_mouse = mouse and "STY" not in os.environ
        self._owner = app
        self._is_suspended = False
        self._settings: Settings | None = None
        """Those of the terminal while the interface has it."""
        super().__init__(app, sys.__stdout__, mouse=self._has_mouse, **options)
        self._stop: Any = signal.getsignal(signal.SIGTSTP)
        self._continue: Any = signal.getsignal(signal.SIGCONT)
        """The handlers of Textual."""
        signal.signal(signal.SIGTSTP, self._note_stop)
        signal.signal(signal.SIGCONT, self._continue_once)
        self._event_loop = asyncio.get_running_loop()
        self.exit_event = self._reading_ended = SelectableEvent()
        self._is_released = False
        self._interrupt_handler: Any = None
        self._repaint: asyncio.TimerHandle | None = None
        """A window that was small for a moment has lost cells, although its size is as before."""
        self._is_interrupted = False
        self.is_early_prompt_shown = False
        """Whether the terminal shows the early prompt; set before the driver starts."""
        self._can_read = threading.Event()
        self._take_keys: Callable[[], bytes] = bytes
        self.shows_page = False
        """Whether the screen of the shell is visible; any key ends it."""
        if isinstance(app, TerminalOwner):
            app.use_terminal(self)

    class TypedAheadHandled(Message):
        """Sent to the app after all the keys that were typed before it read them."""

    class ReadingFailed(Message):
        """Sent to the app when no more keys are read, with the reason."""

        def __init__(self, error: Exception) -> None:
            super().__init__()
            self.error = error

    def send_message(self, message: Message) -> None:
        """Post a message of the thread that reads, in one step: Textual needs a task for it."""
        self._event_loop.call_soon_threadsafe(self._owner.post_message, message)

    def start_reading(self, take_keys: Callable[[], bytes]) -> None:
        """Start to read keys, beginning with those typed ahead, when a widget has the focus.

        `take_keys` returns the latter, and is called in a thread.
        """
        self._take_keys = take_keys
        self._can_read.set()

    @property
    def is_reading(self) -> bool:
        """Whether `start_reading` was called."""
        return self._can_read.is_set()

    def run_input_thread(self) -> None:
        """Read keys; end the program if that fails, because no key could end it."""
        try:
            self._read_input()
        except Exception as error:  # noqa: BLE001 - the top level of the thread
            self._report_failure(error)

    def _report_failure(self, error: Exception) -> None:
        for _ in range(_ATTEMPTS):
            with suppress(MemoryError):
                with suppress(RuntimeError):  # the event loop has ended, and the program with it
                    self.send_message(self.ReadingFailed(error))
                break
            time.sleep(_ATTEMPT_SECONDS)

    def _read_input(self) -> None:
        """Read keys and pastes until the program ends.

        Until `start_reading` is called, the terminal buffers them, because Textual drops keys while
        no widget has the focus.
        """
        while not self._can_read.wait(0.05):
            if self.exit_event.is_set():
                return
        take_keys, self._take_keys = self._take_keys, bytes
        reader = Reader()
        built = TerminalEvents(lambda reply: self._note_reply(reader, reply))
        is_ahead, left = True, _SLICE
        for items in read_items(self.fileno, reader, self._reading_ended, take_keys()):
            for event in built.build(items):
                self.process_message(event)
                left -= 1
                if left == 0:
                    self.exit_event.wait(_SLICE_SECONDS)
                    left = _SLICE
            if is_ahead:
                self.send_message(self.TypedAheadHandled())
                is_ahead, left = False, _SLICE

    def _note_reply(self, reader: Reader, reply: str) -> None:
        """Use a reply of the terminal to a query; no other has an effect."""
        if (is_dark := parse_is_dark(reply)) is not None:
            self._owner.post_message(BackgroundReported(is_dark))
        elif (flags := parse_keyboard_flags(reply)) is not None:
            reader.has_sure_escape = bool(flags & 1)

    def write(self, data: str) -> None:
        """Write to the terminal; discard frames while it shows a page or is released.

        After the early prompt, the alternate screen is on: some terminals clear it when it is
        turned on again.
        """
        if data == _ALTERNATE_SCREEN and self.is_early_prompt_shown:
            self.is_early_prompt_shown = False
        elif not (self.shows_page or self._is_released):
            super().write(_KEYBOARD if data == TEXTUAL_KEYBOARD else data)

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has not read the last frames; after more, `write` would wait."""
        return self.waiting_writes > _MAX_WAITING

    def show_page(self, text: str) -> None:
        """Print a text on the screen of the shell, with its scrollback, until `hide_page`."""
        if self._has_mouse:
            self.write(_MOUSE_OFF)
        self.write(f"\x1b[?1049l\x1b[?25h{text}")
        self.flush()
        self.shows_page = True

    def hide_page(self) -> None:
        """Return to the alternate screen, which has to be painted again."""
        self.shows_page = False
        self.write("\x1b[?1049h\x1b[?25l")
        if self._has_mouse:
            self.write(_MOUSE_ON)

    def stop_application_mode(self) -> None:
        """Restore the terminal, also while it shows a page."""
        self.shows_page = False
        super().stop_application_mode()

    def suspend_application_mode(self) -> None:
        """Release the terminal to a shell or another program.

        Its settings are those of the shell until it is taken back: Ctrl+C sends a signal that
        would end this program.
        """
        self._is_interrupted, self._settings = False, None
        self._interrupt_handler = signal.signal(signal.SIGINT, self._note_interrupt)
        super().suspend_application_mode()
        self._is_released = True

    def resume_application_mode(self) -> None:
        """Take the terminal back; it has to be painted again."""
        self._is_released = False
        super().resume_application_mode()
        signal.signal(signal.SIGINT, self._interrupt_handler)

    def start_application_mode(self) -> None:
        """Take the terminal, and report its changes of size in their order.

        Textual reads the size in the handler of the signal: a second signal during that reports
        its size first, and the old one would be the last.
        """
        super().start_application_mode()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._report_size)
        self._settings = get_settings()

    def _report_size(self) -> None:
        size = Size(*self.get_size())
        self.process_message(events.Resize(size, size))
        if self._repaint is not None:
            self._repaint.cancel()
        loop = asyncio.get_running_loop()
        self._repaint = loop.call_later(_REPAINT_SECONDS, self._owner.refresh)

    def _note_interrupt(self, *_: Any) -> None:
        self._is_interrupted = True

    def _note_stop(self, number: int, frame: FrameType | None) -> None:
        self._is_suspended = True
        self._stop(number, frame)

    def _continue_once(self, number: int, frame: FrameType | None) -> None:
        """Resume once, although both the shell and the supervisor send SIGCONT.

        In the background, stop again, because shells send nothing to a running program that they
        move to the foreground. After a stop without a signal that can be handled (SIGSTOP, a read
        in the background), the shell has changed the terminal. A Ctrl+C since the shell resumed the
        program, but before the terminal was taken back, is a key like any other.
        """
        if self._is_released and not self._is_suspended:
            return  # a program of the user has the terminal
        if not is_in_foreground():
            if self._is_suspended:
                os.kill(os.getpid(), signal.SIGSTOP)
            return
        if self._settings is not None and has_lost_terminal():
            set_settings(self._settings)
            self.write(_ALTERNATE_SCREEN + _MODES_ON + (_MOUSE_ON if self._has_mouse else ""))
        if self._is_suspended:
            self._is_suspended = False
            self._continue(number, frame)
            if self._is_interrupted:
                self.process_message(events.Key("ctrl+c", "\x03"))
        self._owner.refresh(layout=True)  # the shell overwrote the screen


def save_title_sequence(environ: Mapping[str, str]) -> str:
    """Return the sequence that saves the window title."""
    return "" if environ.get("TERM", "") in BASIC_TERMINALS else "\x1b[22;2t"


def get_directory_name() -> str:
    """Return the name of the working directory; empty if it was removed."""
    with suppress(OSError):
        return Path.cwd().name
    return ""


def set_title_sequence(title: str, directory: str, environ: Mapping[str, str]) -> str:
    """Return the sequence that shows the session's title, if it has one, and a directory name."""
    if environ.get("TERM", "") in BASIC_TERMINALS:
        return ""
    shown = f"{title[:_MAX_TITLE]} · {directory}" if title else directory
    return f"\x1b]2;yourtool — {_to_one_line(shown)}\x07"


def restore_title_sequence(environ: Mapping[str, str]) -> str:
    """Return the sequence that restores the saved window title."""
    return "" if environ.get("TERM", "") in BASIC_TERMINALS else "\x1b[23;2t"


def notification_sequence(text: str, environ: Mapping[str, str]) -> str:
    """Return a bell and, if the terminal supports it, a notification."""
    if environ.get("TERM", "") in BASIC_TERMINALS:
        return "\x07"
    return f"\x07\x1b]9;yourtool: {_to_one_line(text)}\x07"


def _to_one_line(text: str) -> str:
    return " ".join(printable(text).split())
