"""Supervisor process.

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

from yourtool.process import prctl
from yourtool.process.early_prompt.prompt import EarlyPrompt
from yourtool.process.guardian import (
    FORWARDED,
    Signals,
    close_standard_streams,
    end_as,
    end_descendants,
    fork_guardian,
    run_guarded,
    signal_name,
    stop,
    wait,
)
from yourtool.process.memory import memory_limit
from yourtool.process.terminal_modes import (
    RESET,
    Settings,
    get_settings,
    is_in_foreground,
    reads_ctrl_c,
    restore,
    set_settings,
)

_CLEAN_EXIT = b"."


def run_supervised(run: Callable[[], int], early_prompt: EarlyPrompt | None = None) -> int:
    """Run the program below this process; return its exit code, both in the program and here.

    If standard input and output are terminals, the code is 128 + N when signal N ended the program;
    otherwise this process ends by the same signal. The early prompt is shown until the program
    takes the terminal over.
    """
    saved = get_settings() if os.isatty(0) and os.isatty(1) else None
    report_read, report_write = os.pipe()
    parent_alive, parent_end = os.pipe()
    signals = Signals((*FORWARDED, signal.SIGCONT))
    group = os.getpgrp()
    child = fork_guardian()
    if child is None:
        signals.restore()
        return run()
    if child == 0:
        signals.restore()
        os.close(report_read)
        os.close(parent_end)
        if early_prompt is not None:
            early_prompt.handover.open()
        try:
            return run_guarded(
                run,
                parent_alive,
                None if saved is None else lambda code: _restore_as_guardian(saved, group, code),
            )
        finally:
            with suppress(BrokenPipeError):  # the parent may be gone
                os.write(report_write, _CLEAN_EXIT)
    os.close(report_write)
    os.close(parent_alive)
    if early_prompt is not None:
        early_prompt.show(child)
    prctl.adopt_orphans()
    if saved is None:
        close_standard_streams()
        code = wait(child, signals, stopped=stop)
        end_descendants()  # some remain if the guardian was killed
        return end_as(code)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # restoring from the background must not stop us
    code = wait(child, signals, stopped=lambda: _stop_with_program(saved, early_prompt))
    end_descendants()
    is_clean = os.read(report_read, 1) == _CLEAN_EXIT
    if early_prompt is not None:
        early_prompt.end()
        if early_prompt.was_quit:
            is_clean, code = True, 0
    if not is_clean or get_settings() != saved:
        restore(saved)
    if not is_clean:
        _explain(code)
    return code if code >= 0 else 128 - code


def _stop_with_program(saved: Settings, early_prompt: EarlyPrompt | None) -> None:
    """Restore the shell's terminal settings while the program is stopped.

    A program that released the terminal before it stopped takes it back itself; its settings would
    be undone here.
    """
    is_starting = early_prompt is not None and early_prompt.hide()
    program_settings = get_settings()
    if program_settings is not None and program_settings != saved:
        set_settings(saved, termios.TCSADRAIN)
    stop()
    if is_in_foreground():
        if program_settings is not None and (is_starting or reads_ctrl_c(program_settings)):
            set_settings(program_settings, termios.TCSADRAIN)
        if early_prompt is not None:
            early_prompt.show_again()


def _restore_as_guardian(saved: Settings, group: int, code: int) -> None:
    """Restore the terminal of the process group `group`, unless a shell is using it.

    `code`: that of the program, negative for a signal, which prevents it from resetting modes.
    """
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        is_used = os.tcgetpgrp(0) != group
    except OSError:  # with the leader of its session, the terminal lost its foreground group
        is_used = False
    if is_used:
        if code < 0:
            os.write(1, RESET)
    elif get_settings() != saved:
        restore(saved)


def _explain(code: int) -> None:
    how = signal_name(-code) if code < 0 else f"exit code {code}"
    if limit := memory_limit():
        how += f"; its memory is limited to {limit} by `ulimit -v`"
    # Which session it was is not known here, and another program can have a later one.
    ways = "Resume the last session with `yourtool -c`, or choose one with `yourtool -r`."
    message = f"yourtool ended unexpectedly ({how}). {ways}\n"
    try:
        os.write(2, message.encode())
    except OSError:
        return
