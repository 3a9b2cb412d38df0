"""Start of calls in an enclosure.

It runs in the namespaces that bubblewrap made, before anything untrusted does. SETUP_FD has the
plan of `enclosure.py`; requests come on CHANNEL_FD. It imports no `yourtool`, so that it starts
fast, and nothing after the first command.
"""

import json
import os
import signal
import socket
import sys
from typing import Any

import kernel
import network
from calls import Limits, start_call
from mounts import MissingRightsError, SetupError, set_up

_MAX_MESSAGE, _MAX_ANSWER = 256, 4096
_DESCRIPTORS = 8
_KEPT = (kernel.CAP_SYS_ADMIN, kernel.CAP_SETPCAP)
"""What starting a process tree needs."""
_CONNECT_SECONDS = 5
_BACKLOG = 256


def main() -> None:
    """Set up the enclosure, report it, and serve."""
    setup_fd, channel_fd = map(int, sys.argv[1:3])
    channel = socket.socket(fileno=channel_fd)
    channel.set_inheritable(False)
    setup = json.loads(_read_all(setup_fd))
    try:
        has_rights = _has_rights()
        failed, made = set_up(setup, has_rights=has_rights), network.set_up()
        # Otherwise what root can change in `/proc` is covered for each call.
        written = [each for each in setup["written"] if has_rights or each != "/proc"]
        ruleset = kernel.build_ruleset(written, keeps_signals=not has_rights)
        limits = Limits(bytes.fromhex(setup["filter"]), ruleset, has_namespaces=has_rights)
        kernel.keep_rights(_KEPT if has_rights else ())
        _inspect(setup["closed"], limits)
    except (SetupError, OSError) as error:
        is_covered = not isinstance(error, MissingRightsError)
        channel.send(json.dumps({"problem": str(error), "is_covered": is_covered}).encode())
        return
    ready = {"failed_overlays": failed, "sockets": list(made)}
    socket.send_fds(
        channel, [json.dumps(ready).encode()], [each.fileno() for each in made.values()]
    )
    for each in made.values():
        each.close()
    _serve(channel, limits)
    try:
        os.kill(-1, signal.SIGKILL)  # all calls; bubblewrap ends when nothing is left
    except ProcessLookupError:
        pass


def _has_rights() -> bool:
    """Whether the runner may use what bubblewrap gave it; AppArmor can take it away again.

    https://gitlab.com/apparmor/apparmor/-/blob/master/profiles/apparmor/profiles/extras/bwrap-userns-restrict
    """
    try:
        kernel.unshare(kernel.NEW_MOUNTS)
    except PermissionError:
        return False
    return True


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def _inspect(closed: list[str], limits: Limits) -> None:
    """Run the inspection like a call.

    Raises:
        SetupError: it found something, or could not run.
    """
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    call = {"arguments": [], "closed": closed, "directory": "/", "directory_id": [], "grace": 0}
    streams = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]
    if (child := os.fork()) == 0:
        mine.close()
        start_call(call, streams, other, limits)
        os._exit(0)
    other.close()
    for each in streams:
        os.close(each)
    os.waitpid(child, 0)
    data = mine.recv(_MAX_ANSWER)
    mine.close()
    result: dict[str, Any] = json.loads(data) if data else {"problem": "no command can be started"}
    if result.get("status") != 0:
        raise SetupError(result.get("problem") or "the first command failed")


def _serve(channel: socket.socket, limits: Limits) -> None:
    """Answer requests until the program that made this enclosure ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for what is forked here
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, _MAX_MESSAGE, _DESCRIPTORS)
        if not data:
            return
        if os.fork() == 0:
            channel.close()
            try:
                _answer(data.split(), descriptors, limits)
            finally:
                os._exit(0)
        for each in descriptors:
            os.close(each)


def _answer(words: list[bytes], descriptors: list[int], limits: Limits) -> None:
    """Answer one request in a separate process; the last descriptor gets the answer."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *given, reply_fd = descriptors
    with socket.socket(fileno=reply_fd) as reply:
        match words:
            case [b"start"]:
                described, *streams = given
                start_call(json.loads(_read_all(described)), streams, reply, limits)
            case [b"connect", port]:
                _connect(int(port), reply)
            case [b"listen", port]:
                _listen(int(port), reply)
            case _:
                pass


def _connect(port: int, reply: socket.socket) -> None:
    """Send a connection to a server in the enclosure; without one, nothing."""
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        with socket.socket(family) as made:
            made.settimeout(_CONNECT_SECONDS)
            try:
                made.connect((host, port))
            except OSError:
                continue
            made.settimeout(None)
            socket.send_fds(reply, [b"+"], [made.fileno()])
            return


def _listen(port: int, reply: socket.socket) -> None:
    """Send a socket that listens on a port of the enclosure."""
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(_BACKLOG)
        socket.send_fds(reply, [b"+"], [made.fileno()])


main()
