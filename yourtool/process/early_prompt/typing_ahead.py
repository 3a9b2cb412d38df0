"""The terminal's settings while the interface starts.

By default, a terminal edits lines, echoes input and turns Enter into a line feed (termios(3):
ICANON, ECHO, ICRNL). Importing and painting the interface takes a while, so the terminal is set up
first, and earlier input is converted back to the keys that were pressed.
"""

import fcntl
import os
import struct
import termios

from yourtool.process.terminal_modes import has_job_control

PASTES_ON = b"\x1b[?2004h"
PASTES_OFF = b"\x1b[?2004l"
_KEYS = bytes.maketrans(b"\n\0", b"\r\x04")
"""Enter, and Ctrl+D, which Linux buffers as NUL."""
_INTERRUPTS = (termios.VINTR, termios.VQUIT)


def set_up(*, interrupts: bool) -> tuple[bytes, bytes]:
    """Set up the terminal to pass every key on unchanged.

    With `interrupts`, Ctrl+C and Ctrl+Z still send their signals; without, only Ctrl+Z does, if a
    shell can resume the program. Returns the keys that were pressed before, and the sequence that
    erases their echo.
    """
    flags_in, out, control, before, *speeds, characters = termios.tcgetattr(0)
    local = before & ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    mapped = termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    if not interrupts and has_job_control():
        for name in _INTERRUPTS:
            characters[name] = os.fpathconf(0, "PC_VDISABLE").to_bytes(1, "little", signed=True)
    elif not interrupts:
        local &= ~termios.ISIG
    settings = [flags_in & ~mapped, out, control, local, *speeds, characters]
    termios.tcsetattr(0, termios.TCSANOW, settings)
    typed = read_buffered()
    erase = _erase_sequence(typed) if before & termios.ECHO else b""
    return typed.translate(_KEYS) if before & termios.ICANON else typed, erase


def read_buffered() -> bytes:
    """Return what the terminal has received and no program has read."""
    typed = b""
    while size := struct.unpack("i", fcntl.ioctl(0, termios.FIONREAD, bytes(4)))[0]:
        typed += os.read(0, size)
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
