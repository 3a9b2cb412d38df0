"""Early prompt.

It is shown while the program below it imports the interface. All keys and pastes are stored and
handed over, so the echo is only a preview: the interface decides what a key does.
"""

import os
import select
import signal
import termios
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Sequence
from contextlib import suppress

from yourtool.process.early_prompt.first_screen import FirstScreen, load_first_screen
from yourtool.process.early_prompt.handover import Handover, Pipes
from yourtool.process.early_prompt.line_editor import LineEditor
from yourtool.process.early_prompt.typing_ahead import PASTES_ON, set_up
from yourtool.process.terminal_input.items import Item, to_bytes
from yourtool.process.terminal_input.reader import Reader
from yourtool.process.terminal_modes import RESET, Settings, get_settings, is_in_foreground, restore

OPTIONS = {
    "-c": 0,
    "--continue": 0,
    "--in-words": 0,
    "--no-sandbox": 0,
    "-m": 1,
    "--model": 1,
    "--mode": 1,
    "--effort": 1,
    "--cwd": 1,
    "--add-dir": 1,
    "--allow": 1,
    "--deny": 1,
}
"""Options of a command line that opens the interface, with their number of values."""

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l"
"""Alternate screen, no cursor, no automatic line wrap; as the interface has them."""
_CLEAR = b"\x1b[m\x1b[2J"
_LOOK_SECONDS = 0.05
"""How often the size of the terminal is compared."""
_READ_BYTES = 65_536


def opens_interface(arguments: Sequence[str]) -> bool:
    """Return whether a command line opens the interface, if its values are valid."""
    at = 0
    while at < len(arguments):
        name, sign, _ = arguments[at].partition("=")
        if (values := OPTIONS.get(name)) is None or (sign and not values):
            return False
        at += 1 if sign else 1 + values
    return at == len(arguments)


class EarlyPrompt:
    """Shows the first screen, and stores what is typed; `saved` are the settings of the shell."""

    def __init__(self, screen: FirstScreen, size: os.terminal_size, saved: Settings) -> None:
        pipes = Pipes()
        self.handover = Handover(pipes, saved)
        self.was_quit = False
        """Whether the user quit in the early prompt."""
        self._pipes = pipes
        self._screen: FirstScreen | None = screen
        self._size = size
        self._saved = saved
        self._editor = LineEditor(screen.width, screen.max_rows)
        self._reader = Reader()
        self._typed = bytearray()
        self._painted: tuple[str, ...] = ()
        self._is_shown = False
        self._lock = allocate_lock()  # the main thread hides it while this job is stopped
        self._serving = allocate_lock()
        """Locked while the thread is running."""
        self._program = 0

    def show(self, program: int) -> None:
        """Paint the first screen and start to read keys; `program` is the process to quit."""
        self._program = program
        self._pipes.keep_prompt_ends()
        try:
            typed, erase = set_up(interrupts=False)
            os.write(1, erase)
        except (OSError, termios.error):  # the terminal is closed
            typed = b""
        self._keep(self._reader.feed_ahead(typed, time.monotonic(), is_checked=False))
        self.show_again()
        self._serving.acquire()
        try:
            start_new_thread(self._serve, ())
        except RuntimeError:  # no memory for a thread: the terminal buffers what is typed
            self._serving.release()
            self._pipes.give(bytes(self._typed) + self._reader.pending)

    def show_again(self) -> None:
        """Paint everything, unless the program has taken over."""
        with self._lock:
            if self._screen is not None and not self._pipes.is_answered:
                self._is_shown, self._painted = True, ()
                self._write(_ENTER + PASTES_ON)
                self._paint()

    def hide(self) -> bool:
        """Leave the screen, because the program and this process are stopped.

        Return whether the prompt was shown.
        """
        with self._lock:
            was_shown, self._is_shown = self._is_shown, False
            if was_shown:
                self._write(RESET)
            return was_shown

    def end(self) -> None:
        """Wait until nothing is painted any more; the program has ended."""
        with self._serving:
            return

    # ── the thread ──────────────────────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        """Echo keys until the program asks for them or ends."""
        try:
            self._echo_until_asked()
            is_release = self._pipes.is_release()
            with self._lock:
                was_shown, self._is_shown = self._is_shown, False
            if is_release and was_shown:
                restore(self._saved)
        finally:
            self._pipes.give(bytes(self._typed) + self._reader.pending)
            self._serving.release()

    def _echo_until_asked(self) -> None:
        watched = [self._pipes.asked, 0]
        while True:
            ready, _, _ = select.select(watched, (), (), _LOOK_SECONDS)
            if self._pipes.asked in ready:
                return
            if 0 in ready and not self._read():
                watched.remove(0)  # the terminal is closed
            self._keep(self._reader.tick(time.monotonic()))
            with self._lock:
                if self._is_shown:
                    self._follow_size()
                    self._paint()

    def _read(self) -> bool:
        """Read keys; False at the end of the input."""
        try:
            typed = os.read(0, _READ_BYTES)
        except OSError:
            return False
        self._keep(self._reader.feed(typed, time.monotonic()))
        if self._editor.wants_to_quit and not self.was_quit:
            self.was_quit = True
            with suppress(ProcessLookupError):
                os.kill(self._program, signal.SIGTERM)
        return bool(typed)

    def _keep(self, items: list[Item]) -> None:
        self._typed += to_bytes(items)
        self._editor.feed(items)

    def _follow_size(self) -> None:
        """After a resize, show the first screen of the new size, if it is known."""
        try:
            size = os.get_terminal_size(1)
        except OSError:
            return
        if size == self._size:
            return
        self._size = size
        self._screen = load_first_screen(*size)
        self._painted = ()
        self._write(_CLEAR)
        if self._screen is not None:
            self._editor.resize(self._screen.width, self._screen.max_rows)

    def _paint(self) -> None:
        """Write the rows that changed."""
        if self._screen is None:
            return
        rows = self._screen.rows_with(self._editor)
        before = self._painted or ("",) * len(rows)
        changed = [
            f"\x1b[{at};1H{row}"
            for at, (row, old) in enumerate(zip(rows, before, strict=True), 1)
            if row != old
        ]
        self._painted = rows
        self._write("".join(changed).encode())

    def _write(self, output: bytes) -> None:
        with suppress(OSError):  # the terminal is closed
            while output:
                output = output[os.write(1, output) :]


def find_early_prompt(arguments: Sequence[str]) -> EarlyPrompt | None:
    """Return the early prompt if this terminal can show it and the first screen is known."""
    if not (opens_interface(arguments) and os.isatty(0) and os.isatty(1) and is_in_foreground()):
        return None
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return None
    screen, settings = load_first_screen(*size), get_settings()
    if screen is None or settings is None:
        return None
    return EarlyPrompt(screen, size, settings)
