"""The sandbox without namespaces: the policy of Landlock.

Landlock grants rights to directories with all of their contents and cannot take them back further
down. Protected places are therefore not in what is granted: the entries of the workspace that
exist when a command starts are writable, but nothing can be created directly in the workspace, and
`.git` is read-only. There are no sockets, because Landlock cannot hide those of other programs.

https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import itertools
import os
import struct
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from yourtool.permissions.protected_places import is_protected
from yourtool.tools.sandbox.layout import Layout

MIN_ABI = 3
"""Before, a file could be truncated without a right to write it."""

READ, LIST, WRITE, DEVICE = b"r", b"l", b"w", b"d"
"""Rights in a policy, which `confine.py` translates."""

_SCRIPT = Path(__file__).parent / "runner/confine.py"
_CREATE_RULESET, _VERSION = 444, 1
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""`tty` is the terminal of the command, if it has one: programs read passwords from it."""
_MAX_ENTRIES = 20_000


def find_abi() -> int:
    """Return the version of Landlock in this kernel; 0: it has none."""
    if sys.platform != "linux":
        return 0
    call = ctypes.CDLL(None).syscall
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, int(version))


def build_arguments(policy_fd: int) -> list[str]:
    """Return the start of the command line; the command with its arguments follows."""
    # Unlike `-I`, these options let the script import the module next to it.
    return [sys.executable, "-E", "-s", "-S", str(_SCRIPT), str(policy_fd)]


def build_policy(layout: Layout, temporary: Path, system_calls: bytes) -> bytes:
    """Return the input of the script: the filter for system calls, and a right for each path."""
    rules = [LIST + b"/"]
    rules += [READ + os.fsencode(path) for path in _find_open(Path("/"), layout.hidden)]
    rules += [READ + os.fsencode(path) for path in layout.readable]
    rules += [DEVICE + os.fsencode(f"/dev/{name}") for name in _DEVICES]
    writable = (temporary, *_find_writable(layout), *_writable_entries(layout))
    rules += [WRITE + os.fsencode(path) for path in writable]
    inner = [path for path in layout.hidden if path.is_relative_to(layout.workspace)]
    rules += [READ + os.fsencode(path) for path in _find_open(layout.workspace, inner)]
    return struct.pack("=I", len(system_calls)) + system_calls + b"\0".join(rules)


def _find_open(directory: Path, hidden: Collection[Path]) -> Iterator[Path]:
    """Yield `directory` if nothing in it is hidden, or else its entries that are not hidden."""
    closed = frozenset(map(str, hidden))
    above = {str(parent) for path in hidden for parent in path.parents}
    pending = [str(directory)]
    while pending:
        path = pending.pop()
        if path in closed:
            continue
        if path not in above:
            yield Path(path)
            continue
        with suppress(OSError), os.scandir(path) as entries:
            pending += [entry.path for entry in entries if not entry.is_symlink()]


def _find_writable(layout: Layout) -> Iterator[Path]:
    """Yield the directories of the settings; git directories are read-only at this level."""
    for path in layout.writable:
        if path not in layout.pinned and not layout.workspace.is_relative_to(path):
            yield path


def _writable_entries(layout: Layout) -> Iterator[Path]:
    """Yield the entries of the workspace without protected and hidden places."""
    closed = {*layout.sealed, *layout.hidden, *layout.pinned}
    with os.scandir(layout.workspace) as entries:
        for entry in itertools.islice(entries, _MAX_ENTRIES):
            if entry.is_symlink() or is_protected(entry.name):
                continue
            if entry.name.startswith(".") and entry.is_dir():
                closed.update(_find_pairs(Path(entry.path)))
            yield from _find_open(Path(entry.path), closed)


def _find_pairs(directory: Path) -> Iterator[Path]:
    """Yield the protected entries of a directory, such as `.github/workflows`."""
    with suppress(OSError):
        for path in itertools.islice(directory.iterdir(), _MAX_ENTRIES):
            if is_protected(f"{directory.name}/{path.name}"):
                yield path
