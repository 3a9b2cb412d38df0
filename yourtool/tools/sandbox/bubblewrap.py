"""Namespaces of the full sandbox.

Process ids, the network, `/tmp` and home directories are separate from those of the machine.
Everything is mounted read-only except for the workspace, its repository, the directories of the
settings and private ones. `.git` is a mount point, so that it cannot be renamed and another one put
in its place. What was mounted is compared with `find_intended` from inside.

https://github.com/containers/bubblewrap
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.foundation.files import is_file
from yourtool.tools.sandbox.layout import RUN, TEMPORARY, Layout

_DIRECTORIES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Where bubblewrap is looked for: not in `PATH`, which can contain directories of a project."""
_NIX = Path("/run/current-system")
_DEVICES, _SHARED_MEMORY = Path("/dev"), Path("/dev/shm")  # noqa: S108 - replaced, not used
_OPEN_TO_ALL = (*TEMPORARY, _SHARED_MEMORY)
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup-try", "--new-session",
)  # fmt: skip
MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
_TEMPORARY_SHARE, _SHARE = 4, 16
"""What is written to a private directory is in memory: at most this part of it."""
_RIGHTS = (
    "CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SETPCAP", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
)  # fmt: skip
"""What the runner needs to finish the mounts and the network, and to start process trees.

No command has them.
"""


class Mount(Struct, frozen=True):
    """One mount; `rank` orders the mounts of one path."""

    path: Path
    rank: int
    arguments: tuple[str, ...]
    source: Path | None = None
    """What is at the path; None: something private, or nothing."""
    is_writable: bool = False
    is_checked: bool = True
    """Whether it is compared with what was intended; what the kernel shows there is not."""


def find_bubblewrap() -> str | None:
    """Return the absolute path of `bwrap` in a directory of the system, or None."""
    return next((str(path) for path in _find_installed() if _is_of_the_system(path)), None)


def explain_absence() -> str:
    """Return why there is no `bwrap` that can be used."""
    for path in _find_installed():
        if not _is_of_the_system(path):
            return f"bubblewrap (`{path}`) does not belong to root, or others can change it"
    return "bubblewrap (`bwrap`) is not installed"


def _find_installed() -> Iterator[Path]:
    return (path for path in (Path(each, "bwrap") for each in _DIRECTORIES) if is_file(path))


def _is_of_the_system(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == 0 and not others_write and os.access(path, os.X_OK)


def build_arguments(program: str, layout: Layout, hold: Callable[[bytes], int]) -> list[str]:
    """Return the start of the command line; the runner with its arguments follows.

    `hold` returns a descriptor from which bubblewrap reads a content.
    """
    arguments = [program, *_NAMESPACES, "--cap-drop", "ALL"]
    for each in _RIGHTS:
        arguments += ("--cap-add", each)
    arguments += ("--ro-bind", "/", "/")
    for mount in list_mounts(layout):
        arguments += mount.arguments
    for path, content in layout.copies:
        arguments += ("--perms", "0600", "--file", str(hold(content)), str(path))
    for path, content in layout.replaced:
        arguments += ("--perms", "0444", "--ro-bind-data", str(hold(content)), str(path))
    for path in (*layout.closed, _DEVICES):
        arguments += ("--remount-ro", str(path))
    return [*arguments, "--chdir", "/", "--"]


def find_intended(layout: Layout) -> list[dict[str, Any]]:
    """Return what has to be mounted: device and inode of each source, as they are now.

    Raises:
        OSError: a source is gone.
    """
    found = list[dict[str, Any]]()
    for mount in list_mounts(layout):
        if not mount.is_checked:
            continue
        status = None if mount.source is None else mount.source.stat()
        found.append(
            {
                "path": str(mount.path),
                "device": status and status.st_dev,
                "inode": status and status.st_ino,
                "is_writable": mount.is_writable,
            }
        )
    return found


def list_mounts(layout: Layout) -> list[Mount]:
    """Return the mounts in their order, one for each path."""
    mounts = sorted(_mounts(layout), key=lambda each: (len(each.path.parts), each.rank))
    last = {each.path: each for each in mounts}
    return [each for each in mounts if last[each.path] is each]


def _mounts(layout: Layout) -> Iterator[Mount]:
    yield Mount(_DEVICES, 0, ("--dev", str(_DEVICES)), is_checked=False)
    yield Mount(Path("/proc"), 0, ("--proc", "/proc"), is_checked=False)
    for path in layout.closed:
        yield Mount(path, 0, ("--perms", "0700", "--tmpfs", str(path)))
    for path in (*layout.private, _SHARED_MEMORY):
        mode = "1777" if path in _OPEN_TO_ALL else "0755" if path == RUN else "0700"
        size = MEMORY_BYTES // (_TEMPORARY_SHARE if path in _OPEN_TO_ALL else _SHARE)
        arguments = ("--size", str(size), "--perms", mode, "--tmpfs", str(path))
        yield Mount(path, 0, arguments, is_writable=True)
    for path in (_NIX, *layout.readable):
        if path.exists():
            yield _bind(path, 1)
    for path in (*layout.writable, layout.workspace, *layout.pinned):
        yield _bind(path, 2, is_writable=True)
    for path in layout.sealed:
        yield _bind(path, 3)
    for path in layout.hidden:
        if path.is_dir():
            arguments = ("--perms", "0500", "--tmpfs", str(path))
            yield Mount(path, 5, arguments, is_writable=True)
        else:
            arguments = ("--ro-bind", os.devnull, str(path))
            yield Mount(path, 5, arguments, Path(os.devnull))


def _bind(path: Path, rank: int, *, is_writable: bool = False) -> Mount:
    option = "--bind" if is_writable else "--ro-bind"
    return Mount(path, rank, (option, str(path), str(path)), path, is_writable=is_writable)
