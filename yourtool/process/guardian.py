"""Guardian process above the program.

It is forked before anything large is imported and has its own process group, so that it survives a
signal to the group of the program. On Linux it adopts orphans, also those with their own session or
environment, and it removes the temporary directories of a killed program. It exits with the status
of the program. Import only small modules of the standard library here.
"""

import os
import select
import signal
import stat
import sys
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterable
from contextlib import suppress

from yourtool.process import prctl

GRACE_SECONDS = 1.0
"""Seconds between SIGTERM and SIGKILL for leftover processes."""
END_TIMEOUT_SECONDS = 5
"""Seconds between forwarding a signal to the program and killing it."""

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
_PARENT_ENDED = signal.SIGUSR1
_POLL_SECONDS = 0.01


class Signals:
    """Signals that this process blocks and waits for, to forward them to its child.

    A signal that was ignored at the start of the program, as by `nohup`, stays ignored.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        active = {each for each in numbers if signal.getsignal(each) != signal.SIG_IGN}
        self._watched = active | {signal.SIGCHLD}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        self._old_handler = signal.signal(signal.SIGCHLD, _ignore)

    def restore(self) -> None:
        """Restore the signal mask and handler in the child."""
        signal.signal(signal.SIGCHLD, self._old_handler or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def next(self) -> int | None:
        """Wait for a signal; return None for SIGCHLD and for a signal that the child received too.

        Signals of the terminal (Ctrl+C, hangup) reach the entire process group, so the child has
        them too. If the system does not report the sender, the child gets them twice.
        """
        if sys.platform == "darwin":
            number, sent_by_kernel = signal.sigwait(self._watched), False
        else:
            info = signal.sigwaitinfo(self._watched)
            number, sent_by_kernel = info.si_signo, info.si_code > 0
        if number == signal.SIGCHLD or (sent_by_kernel and number != signal.SIGALRM):
            return None
        return number


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: without a handler, SIGCHLD is ignored and `sigwait` may miss it."""


def run_guarded(
    run: Callable[[], int], parent_alive: int, restore: Callable[[int], None] | None = None
) -> int:
    """Run the program in a child of this process, which becomes its guardian and never returns.

    The other end of the pipe `parent_alive` closes when the parent of the guardian ends. If that
    happened before the program ended, the guardian calls `restore` with the code of the program and
    the terminal as its standard streams. If no process can be forked, the program runs without a
    guardian.
    """
    signals = Signals((*FORWARDED, signal.SIGALRM, _PARENT_ENDED))
    guardian_alive, guardian_end = os.pipe()
    program = fork_guardian()
    if program is None:
        signals.restore()
        return run()
    if program != 0:
        return _guard(program, signals, parent_alive, restore)
    os.close(guardian_end)
    signals.restore()
    _watch(parent_alive, guardian_alive)
    return run()


def _guard(
    program: int, signals: Signals, parent_alive: int, restore: Callable[[int], None] | None
) -> int:
    parent, terminal = os.getppid(), os.dup(0) if restore is not None else -1
    with suppress(OSError):
        os.setpgid(0, 0)
    prctl.adopt_orphans()
    prctl.signal_when_parent_ends(_PARENT_ENDED)
    close_standard_streams()

    def stop_with_program() -> None:
        if os.getppid() == parent:
            stop()
        else:  # it touched the terminal, which the shell uses again: it would stay stopped
            send(program, signal.SIGKILL)

    code = wait(program, signals, stopped=stop_with_program, kill_after_timeout=True)
    end_descendants()
    if code < 0:
        remove_temporary(program)
    if restore is not None and (os.getppid() != parent or _is_closed(parent_alive)):
        os.dup2(terminal, 0)
        os.dup2(terminal, 1)
        restore(code)
    return end_as(code)


def _is_closed(lifeline: int) -> bool:
    """Whether the other end of a pipe is closed.

    A parent that leads its session closes its files first; then the kernel ends the program with
    SIGHUP, and only then this process gets another parent.
    """
    closed = select.poll()
    closed.register(lifeline, 0)
    return any(state & select.POLLHUP for _, state in closed.poll(0))


def fork_guardian() -> int | None:
    """Fork and return the result of `os.fork`, or None if the system cannot fork."""
    try:
        return os.fork()
    except OSError:
        return None


def wait(
    child: int, signals: Signals, *, stopped: Callable[[], None], kill_after_timeout: bool = False
) -> int:
    """Forward signals to a child until it ends; return its exit code, or -N for signal N.

    `stopped` is called when the child stops, which continues afterwards. With
    `kill_after_timeout` the child is killed if it does not end after a signal.
    """
    while True:
        number = signals.next()
        if number == signal.SIGALRM:
            send(child, signal.SIGKILL)
        elif number is not None:
            if kill_after_timeout and number in _ENDING:
                signal.alarm(END_TIMEOUT_SECONDS)
            send(child, signal.SIGTERM if number == _PARENT_ENDED else number)
        while True:  # also reap adopted orphans
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if pid == child and not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            if pid == child:
                stopped()
                send(child, signal.SIGCONT)


def send(process: int, number: int) -> None:
    """Send a signal to a process, if it still exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    names = (name for name in dir(signal) if name.startswith("SIG") and name[3] != "_")
    return next((name for name in names if getattr(signal, name) == number), f"signal {number}")


def end_descendants() -> None:
    """End all descendants of this process: SIGTERM first, then SIGKILL."""
    start = time.monotonic()
    terminated = set[int]()
    while _has_children() and (elapsed := time.monotonic() - start) < 3 * GRACE_SECONDS:
        found = _descendants(os.getpid())
        number = signal.SIGTERM if elapsed < GRACE_SECONDS else signal.SIGKILL
        for process in found - terminated if number == signal.SIGTERM else found:
            send(process, number)
        terminated |= found
        time.sleep(_POLL_SECONDS)


def build_prefix(process: int) -> str:
    """Return the start of the names of the temporary directories of a process."""
    return f"yourtool-{process}-"


def remove_temporary(process: int) -> None:
    """Remove the temporary directories of a process that was killed."""
    prefix = build_prefix(process)
    for place in {os.environ.get("TMPDIR") or "/tmp", "/var/tmp"}:  # noqa: S108 - looked for there
        for name in _names_in(place):
            if name.startswith(prefix):
                _remove(f"{place}/{name}")


def _remove(path: str) -> None:
    with suppress(OSError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)  # noqa: PTH108 - `pathlib` is not small
            return
        for name in _names_in(path):
            _remove(f"{path}/{name}")
        os.rmdir(path)  # noqa: PTH106 - see above


def end_as(code: int) -> int:
    """Exit with `code`, or by signal N if it is -N; never returns."""
    if code < 0:
        with suppress(OSError):  # the action of SIGKILL cannot be set
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _has_children() -> bool:
    """Reap ended children; return whether others remain."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _descendants(ancestor: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for name in _names_in("/proc"):
        if not name.isdecimal():
            continue
        with suppress(OSError):
            # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: names may contain any byte
            fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(name))
    found = set[int]()
    pending = [ancestor]
    while pending:
        below = children.get(pending.pop(), [])
        found.update(below)
        pending += below
    return found


def _names_in(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except OSError:  # not every system has it
        return []


def _read(file: str) -> bytes:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def stop() -> None:
    """Stop this process, unless a SIGCONT that it blocks has come since its child stopped."""
    if signal.SIGCONT not in signal.sigpending():
        os.kill(os.getpid(), signal.SIGSTOP)
    if signal.SIGCONT in signal.sigpending():
        signal.sigwait({signal.SIGCONT})


def close_standard_streams() -> None:
    """Redirect the standard streams to the null device, so that readers of pipes see the end."""
    os.close(0)  # so that the null device gets its number, which can be the last one
    os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(0, stream)


def _watch(*lifelines: int) -> None:
    on_terminal = os.isatty(0) and os.isatty(1)  # asked here: of a closed one, it is False
    with suppress(RuntimeError):  # no memory for a thread; the guardian still ends us
        start_new_thread(_end_when_orphaned, (on_terminal, *lifelines))


def _end_when_orphaned(on_terminal: bool, *lifelines: int) -> None:
    """End the program when one of its parents or its terminal is gone.

    The other end of each pipe closes when a parent ends. A closed terminal sends SIGHUP only to the
    session that it controls; without this thread, a program in another session would keep running.
    """
    gone = select.poll()
    for lifeline in lifelines:
        gone.register(lifeline, 0)
    if on_terminal:
        gone.register(0, 0)
    while (0, select.POLLNVAL) in gone.poll():
        gone.unregister(0)  # this system cannot poll terminals
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGHUP)
