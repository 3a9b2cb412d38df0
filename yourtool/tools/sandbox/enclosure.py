"""The namespaces of all commands of a session.

bubblewrap makes it before anything untrusted runs, and a runner in it (`runner/`) compares
every mount with what was intended. Each call is a process tree that the runner starts with the
files that it is given; it ends with the call, and all of them end with this program, however it
ends. The runner is trusted with the exit codes and outputs of calls only.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

from msgspec.structs import replace

from yourtool.foundation.files import is_in, real_path
from yourtool.tools.processes.process import ShellCommand, StandardStreams
from yourtool.tools.sandbox import bubblewrap, seccomp
from yourtool.tools.sandbox.enclosed_process import EnclosedProcess
from yourtool.tools.sandbox.layout import Layout, find_homes, find_sockets
from yourtool.tools.sandbox.repositories import find_writable_repository

_RUNNER = Path(__file__).with_name("runner")
_READY_SECONDS = 15.0
_END_SECONDS = 3.0
"""Time for the enclosure to end; then it is killed."""
_MAX_REPLY_BYTES, _MAX_DESCRIPTORS = 65_536, 2
_SCRATCH_SHARE = 4
"""What commands write into caches is in memory: at most this part of it."""


class EnclosureError(Exception):
    """The sandbox could not be made, or is not as it was intended."""


class SlowEnclosureError(EnclosureError):
    """The sandbox was not made in time; trying again would take as long."""


class _UncoveredError(EnclosureError):
    """The runner cannot cover sockets; bubblewrap can."""


class Enclosure:
    """The namespaces of a session, and the runner in them."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", channel: socket.socket, layout: Layout
    ) -> None:
        self._process = process
        self._forgotten = weakref.finalize(self, _end_later, process, channel)
        self._forgotten.atexit = False  # the runner notices the end of this program
        self._hooks = identify(layout.sealed)
        self._channel = channel
        self.read_only_caches: tuple[Path, ...] = ()
        """Caches that commands cannot write, because the kernel is too old."""
        self.names: socket.socket | None = None
        """Gets the questions of commands for the addresses of names; None: it cannot."""
        self.answers: socket.socket | None = None
        """Gets the packets that accept or refuse connections of commands; None: it cannot."""

    @property
    def is_open(self) -> bool:
        return self._process.poll() is None

    async def start(
        self, command: ShellCommand, streams: StandardStreams, grace: float
    ) -> EnclosedProcess:
        """Start a call with its standard streams, which stay open here.

        Raises:
            OSError: the runner has ended.
        """
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other, ExitStack() as stack:
            described = hold(json.dumps(_describe(command, grace)).encode(), stack)
            try:
                self._request(b"start", described, *streams, other.fileno())
            except BaseException:
                mine.close()
                raise
        return EnclosedProcess(mine)

    def has_all(self, workspace: Path) -> bool:
        """Whether the repository of the workspace is the one whose hooks are read-only here."""
        repository = find_writable_repository(workspace, tuple(find_homes()))
        hooks = repository.hooks if repository else ()
        return identify(hooks) == self._hooks

    async def connect(self, port: int) -> socket.socket | None:
        """Return a connection to a server in the enclosure, or None if nothing listens there."""
        return await self._get_socket(b"connect %d" % port)

    async def listen(self, port: int) -> socket.socket:
        """Return a socket that accepts connections on a port of the enclosure.

        Raises:
            OSError: the port cannot be used.
        """
        if (found := await self._get_socket(b"listen %d" % port)) is None:
            raise OSError(f"the port {port} cannot be used in the sandbox")
        return found

    async def _get_socket(self, request: bytes) -> socket.socket | None:
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with mine:
            with other:
                self._request(request, other.fileno())
            with suppress(TimeoutError):
                async with asyncio.timeout(_READY_SECONDS):
                    await _wait_until_readable(mine)
            _, descriptors = _receive(mine, 0)
            return socket.socket(fileno=descriptors[0]) if descriptors else None

    def _request(self, request: bytes, *descriptors: int) -> None:
        socket.send_fds(self._channel, [request], descriptors)

    def close(self) -> None:
        """End all calls and the enclosure; blocks."""
        for each in (self.names, self.answers):
            if each is not None:
                each.close()
        if self._forgotten.detach() is not None:
            _end(self._process, self._channel)


def _end_later(process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
    threading.Thread(target=_end, args=(process, channel), daemon=True).start()


def _end(process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
    channel.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def identify(paths: tuple[Path, ...]) -> list[tuple[Path, int, int]]:
    """Return paths with device and inode; without those that are gone."""
    found = list[tuple[Path, int, int]]()
    for path in paths:
        with suppress(OSError):
            status = path.lstat()
            found.append((path, status.st_dev, status.st_ino))
    return found


def open_enclosure(program: str, layout: Layout) -> Enclosure:
    """Make the namespaces, start the runner, and wait until it has verified them; blocks.

    Raises:
        EnclosureError: they could not be made, or are not as intended.
    """
    try:
        return _open(program, layout)
    except _UncoveredError:
        covered = (*layout.hidden, *_find_visible_sockets(layout))
        return _open(program, replace(layout, hidden=covered))


def _open(program: str, layout: Layout) -> Enclosure:
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ExitStack() as stack, tempfile.TemporaryFile() as errors:
        stack.enter_context(other)
        failing = stack.enter_context(ExitStack())
        failing.callback(mine.close)
        try:
            process = _start(program, layout, other.fileno(), errors, stack)
        except OSError as error:
            raise EnclosureError(_describe_error(error)) from error
        other.close()
        failing.callback(process.wait)
        failing.callback(process.kill)
        start = time.monotonic()
        ready, descriptors = _receive(mine, _READY_SECONDS)
        if time.monotonic() - start >= _READY_SECONDS:
            raise SlowEnclosureError("it did not answer")
        answer: dict[str, Any] = json.loads(ready) if ready else {}
        if not answer.get("is_covered", True):
            raise _UncoveredError
        if "failed_overlays" not in answer:
            raise EnclosureError(answer.get("problem") or _read_problem(process, errors))
        failing.pop_all()
    mine.setblocking(False)
    enclosure = Enclosure(process, mine, layout)
    enclosure.read_only_caches = tuple(map(Path, answer["failed_overlays"]))
    made = (socket.socket(fileno=each) for each in descriptors)
    given = dict(zip(answer["sockets"], made, strict=False))
    enclosure.names, enclosure.answers = given.get("names"), given.get("answers")
    for each in given.values():
        weakref.finalize(enclosure, each.close)
    return enclosure


def _start(
    program: str, layout: Layout, channel: int, errors: BinaryIO, stack: ExitStack
) -> "subprocess.Popen[bytes]":
    contents = list[int]()

    def give(content: bytes) -> int:
        contents.append(hold(content, stack))
        return contents[-1]

    setup = give(json.dumps(_build_setup(layout)).encode())
    start = bubblewrap.build_arguments(program, layout, give)
    interpreter = real_path(Path(sys.executable).parent) / Path(sys.executable).name
    runner = (str(interpreter), "-I", "-S", "-X", "utf8", str(_RUNNER), str(setup), str(channel))
    return subprocess.Popen(
        (*start, *runner),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        cwd="/",
        env={},
        pass_fds=(*contents, channel),
        start_new_session=True,
    )


def _find_visible_sockets(layout: Layout) -> list[Path]:
    """Return the sockets of other programs that would be seen, except for those that are hidden."""
    # Everything in a private directory is gone, except for what is mounted there.
    shown = (layout.workspace, *layout.writable, *layout.readable)
    gone = (*layout.private, *layout.closed)
    found = (each for each in find_sockets(()) if each not in layout.hidden)
    return [each for each in found if not is_in(each, gone) or is_in(each, shown)]


def _build_setup(layout: Layout) -> dict[str, Any]:
    writable = (layout.workspace, *layout.writable, *layout.private, Path("/dev"), Path("/proc"))
    return {
        "mounts": bubblewrap.find_intended(layout),
        "host": os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).split("\n")[:-1],
        "overlays": [str(path) for path in layout.caches],
        "scratch_bytes": bubblewrap.MEMORY_BYTES // _SCRATCH_SHARE,
        "masks": [str(path) for path in _find_visible_sockets(layout)],
        "filter": seccomp.build_filter(seccomp.LOCAL_FAMILIES, traces=True).hex(),
        "written": [str(each) for each in writable],
        "closed": ["/", "/etc", "/usr"],
    }


def _describe(command: ShellCommand, grace: float) -> dict[str, Any]:
    identity: tuple[int, int] | tuple[()] = ()
    if command.opened_directory is not None:
        status = os.fstat(command.opened_directory)
        identity = (status.st_dev, status.st_ino)
    return {
        "arguments": [_portable(each) for each in command.arguments],
        "directory": _portable(str(command.directory)),
        "directory_id": identity,
        "environment": _portable_environment(command.environment),
        "grace": grace,
    }


def _portable_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {_portable(name): _portable(value) for name, value in environment.items()}


def _portable(text: str) -> str:
    """Return a text that means the same bytes in a process that uses UTF-8."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


async def _wait_until_readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(channel.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel.fileno())


def _receive(channel: socket.socket, seconds: float) -> tuple[bytes, list[int]]:
    channel.settimeout(seconds)
    try:
        data, descriptors, _, _ = socket.recv_fds(channel, _MAX_REPLY_BYTES, _MAX_DESCRIPTORS)
    except (OSError, TimeoutError):
        return b"", []
    finally:
        channel.settimeout(None)
    return data, descriptors


def _read_problem(process: "subprocess.Popen[bytes]", errors: BinaryIO) -> str:
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
    errors.seek(0)
    lines = errors.read(10_000).decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "it did not answer"


def _describe_error(error: OSError) -> str:
    return f"{error.filename or 'bubblewrap'}: {(error.strerror or str(error)).lower()}"


def hold(content: bytes, stack: ExitStack) -> int:
    """Return a descriptor from which a child reads `content`."""
    descriptor = os.memfd_create("yourtool", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
