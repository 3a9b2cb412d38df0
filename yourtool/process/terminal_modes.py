"""Settings and modes of the terminal."""

import os
import termios
from contextlib import suppress

Settings = list[int | list[bytes | int]]
"""What `tcgetattr` of termios(3) returns."""
RESET = (
    b"\x1b[?2026l"  # the end of an incomplete frame
    b"\x1b[<u"  # keyboard protocol; first, because the alternate screen has its own stack
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse
    b"\x1b[?1004l"  # focus reports
    b"\x1b[?2004l"  # bracketed paste
    b"\x1b[?2048l"  # resize reports
    b"\x1b[?1049l"  # alternate screen
    b"\x1b[?7h\x1b[?25h\x1b[0m\r"  # wrap, cursor, colours
)
"""Resets every terminal mode that a full-screen program may have set."""


def get_settings() -> Settings | None:
    """Return the settings of the terminal; None if there is no terminal."""
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def set_settings(settings: Settings, when: int = termios.TCSANOW) -> None:
    """Change the settings of the terminal, unless it is gone."""
    with suppress(termios.error):
        termios.tcsetattr(0, when, settings)


def reads_ctrl_c(settings: Settings) -> bool:
    """Return whether Ctrl+C is a key for the program and sends no signal, as in the interface."""
    flags = settings[3]
    assert isinstance(flags, int), "the fourth value has the local modes"
    return not flags & termios.ISIG


def has_lost_terminal() -> bool:
    """Return whether another program has set the terminal to edit lines."""
    settings = get_settings()
    return settings is not None and reads_lines(settings)


def reads_lines(settings: Settings) -> bool:
    """Return whether the terminal passes on lines and not keys."""
    flags = settings[3]
    assert isinstance(flags, int), "the fourth value has the local modes"
    return bool(flags & termios.ICANON)


def restore(saved: Settings) -> None:
    """Reset all modes, and restore saved settings."""
    try:
        os.write(1, RESET)
    except OSError:
        return
    set_settings(saved, termios.TCSAFLUSH)  # unread mouse reports would be input of the shell


def is_in_foreground() -> bool:
    """Return whether this process may use the terminal."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def has_job_control() -> bool:
    """Return whether a shell with job control started the program and can resume it.

    Otherwise a stopped program blocks the terminal. Such a shell gives every job a process group,
    see https://www.gnu.org/software/libc/manual/html_node/Orphaned-Process-Groups.html.
    """
    return os.getsid(0) != os.getpgrp()
