"""Attempts to leave the sandbox, and their results.

A level is what was measured, never what was configured: one probe that succeeds although the level
claims to prevent it, and the level is not used.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from yourtool.process.guardian import build_prefix
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox.layout import RUN, TEMPORARY, Layout
from yourtool.tools.sandbox.repositories import find_writable_repository

NOT_CLAIMED: dict[str, frozenset[str]] = {
    "full": frozenset(
        {
            "change the configuration of git", "delete the configuration of git",
            "replace the configuration of git", "create another configuration of git",
            "redirect the configuration of git", "create the attributes of git",
            "change a missing place", "create a missing place", "create a missing file",
            "change instructions", "delete instructions", "replace instructions",
            "create a workflow", "rename the workflows", "rename the directory of the workflows",
            "rename an inner repository", "create a hook of an inner repository",
        }
    ),
    "landlock": frozenset(
        {
            "change a mode outside", "change a time outside", "signal the parent",
            "see processes of the machine",
        }
    ),
}  # fmt: skip
"""The probes that a level does not claim to prevent; those of `full` are taken back afterwards."""

_SCRIPT = Path(__file__).with_name("probe_script.py")
_NEEDED = 4
"""Lines of what must work."""
_TIMEOUT_SECONDS = 20
_CANARY = "canary"
_OUTSIDE = Path("/var/tmp")  # noqa: S108 - a directory of ours in it; unlike `/tmp`, it is visible


class Fixture(Struct, frozen=True):
    """The files and sockets that probes try to reach."""

    layout: Layout
    temporary: Path
    arguments: tuple[str, ...]
    canaries: tuple[Path, ...]
    """Files that exist only if a probe wrote outside."""
    listeners: tuple[socket.socket, ...]


class ProbeResult(Struct, frozen=True):
    """What the probes reached."""

    reached: frozenset[str]
    problem: str | None = None
    """Why the probes did not run as intended."""


@contextmanager
def build_fixture(
    hidden: tuple[Path, ...], readable: tuple[Path, ...] = ()
) -> Generator[Fixture, None, None]:
    """Create a workspace with everything around it; `hidden` is added to what cannot be read."""
    with ExitStack() as stack:
        place = _OUTSIDE if os.access(_OUTSIDE, os.W_OK) else None
        base = Path(os.path.realpath(tempfile.mkdtemp(prefix=build_prefix(os.getpid()), dir=place)))
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        workspace = base / "workspace"
        for name in (".git/hooks", ".git/objects", ".git/refs", ".github/workflows", "sub"):
            (workspace / name).mkdir(parents=True)
        for name in ("outside/empty", "home/.ssh", "own", "temporary", "workspace/inner/.git"):
            (base / name).mkdir(parents=True)
        for name in (
            "outside/file", "outside/gone", "home/.ssh/id_ed25519", "own/sessions.db",
            "workspace/AGENTS.md", "workspace/.git/HEAD", "workspace/.git/config",
            "workspace/inner/.git/HEAD",
        ):  # fmt: skip
            (base / name).write_text(_CANARY)
        name = f"yourtool-{secrets.token_hex(8)}"
        listeners = _listen(base / "outside/socket", name, stack)
        repository = find_writable_repository(workspace)
        layout = Layout(
            workspace=workspace,
            private=tuple(each for each in (*TEMPORARY, RUN) if each.is_dir()),
            readable=(*readable, base / "outside"),
            hidden=(*hidden, base / "home/.ssh", base / "own"),
            pinned=(repository.directory,) if repository else (),
            sealed=repository.hooks if repository else (),
        )
        ports = [each.getsockname()[1] for each in listeners[:2]]
        arguments = {
            "outside": base / "outside", "home": base / "home", "own": base / "own",
            "canary": name, "parent": os.getpid(), "port": ports[0], "udp_port": ports[1],
            "socket": base / "outside/socket", "abstract": name,
        }  # fmt: skip
        places = ("/tmp", "/dev/shm", "/var/tmp", "/etc", base / "outside")  # noqa: S108
        canaries = tuple(Path(place, name) for place in places)
        for canary in canaries:
            stack.callback(canary.unlink, missing_ok=True)
        yield Fixture(
            layout,
            base / "temporary",
            tuple(f"{key}={value}" for key, value in arguments.items()),
            canaries,
            listeners,
        )


def _listen(path: Path, abstract: str, stack: ExitStack) -> tuple[socket.socket, ...]:
    addresses: list[tuple[int, int, object]] = [
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        (socket.AF_UNIX, socket.SOCK_STREAM, str(path)),
    ]
    if sys.platform == "linux":
        addresses.append((socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"))
    opened = list[socket.socket]()
    for family, kind, address in addresses:
        each = stack.enter_context(socket.socket(family, kind))
        each.bind(address)  # pyright: ignore[reportArgumentType] - one address per family
        if kind == socket.SOCK_STREAM:
            each.listen()
        each.setblocking(False)
        opened.append(each)
    return tuple(opened)


class Finished(Struct, frozen=True):
    """How the script ended."""

    code: int | None
    """None: it did not end in time."""
    printed: str
    complaint: str = ""


def run_directly(command: ShellCommand) -> Finished:
    """Run a command line that confines itself; blocks.

    Raises:
        OSError: it could not be started.
    """
    try:
        done = subprocess.run(
            command.arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=command.directory,
            env=dict(command.environment),
            pass_fds=command.descriptors,
            text=True,
            start_new_session=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finished(None, "")
    return Finished(done.returncode, done.stdout, done.stderr)


def run_probes(fixture: Fixture, run: Callable[[list[str]], Finished]) -> ProbeResult:
    """Run the script; `run` runs its command line in the sandbox to measure."""
    try:
        done = run([sys.executable, "-I", "-S", str(_SCRIPT), *fixture.arguments])
    except OSError as error:
        return ProbeResult(frozenset(), error.strerror or str(error))
    if done.code is None:
        return ProbeResult(frozenset(), "it did not answer")
    lines = done.printed.splitlines()
    reached = {line[1:] for line in lines if line.startswith("-")} | _find_traces(fixture)
    works = [line for line in lines if line.startswith("+")]
    if done.code != 0 or len(works) < _NEEDED:
        last = done.complaint.strip().splitlines()[-1:] or [f"exit code {done.code}"]
        return ProbeResult(frozenset(reached), last[0][:200])
    return ProbeResult(frozenset(reached))


def _find_traces(fixture: Fixture) -> set[str]:
    """Return what the probes reached on the machine itself, although it looked private to them."""
    left = filter(os.path.lexists, fixture.canaries)
    found = {f"write in {path.parent} of the machine" for path in left}
    datagrams = fixture.listeners[1]
    with suppress(OSError):
        if datagrams.recv(64):
            found.add("send over UDP")
    return found


def find_broken_claims(level: str, result: ProbeResult) -> frozenset[str]:
    """Return what was reached although `level` claims to prevent it."""
    return result.reached - NOT_CLAIMED[level]
