"""Hard links: the other names of a file."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from yourtool.permissions.configured_places import Protection
from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.own_directories import Identity, identity
from yourtool.tools.workspace.directory_opening import LIST
from yourtool.tools.workspace.path_resolution import printable_name

_MAX_ENTRIES = 500_000
"""Entries that a search for names reads; a second on a usual disk."""
_MAX_LEVELS = 200


def has_others(status: os.stat_result) -> bool:
    """True if a file has several names."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def find_names(root: Path, directory: int, status: os.stat_result) -> tuple[str, ...] | None:
    """Return all names of a file below a directory, so that a write can change each of them.

    `root`: the real path of the open directory. None: one of them is elsewhere, may be a
    credential file, or is a protected place, which an approval of another name does not cover.
    """
    start = os.open(".", LIST, dir_fd=directory)
    try:
        found = _iter_names(start, identity(status), [_MAX_ENTRIES])
        names = list(islice(found, status.st_nlink))
    finally:
        os.close(start)
    if len(names) < status.st_nlink:
        return None
    protection = Protection(root)
    is_open = not any(protection.find(name) or is_credential_file(name) for name in names)
    return tuple(sorted(names)) if is_open else None


def describe(names: Sequence[str] | None, written: str) -> str:
    """Return a sentence about the other names of a file that was written; empty without any."""
    if names is None:
        return (
            "Its other names (hard links) keep the old content: one of them is outside the"
            " workspace, or a protected place, or may contain credentials."
        )
    others = ", ".join(f"`{printable_name(each)}`" for each in names if each != written)
    return f"It is the same file as {others}." if others else ""


def _iter_names(
    directory: int, wanted: Identity, left: list[int], prefix: str = "", level: int = 0
) -> Iterator[str]:
    """Yield the paths of a file; `left`: the number of entries that may be read."""
    folders = list[str]()
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.inode() == wanted[1] and not entry.is_symlink():
                with suppress(OSError):
                    if identity(entry.stat(follow_symlinks=False)) == wanted:
                        yield prefix + entry.name
    for name in folders if level < _MAX_LEVELS else ():
        try:
            below = os.open(name, LIST, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from _iter_names(below, wanted, left, f"{prefix}{name}/", level + 1)
        finally:
            os.close(below)
