r"""Foreground job of the terminal.

It is a program that uses the terminal while the interface is suspended, like a job of a shell.

It has its own process group, so that the signals of Ctrl+C, Ctrl+Z and Ctrl+\ reach it alone:
https://www.gnu.org/software/libc/manual/html_node/Foreground-and-Background.html
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from yourtool.process.environment import is_secret
from yourtool.process.terminal_modes import Settings, has_job_control, restore, set_settings


class ForegroundJob:
    """A started program; `wait` has to be called once, and blocks its thread."""

    def __init__(self, command: Sequence[str], directory: Path, settings: Settings | None) -> None:
        """Start the program with settings of the terminal, without API keys in its environment.

        Without settings it does not get the terminal.

        Raises:
            OSError: the program cannot be started.
        """
        self._settings = settings
        environ = {name: each for name, each in os.environ.items() if not is_secret(name, each)}
        if settings is not None:
            set_settings(settings)
        self._process = subprocess.Popen(command, cwd=directory, env=environ, process_group=0)
        if settings is not None:
            _set_foreground(self._process.pid)

    def wait(self) -> int:
        """Return the exit code, or -N after signal N, with the terminal as it was at the start."""
        while True:
            _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            self._resume(os.WSTOPSIG(status))
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._settings is not None:
            _set_foreground(os.getpgrp())
            if code == 0:
                set_settings(self._settings)
            else:
                restore(self._settings)  # the program may have left any mode on
        return code

    def end(self) -> None:
        """End the program; `wait` returns then."""
        for number in (signal.SIGTERM, signal.SIGCONT):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _resume(self, stopped_by: int) -> None:
        """Continue the stopped program, after Ctrl+Z when the shell has resumed this one."""
        if stopped_by in (signal.SIGTSTP, signal.SIGSTOP) and has_job_control():
            if self._settings is not None:
                _set_foreground(os.getpgrp())
                set_settings(self._settings)
            os.kill(os.getpid(), signal.SIGSTOP)
        if self._settings is not None:
            _set_foreground(self._process.pid)
        os.killpg(self._process.pid, signal.SIGCONT)


def _set_foreground(group: int) -> None:
    """Give the terminal to a process group; a terminal that is gone ends this program."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # we may be the background
    try:
        os.tcsetpgrp(0, group)
    except ProcessLookupError:
        pass  # the program has ended already
    except OSError:
        os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
