"""The full sandbox: namespaces made by bubblewrap, and our filter for system calls.

The command has process ids, a network and a `/tmp` separate from those of the machine. Everything
is mounted read-only except for the workspace, the temporary directory and the directories of the
settings; hidden places are covered by empty mounts. `.git` and the directories above protected
places are mount points, so they cannot be renamed and others cannot be put in their place.

https://github.com/containers/bubblewrap
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from yourtool.tools.sandbox.layout import Layout

_DIRECTORIES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Where bubblewrap is looked for: not in `PATH`, which can contain directories of a project."""
_PRIVATE = (Path("/tmp"), Path("/run"))  # noqa: S108 - replaced, not used
"""Directories with the sockets of agents, daemons and displays."""
_KERNEL_SETTINGS = tuple(
    Path("/proc", name)
    for name in ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
)
"""What root can change in the kernel without a capability: the files belong to it."""
_NIX = Path("/run/current-system")
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup-try", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
)  # fmt: skip


class _Mount(Struct, frozen=True):
    """One mount; `rank` orders the mounts of one path."""

    path: Path
    rank: int
    arguments: tuple[str, ...]
    is_sealed: bool = False
    """Whether it becomes read-only at the end, after the mounts in it."""


def find_bubblewrap() -> str | None:
    """Return the absolute path of `bwrap` in a directory of the system, or None."""
    for directory in _DIRECTORIES:
        path = Path(directory, "bwrap")
        try:
            status = path.stat()
        except OSError:
            continue
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if status.st_uid == 0 and not others_write and os.access(path, os.X_OK):
            return str(path)
    return None


def build_arguments(program: str, layout: Layout, directory: Path, filter_fd: int) -> list[str]:
    """Return the start of the command line; the command with its arguments follows."""
    mounts = sorted(_mounts(layout), key=lambda each: (len(each.path.parts), each.rank))
    last = {each.path: each for each in mounts}
    arguments = [program, *_NAMESPACES, "--ro-bind", "/", "/"]
    for mount in mounts:
        if last[mount.path] is mount:
            arguments += mount.arguments
    for mount in mounts:
        if mount.is_sealed and last[mount.path] is mount:
            arguments += ("--remount-ro", str(mount.path))
    return [*arguments, "--chdir", str(directory), "--seccomp", str(filter_fd), "--"]


def _mounts(layout: Layout) -> Iterator[_Mount]:
    yield _Mount(Path("/dev"), 0, ("--dev", "/dev"))
    yield _Mount(Path("/proc"), 0, ("--proc", "/proc"))
    for path in _KERNEL_SETTINGS:
        if path.exists():
            yield _Mount(path, 1, ("--ro-bind", str(path), str(path)))
    temporary, run = _PRIVATE
    yield _Mount(temporary, 0, ("--bind", str(layout.temporary), str(temporary)))
    yield _Mount(run, 0, ("--tmpfs", str(run)), is_sealed=True)
    if _NIX.exists():
        yield _Mount(_NIX, 1, ("--ro-bind", str(_NIX), str(_NIX)))
    for path in layout.readable:
        yield _Mount(path, 1, ("--ro-bind", str(path), str(path)))
    for path in (layout.workspace, *layout.writable):
        yield _Mount(path, 2, ("--bind", str(path), str(path)))
    for path in layout.pinned:
        yield _Mount(path, 3, ("--bind", str(path), str(path)))
    for point in layout.protected:
        yield _Mount(point.path, 4, ("--ro-bind", str(point.path), str(point.path)))
    for path in layout.hidden:
        if is_private(path) and not _is_visible(path, layout):
            continue  # there is nothing at this path
        if path.is_dir():
            yield _Mount(path, 5, ("--tmpfs", str(path)), is_sealed=True)
        else:
            yield _Mount(path, 5, ("--ro-bind", os.devnull, str(path)))


def is_private(path: Path) -> bool:
    """Whether a path is in a directory that the sandbox replaces."""
    return any(path.is_relative_to(each) for each in _PRIVATE)


def _is_visible(path: Path, layout: Layout) -> bool:
    shown = (layout.workspace, *layout.writable, *layout.readable)
    return any(path.is_relative_to(each) for each in shown)
