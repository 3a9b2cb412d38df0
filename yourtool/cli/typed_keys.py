"""Keys typed during the start."""

import os
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from yourtool.process.early_prompt.handover import Handover
from yourtool.process.early_prompt.typing_ahead import (
    PASTES_OFF,
    PASTES_ON,
    read_buffered,
    set_up,
)
from yourtool.process.terminal_input.items import to_bytes
from yourtool.process.terminal_input.reader import Reader
from yourtool.process.terminal_modes import Settings, set_settings


@contextmanager
def keys_for_interface(
    handover: Handover | None,
) -> Generator[tuple[Callable[[], bytes], Settings], None, None]:
    """Yield a function that returns what was typed before the interface reads the terminal.

    With it come the settings of the terminal that the shell uses; they are restored at the end.
    """
    if handover is None or not handover.is_open:
        saved = termios.tcgetattr(0)
        with collect_typeahead() as typed:
            yield lambda: _check(typed + read_buffered()), saved
        return
    try:
        yield handover.take_keys, handover.saved
    finally:
        handover.restore()


def _check(typed: bytes) -> bytes:
    """Return keys whose times are not known; several lines become a paste."""
    reader = Reader()
    items = reader.feed_ahead(typed, 0.0, is_checked=False)
    return to_bytes(items) + reader.pending


@contextmanager
def collect_typeahead() -> Generator[bytes, None, None]:
    """Set up the terminal for typing ahead; yield the bytes that were typed before.

    Ctrl+C and Ctrl+Z still send their signals. The terminal is restored at the end.
    """
    before = termios.tcgetattr(0)
    try:
        typed, erase = set_up(interrupts=True)
        os.write(1, PASTES_ON + erase)
        yield typed
    finally:
        with suppress(OSError):  # the terminal may be closed
            os.write(1, PASTES_OFF)
        set_settings(before)
