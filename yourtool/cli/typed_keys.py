"""Keys typed during the start."""

import os
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from yourtool.process.early_prompt.handover import Handover
from yourtool.process.early_prompt.typing_ahead import PASTES_OFF, PASTES_ON, set_up
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
            yield lambda: typed, saved
        return
    try:
        yield handover.take_keys, handover.saved
    finally:
        handover.restore()


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
