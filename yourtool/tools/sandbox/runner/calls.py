"""Process tree of a call.

The first process has a separate number space (`pid_namespaces(7)`), so the kernel ends the whole
tree with it. The command has none of the rights that the runner keeps. Where the runner has no
rights either, the first process adopts what the tree leaves behind, and ends it itself; Landlock
keeps the command from sending signals to it.

https://man7.org/linux/man-pages/man7/pid_namespaces.7.html
"""

import errno
import json
import os
import select
import signal
import socket
import time
from typing import Any, NoReturn

import inspection
import kernel
from processes import find_ports, list_descendants, list_others

_KERNEL_SETTINGS = ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
"""What root can change in the kernel without a capability: the files belong to it."""
_SETTLE_SECONDS = 0.2
"""Time for processes that end just after the command, such as `tee` in `>(tee log)`."""
_POLL_SECONDS = 0.005
_MAX_MESSAGE = 256
_STREAMS, _FIRST_FREE = 3, 200
_FAILING, _RULESET = 3, 4
"""Descriptors of a process that becomes a command."""


class Limits:
    """What every command is confined by."""

    def __init__(self, calls: bytes, ruleset: int, *, has_namespaces: bool) -> None:
        """`calls`: the filter of system calls; `ruleset`: of Landlock, -1 without one.

        `has_namespaces`: each call gets its own.
        """
        self.calls = calls
        self.ruleset = ruleset
        self.has_namespaces = has_namespaces

    def list_others(self) -> list[int]:
        """Return the processes of a call, seen from its first."""
        return list_others() if self.has_namespaces else list_descendants(os.getpid())


def start_call(call: dict[str, Any], streams: list[int], reply: socket.socket, to: Limits) -> None:
    """Start the process tree of a call; its end, or why it did not start, is sent to `reply`."""
    try:
        if to.has_namespaces:
            kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_PIDS)
        child = os.fork()
    except OSError as error:
        reply.send(json.dumps({"problem": error.strerror}).encode())
        return
    if child == 0:
        try:
            _lead(call, streams, reply, to)
        finally:
            os._exit(1)


def _lead(call: dict[str, Any], streams: list[int], reply: socket.socket, to: Limits) -> NoReturn:
    """Be the first process of a call."""
    wake = _watch_children()
    failed, failing = os.pipe()
    try:
        if to.has_namespaces:
            flags = kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_PROGRAMS
            kernel.mount("proc", "/proc", "proc", flags)
            _close_kernel_settings(flags)
        else:
            kernel.adopt_orphans()
        command = os.fork()
    except OSError as error:
        reply.send(json.dumps({"problem": error.strerror}).encode())
        os._exit(1)
    if command == 0:
        _become_command(call, (*streams, failing, to.ruleset), to)
    for each in {*streams, failing}:
        os.close(each)
    if problem := os.read(failed, 4096):  # its end is the start of the command
        reply.send(problem)
        os._exit(1)
    status, is_left = _wait_for_end(command, reply, wake, call["grace"], to)
    _kill_others(to)
    reply.send(json.dumps({"status": status, "left": is_left}).encode())
    os._exit(0)


def _watch_children() -> int:
    """Return a descriptor that can be read when a child has ended."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    return wake


def _close_kernel_settings(flags: int) -> None:
    for name in _KERNEL_SETTINGS:
        path = f"/proc/{name}"
        if os.access(path, os.W_OK):
            kernel.mount(path, path, None, kernel.BIND | kernel.RECURSIVE)
            read_only = kernel.BIND | kernel.REMOUNT | kernel.READ_ONLY
            kernel.mount("none", path, None, read_only | flags)


def _wait_for_end(
    command: int, reply: socket.socket, wake: int, grace: float, to: Limits
) -> tuple[int | None, bool]:
    """Wait for the command; return its status, and if it left anything running, which is ended.

    The message `end` ends it: all get SIGTERM, and SIGKILL `grace` seconds later. The message
    `ports` is answered with the ports on which it listens.
    """
    poller = select.poll()
    poller.register(reply, select.POLLIN)
    poller.register(wake, select.POLLIN)
    while True:
        poller.poll()
        try:
            os.read(wake, 512)
        except BlockingIOError:
            pass
        ended, status = _reap(command)
        if ended:
            is_left = not _wait_for_others(_SETTLE_SECONDS, to)
            if is_left:
                _end_others(grace, to)
            return status, is_left
        message = _read_message(reply, to)
        if message == b"ports":
            reply.send(json.dumps({"ports": find_ports(to.list_others())}).encode())
        elif message:
            _end_others(grace, to)
            return None, False


def _read_message(reply: socket.socket, to: Limits) -> bytes:
    """Return what the program asked for, if anything; exits if the program has ended itself."""
    try:
        data = reply.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""
    except OSError:
        data = b""
    if not data:
        _kill_others(to)
        os._exit(0)
    return data


def _reap(command: int) -> tuple[bool, int | None]:
    """Collect ended processes; return whether the command is among them, and its status."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, None
        if pid == command:
            return True, status
        if pid == 0:
            return False, None


def _wait_for_others(seconds: float, to: Limits) -> bool:
    """Wait until no process but this one is left; return whether that is so."""
    deadline = time.monotonic() + seconds
    while True:
        _reap(0)
        if not to.list_others():
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)


def _end_others(grace: float, to: Limits) -> None:
    for number in (signal.SIGTERM, signal.SIGCONT):
        _send(number, to)
    _wait_for_others(grace, to)


def _kill_others(to: Limits) -> None:
    """Kill what is left; in a separate number space, the kernel does that."""
    while not to.has_namespaces and to.list_others():
        _send(signal.SIGSTOP, to)  # what is stopped starts no others
        _send(signal.SIGKILL, to)
        _wait_for_others(_POLL_SECONDS, to)


def _send(number: signal.Signals, to: Limits) -> None:
    for each in to.list_others():
        try:
            os.kill(each, number)
        except ProcessLookupError:
            pass


def _become_command(call: dict[str, Any], given: tuple[int, ...], to: Limits) -> NoReturn:
    """Replace this process with the command, without the rights of the runner."""
    try:
        os.setsid()
        _take_descriptors(given)
        _enter(call["directory"], call["directory_id"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        kernel.keep_rights(())
        if to.ruleset >= 0:
            kernel.restrict_files(_RULESET)
        kernel.restrict_calls(to.calls)
        if not call["arguments"]:
            inspection.inspect(call["closed"], has_namespaces=to.has_namespaces)
            os._exit(0)
        os.execvpe(call["arguments"][0], call["arguments"], call["environment"])
    except OSError as error:
        _report(error.strerror or str(error), error.errno or 0)
    except BaseException as error:  # noqa: BLE001 - the fork has no other way out
        _report(str(error), 0)


def _take_descriptors(given: tuple[int, ...]) -> None:
    """Have these descriptors from 0 on, and no others; the first three stay open in the command."""
    kept = [each for each in given if each >= 0]
    for number, each in enumerate(kept):
        os.dup2(each, _FIRST_FREE + number, inheritable=False)
    for number in range(len(kept)):
        os.dup2(_FIRST_FREE + number, number, inheritable=number < _STREAMS)
    os.closerange(len(kept), 1 << 16)


def _report(problem: str, number: int) -> NoReturn:
    os.write(_FAILING, json.dumps({"problem": problem, "errno": number}).encode())
    os._exit(127)


def _enter(directory: str, identity: list[int]) -> None:
    """Enter the working directory, which must be the one that the program opened."""
    os.chdir(directory)
    status = os.stat(".")
    if identity and [status.st_dev, status.st_ino] != identity:
        raise FileNotFoundError(errno.ENOENT, "another directory is at the path of the workspace")
