"""Reading of the keyboard in a thread."""

import os
import selectors
import threading
import time
from collections.abc import Iterator

from yourtool.process.terminal_input.items import Item
from yourtool.process.terminal_input.reader import Reader

_TICK_SECONDS = 0.03


class SelectableEvent(threading.Event):
    """An event that a selector can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._set_reader, self._set_writer = os.pipe()

    def fileno(self) -> int:
        """Return the descriptor that is readable while the event is set."""
        return self._set_reader

    def set(self) -> None:
        """Set the event."""
        if not self.is_set():
            super().set()
            os.write(self._set_writer, b"x")

    def clear(self) -> None:
        """Clear the event; only the thread that set it may do so."""
        if self.is_set():
            os.read(self._set_reader, 1)
            super().clear()


def read_items(
    terminal: int, reader: Reader, done: SelectableEvent, typed_ahead: bytes = b""
) -> Iterator[list[Item]]:
    """Yield what the terminal sends and what the time without input completes, until `done`.

    The first list is from `typed_ahead`, input that was read before and is checked for bursts; it
    can end inside a character or a sequence. Reading also ends when the terminal is closed. While
    nothing is incomplete, nothing wakes the thread.
    """
    yield reader.feed_ahead(typed_ahead, time.monotonic(), is_checked=True)
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        selector.register(done, selectors.EVENT_READ)
        while not done.is_set():
            if selector.select(_TICK_SECONDS if reader.is_waiting else None) and not done.is_set():
                try:
                    typed = os.read(terminal, 65_536)
                except BlockingIOError:  # a program that shares the terminal has read it
                    continue
                except OSError:
                    return
                if not typed:
                    return
                yield reader.feed(typed, time.monotonic())
            else:
                yield reader.tick(time.monotonic())
