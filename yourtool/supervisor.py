"""The supervisor: the process that the user started, which restores the terminal afterwards.

A process that is killed cannot restore its terminal or end its children, so the program runs below
two small parents, with a fork before anything large is imported: this one, which the shell started,
and a guardian (`guardian.py`). The supervisor is in the process group of the program, saves the
settings of the terminal, forwards signals to the program, and cleans up unless the program reported
a clean exit. Import only small modules of the standard library here: every start imports this
module.
"""

import os
import signal
import termios
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from yourtool import prctl
from yourtool.guardian import (
    FORWARDED,
    Signals,
    close_standard_streams,
    end_as,
    end_descendants,
    fork_guardian,
    run_guarded,
    stop,
    wait,
)
from yourtool.memory import memory_limit

RESET = (
    b"\x1b[?2026l"  # a frame that was never finished
    b"\x1b[<u"  # keyboard protocol; first, because the alternate screen has its own stack
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse
    b"\x1b[?1004l"  # focus reports
    b"\x1b[?2004l"  # bracketed paste
    b"\x1b[?2048l"  # resize reports
    b"\x1b[?1049l"  # alternate screen
    b"\x1b[?7h\x1b[?25h\x1b[0m\r"  # wrap, cursor, colours
)
"""Resets every terminal mode that a full-screen program may have set."""

_CLEAN_EXIT = b"."


def run_supervised(run: Callable[[], int]) -> int:
    """Run the program below this process; return its exit code, both in the program and here.

    If standard input and output are terminals, the code is 128 + N when signal N ended the program;
    otherwise this process ends by the same signal.
    """
    saved = _settings() if os.isatty(0) and os.isatty(1) else None
    report_read, report_write = os.pipe()
    parent_alive, parent_end = os.pipe()
    signals = Signals(FORWARDED)
    child = fork_guardian()
    if child is None:
        signals.restore()
        return run()
    if child == 0:
        signals.restore()
        os.close(report_read)
        os.close(parent_end)
        try:
            return run_guarded(run, parent_alive)
        finally:
            with suppress(BrokenPipeError):  # the parent may be gone
                os.write(report_write, _CLEAN_EXIT)
    os.close(report_write)
    os.close(parent_alive)
    prctl.adopt_orphans()
    if saved is None:
        close_standard_streams()
        code = wait(child, signals, stopped=stop)
        end_descendants()  # some remain if the guardian was killed
        end_as(code)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # restoring from the background must not stop us
    code = wait(child, signals, stopped=partial(_stop_with_program, saved))
    end_descendants()
    is_clean = os.read(report_read, 1) == _CLEAN_EXIT
    if not is_clean or _settings() != saved:
        _restore(saved)
    if not is_clean:
        _explain(code)
    return code if code >= 0 else 128 - code


def _stop_with_program(saved: list[Any]) -> None:
    """Restore the shell's terminal settings while the program is stopped."""
    program_settings = _settings()
    if program_settings is None or program_settings == saved:
        stop()
    else:
        _set(saved, termios.TCSADRAIN)
        stop()
        if os.tcgetpgrp(0) == os.getpgrp():
            _set(program_settings, termios.TCSADRAIN)


def _restore(saved: list[Any]) -> None:
    try:
        os.write(1, RESET)
    except OSError:
        return
    _set(saved, termios.TCSAFLUSH)  # unread mouse reports would be input of the shell


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
    if limit := memory_limit():
        how += f"; its memory is limited to {limit} by `ulimit -v`"
    message = f"yourtool ended unexpectedly ({how}). Resume the session with `yourtool -c`.\n"
    try:
        os.write(2, message.encode())
    except OSError:
        return
