"""A small process above the program that ends every process the program leaves behind.

It is forked before anything large is imported and has a process group of its own, so that it
survives a signal to the group of the program. Where the system can (Linux), orphans become its
children, whatever session or environment they gave themselves. It ends as the program ended.
Only small modules of the standard library may be imported here.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from yourtool import prctl

GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL for leftover processes."""
PATIENCE_SECONDS = 5
"""How long the program may take to end after it was asked to."""

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
_PARENT_ENDED = signal.SIGUSR1
_POLL_SECONDS = 0.01


class Signals:
    """Signals that this process blocks, to wait for them on behalf of its child.

    A signal that was ignored when the program was started, as by `nohup`, stays ignored.
    """

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        heeded = {each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN}
        self._watched = heeded | {signal.SIGCHLD}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        self._former = signal.signal(signal.SIGCHLD, _notice)

    def restore(self) -> None:
        """Undo what the parent did; for its child."""
        signal.signal(signal.SIGCHLD, self._former or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def next(self) -> signal.Signals | None:
        """Wait for a signal; return it unless the child has it or it only reports on the child.

        What the terminal itself sends (Ctrl+C, hanging up) reaches the whole process group, so the
        child has it already. Where the system does not report the sender, the child gets it twice.
        """
        if sys.platform == "darwin":
            number, sent_by_kernel = signal.sigwait(self._watched), False
        else:
            info = signal.sigwaitinfo(self._watched)
            number, sent_by_kernel = info.si_signo, info.si_code > 0
        if number == signal.SIGCHLD or (sent_by_kernel and number != signal.SIGALRM):
            return None
        return signal.Signals(number)


def _notice(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a signal whose default is to be ignored may be lost although it is awaited."""


def guarded(run: Callable[[], int], parent_alive: int) -> int:
    """Run the program in a child of this process, which becomes its guardian and never returns.

    The other end of the pipe `parent_alive` closes when the parent of the guardian ends. Where no
    process can be forked, the program runs without a guardian.
    """
    signals = Signals((*FORWARDED, signal.SIGALRM, _PARENT_ENDED))
    guardian_alive, guardian_end = os.pipe()
    program = fork_guardian()
    if program is None:
        signals.restore()
        return run()
    if program != 0:
        _guard(program, signals)
    os.close(guardian_end)
    signals.restore()
    _watch(parent_alive, guardian_alive)
    return run()


def _guard(program: int, signals: Signals) -> NoReturn:
    with suppress(OSError):
        os.setpgid(0, 0)
    prctl.adopt_orphans()
    prctl.signal_when_parent_ends(_PARENT_ENDED)
    close_standard_streams()
    code = wait(program, signals, stopped=stop, insist=True)
    end_descendants()
    end_as(code)


def fork_guardian() -> int | None:
    """Fork; None: the system has no room for another process."""
    try:
        return os.fork()
    except OSError:
        return None


def wait(child: int, signals: Signals, *, stopped: Callable[[], None], insist: bool = False) -> int:
    """Pass signals on to a child until it has ended; return its exit code, -N for signal N.

    `stopped` is called when it stops, and it goes on afterwards. With `insist` it is killed if it
    does not end when asked to.
    """
    while True:
        number = signals.next()
        if number == signal.SIGALRM:
            send(child, signal.SIGKILL)
        elif number is not None:
            if insist and number in _ENDING:
                signal.alarm(PATIENCE_SECONDS)
            send(child, signal.SIGTERM if number == _PARENT_ENDED else number)
        while True:  # orphans that were adopted are collected as well
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if pid == child and not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            if pid == child:
                stopped()
                send(child, signal.SIGCONT)


def send(process: int, number: signal.Signals) -> None:
    """Send a signal to a process, which may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def end_descendants() -> None:
    """End all processes below this one: ask first, kill a moment later."""
    began = time.monotonic()
    asked = set[int]()
    while _has_children() and (elapsed := time.monotonic() - began) < 3 * GRACE:
        found = _descendants(os.getpid())
        number = signal.SIGTERM if elapsed < GRACE else signal.SIGKILL
        for process in found - asked if number == signal.SIGTERM else found:
            send(process, number)
        asked |= found
        time.sleep(_POLL_SECONDS)


def end_as(code: int) -> NoReturn:
    """End with an exit code, or for -N by signal N."""
    if code < 0:
        with suppress(OSError):  # the action of SIGKILL cannot be set
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _has_children() -> bool:
    """Collect children that have ended; return whether others are left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _descendants(ancestor: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: names hold any byte
            fields = entry.read_bytes().rpartition(b")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found = set[int]()
    pending = [ancestor]
    while pending:
        below = children.get(pending.pop(), [])
        found.update(below)
        pending += below
    return found


def stop() -> None:
    """Stop this process, as a shell would."""
    os.kill(os.getpid(), signal.SIGSTOP)


def close_standard_streams() -> None:
    """Close inherited pipes so that their readers see the end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    if nothing > 2:
        os.close(nothing)


def _watch(*lifelines: int) -> None:
    with suppress(RuntimeError):  # no memory for a thread; the guardian ends us all the same
        threading.Thread(target=_hang_up_after, args=lifelines, daemon=True).start()


def _hang_up_after(*lifelines: int) -> None:
    """End the program when one of its parents or its terminal is gone.

    The other end of each pipe closes with a parent. A terminal that is closed sends SIGHUP only to
    the session that it controls; any other program would read the end of its input for ever.
    """
    gone = select.poll()
    for lifeline in lifelines:
        gone.register(lifeline, 0)
    if os.isatty(0) and os.isatty(1):
        gone.register(0, 0)
    while (0, select.POLLNVAL) in gone.poll():
        gone.unregister(0)  # a system that cannot wait for a terminal in this way
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGHUP)
