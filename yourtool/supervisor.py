"""A small parent that puts the terminal back, whatever becomes of the program.

A process that is killed cannot restore its terminal, so the program runs in a child that is forked
before anything large is imported, in the same process group. The parent holds the terminal's
settings as they were, waits, forwards signals that were meant for the program, and cleans up
unless the child said that it ended in order. Only the standard library's small modules may be
imported here: this is on the way of every start.
"""

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

RESET = (
    b"\x1b[?2026l"  # a frame that was never finished
    b"\x1b[<u"  # keyboard protocol; the alternate screen has a stack of its own, so before it
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse
    b"\x1b[?1004l"  # focus reports
    b"\x1b[?2004l"  # bracketed paste
    b"\x1b[?2048l"  # resize reports
    b"\x1b[?1049l"  # alternate screen
    b"\x1b[?7h\x1b[?25h\x1b[0m\r"  # wrap, cursor, colours
)
"""Undoes every terminal mode that a full-screen program may have left on."""

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_WATCHED = (*_FORWARDED, signal.SIGCHLD)
_ENDED_IN_ORDER = b"."


def supervised(run: Callable[[], int]) -> int:
    """Run the program in a child and return its exit code; 128 + N when signal N ended it.

    Without a terminal on both sides there is nothing to restore, and `run` is called directly.
    """
    if not (os.isatty(0) and os.isatty(1)):
        return run()
    saved = termios.tcgetattr(0)
    farewell, say_farewell = os.pipe()
    parent_alive, parent_end = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    signal.signal(signal.SIGCHLD, _heard)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(farewell)
        os.close(parent_end)
        threading.Thread(target=_hang_up_after, args=(parent_alive,), daemon=True).start()
        try:
            return run()
        finally:
            with suppress(BrokenPipeError):  # the parent may be gone
                os.write(say_farewell, _ENDED_IN_ORDER)
    os.close(say_farewell)
    os.close(parent_alive)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # restoring from the background must not stop us
    code = _wait(child, saved)
    in_order = os.read(farewell, 1) == _ENDED_IN_ORDER
    if not in_order or _settings() != saved:
        _restore(saved)
    if not in_order:
        _explain(code)
    return code if code >= 0 else 128 - code


def _wait(child: int, saved: list[Any]) -> int:
    """Stand between the child and its signals until it is gone; -N: signal N ended it."""
    while True:
        if (number := _next_signal()) is not None:
            _send(child, number)
            continue
        while True:
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            _stop_too(child, saved)


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Exist: a signal whose default is to be ignored may be lost although it is waited for."""


def _next_signal() -> int | None:
    """Wait for a signal; return it if it has to be forwarded.

    What the terminal itself sends (Ctrl+C, hanging up) reaches the whole process group, so the
    child has it already. Where the system cannot tell the sender, the child gets it twice.
    """
    if sys.platform == "darwin":
        number = signal.sigwait(_WATCHED)
        sent_by_kernel = False
    else:
        info = signal.sigwaitinfo(_WATCHED)
        number, sent_by_kernel = info.si_signo, info.si_code > 0
    return None if number == signal.SIGCHLD or sent_by_kernel else number


def _stop_too(child: int, saved: list[Any]) -> None:
    """Give the shell its terminal while the child is stopped, and wake it up with ourselves."""
    theirs = _settings()
    if theirs is None or theirs == saved:
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        _set(saved, termios.TCSADRAIN)
        os.kill(os.getpid(), signal.SIGSTOP)
        if os.tcgetpgrp(0) == os.getpgrp():
            _set(theirs, termios.TCSADRAIN)
    _send(child, signal.SIGCONT)


def _send(child: int, number: int) -> None:
    try:
        os.kill(child, number)
    except ProcessLookupError:
        return


def _restore(saved: list[Any]) -> None:
    try:
        os.write(1, RESET)
    except OSError:
        return
    _set(saved, termios.TCSAFLUSH)  # mouse reports nobody read would be typed into the shell


def _settings() -> list[Any] | None:
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _set(settings: list[Any], when: int) -> None:
    try:
        termios.tcsetattr(0, when, settings)
    except termios.error:
        return  # the terminal itself is gone


def _explain(code: int) -> None:
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    message = f"yourtool ended unexpectedly ({how}). The session is kept: `yourtool -c` goes on.\n"
    try:
        os.write(2, message.encode())
    except OSError:
        return


def _hang_up_after(parent_alive: int) -> None:
    """End the program when its parent or its terminal is gone.

    The other end of the pipe closes with the parent. A terminal that is closed sends SIGHUP only to
    the session that it controls; any other program would read the end of its input for ever.
    """
    gone = select.poll()
    gone.register(parent_alive, 0)
    gone.register(0, 0)
    while (0, select.POLLNVAL) in gone.poll():
        gone.unregister(0)  # a system that cannot wait for a terminal in this way
    os.kill(os.getpid(), signal.SIGHUP)
