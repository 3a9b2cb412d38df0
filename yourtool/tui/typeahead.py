"""Keys that are typed before the interface reads them.

By default, a terminal edits lines, echoes input and turns Enter into a line feed (termios(3):
ICANON, ECHO, ICRNL). Importing and painting the interface takes a while, so the terminal is set up
first, and earlier input is converted back to the keys that were pressed.
"""

import fcntl
import os
import struct
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress

_KEYS = bytes.maketrans(b"\n\0", b"\r\x04")
"""Enter, and Ctrl+D, which Linux buffers as NUL."""
_PASTES_ON, _PASTES_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


@contextmanager
def collect_typeahead(terminal: int = 0, screen: int = 1) -> Generator[bytes, None, None]:
    """Set up the terminal for typing ahead; yield the bytes that were typed before.

    Ctrl+C and Ctrl+Z still send their signals. The terminal is restored at the end.
    """
    before = termios.tcgetattr(terminal)
    local = before[3] & ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    mapped = termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF
    characters = list(before[6])
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    try:
        ours = [before[0] & ~mapped, *before[1:3], local, *before[4:6], characters]
        termios.tcsetattr(terminal, termios.TCSANOW, ours)
        typed = _read_buffered(terminal)
        os.write(screen, _PASTES_ON + (_erase_sequence(typed) if before[3] & termios.ECHO else b""))
        yield typed.translate(_KEYS) if before[3] & termios.ICANON else typed
    finally:
        with suppress(OSError, termios.error):  # the terminal may be closed
            os.write(screen, _PASTES_OFF)
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _read_buffered(terminal: int) -> bytes:
    typed = b""
    while size := struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))[0]:
        typed += os.read(terminal, size)
    return typed


def _erase_sequence(typed: bytes) -> bytes:
    """Return the sequence that erases the echo of `typed`.

    Only a line feed proves that a line was echoed: a shell can leave keys in the buffer that it
    never echoed, and then the lines above belong to the shell.
    """
    if not typed:
        return b""
    up = typed.count(b"\n")
    return (b"\x1b[%dA" % up if up else b"") + b"\r\x1b[J"
