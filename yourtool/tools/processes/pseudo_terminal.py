"""Pseudo-terminal of a command.

On Linux, `/proc` shows that a process reads from its terminal. Elsewhere, and for a program of
another user, the modes of the terminal show it: a program that asks for a password turns the echo
off, and editors, pagers and interpreters with line editing read single keys.
"""

import fcntl
import os
import platform
import struct
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from yourtool.errors import ToolError

Answer = TypeVar("Answer")
InputKind: TypeAlias = Literal["line", "password", "keys"]
"""What a program waits for: a line, a line that is not shown, or single keys."""

_SCRIPT = """\
import fcntl, os, sys, termios
if os.getsid(0) != os.getpid():
    os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes standard input the controlling terminal, then becomes the command; also in the sandbox.

https://man7.org/linux/man-pages/man2/TIOCSCTTY.2const.html
"""
_ROWS, _COLUMNS = 40, 120
_LOCAL_MODES = 3
_READS = {"x86_64": (0, 19), "aarch64": (63, 65)}
"""The numbers of `read` and `readv`, as `/proc/PID/syscall` shows them.

https://man7.org/linux/man-pages/man5/proc_pid_syscall.5.html
"""
_TERMINAL_MAJORS = (5, *range(136, 144))
"""Of `/dev/tty` and of pseudo-terminals: https://www.kernel.org/doc/html/latest/admin-guide/devices.html
"""


class Readers(IntEnum):
    """How the processes of a terminal wait for input; of several, the greatest one counts."""

    UNKNOWN = 0
    """They belong to another user, or the system does not show it."""
    NONE = 1
    POLLING = 2
    """One waits for several things, and the terminal can be one of them."""
    BLOCKED = 3
    """One waits for nothing else."""


class PseudoTerminal:
    """The side of a pseudo-terminal that this program has; thread-safe."""

    def __init__(self) -> None:
        """Open both sides.

        Raises:
            OSError: the system has no more pseudo-terminals.
        """
        self._lock = threading.Lock()
        self._main, self.program_side = os.openpty()
        """`program_side` is closed when the program has it."""
        self._device = os.fstat(self.program_side).st_rdev
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        os.set_blocking(self._main, False)
        self._is_open = True

    def duplicate(self) -> int:
        """Return another descriptor of this program's side, for the reader of the output."""
        return os.dup(self._main)

    def type(self, text: str) -> None:
        """Type a text; a newline is the Enter key.

        Raises:
            ToolError: the program has ended, or does not read what was typed before.
        """
        data = text.replace("\n", "\r").encode("utf-8", "replace")
        with self._lock:
            if not self._is_open:
                raise ToolError("the process has ended, so nothing was typed")
            try:
                written = os.write(self._main, data)
            except BlockingIOError:
                written = 0
            except OSError as error:
                raise ToolError("the process has ended, so nothing was typed") from error
        if written < len(data):
            raise ToolError(f"the program does not read: only {written} bytes were typed")

    def find_input(self) -> InputKind | None:
        """Return what the program waits for; None if it does not wait, or nothing shows it."""
        group = self._get_from_terminal(os.tcgetpgrp)
        if group is None:
            return None
        readers = _find_readers(group, self._device)
        # A program turns the echo off before it reads, so the modes are those after the search.
        attributes = self._get_from_terminal(termios.tcgetattr)
        if attributes is None:
            return None
        modes = attributes[_LOCAL_MODES]
        if modes & termios.ICANON and modes & termios.ECHO:
            return "line" if readers is Readers.BLOCKED else None
        if readers is Readers.NONE:
            return None
        return "password" if modes & termios.ICANON else "keys"

    def _get_from_terminal(self, get: Callable[[int], Answer]) -> Answer | None:
        """Return the result of a call with the terminal; None if it is closed."""
        with self._lock:
            if not self._is_open:
                return None
            try:
                return get(self._main)
            except (OSError, termios.error):
                return None

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._main)


def use_terminal(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments of a command whose standard input becomes its controlling terminal."""
    return sys.executable, "-I", "-S", "-c", _SCRIPT, *arguments


def _find_readers(group: int, terminal: int) -> Readers:
    """Return how the processes of a terminal's foreground group wait for it.

    `terminal`: its device number. A process in another session, such as one of `su -c`, can read
    from it, too.
    """
    if sys.platform != "linux":
        return Readers.UNKNOWN
    found = Readers.UNKNOWN
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            # The name can contain spaces and parentheses:
            # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                continue
            if int(fields[2]) == group:
                how = _examine(entry)
            else:
                how = Readers.BLOCKED if _find_read(entry) == terminal else Readers.UNKNOWN
            if how is Readers.BLOCKED:
                return how
            found = max(found, how)
    return found


def _examine(process: Path) -> Readers:
    """Return how one process waits for its terminal.

    Raises:
        OSError: it belongs to another user, or has ended.
    """
    if _is_terminal(_find_read(process)):
        return Readers.BLOCKED
    place = (process / "wchan").read_bytes()
    waits = any(name in place for name in (b"poll", b"select"))
    return Readers.POLLING if waits and _is_terminal(_find_device(process, 0)) else Readers.NONE


def _find_read(process: Path) -> int:
    """Return the device from which a process reads now; 0: it does not read from one.

    Raises:
        OSError: it belongs to another user, or has ended.
    """
    call = (process / "syscall").read_bytes().split()
    if not call[0].isdigit() or int(call[0]) not in _READS.get(platform.machine(), ()):
        return 0
    return _find_device(process, int(call[1], 16))


def _find_device(process: Path, descriptor: int) -> int:
    return (process / "fd" / str(descriptor)).stat().st_rdev


def _is_terminal(device: int) -> bool:
    return os.major(device) in _TERMINAL_MAJORS
