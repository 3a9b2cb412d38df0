"""The program's own directories and files, which no tool may read or change.

They hold keys, permissions, settings and sessions. Everything is compared by device and inode, so a
link, a hard link, a bind mount, another spelling or a new name of a directory makes no difference.
A directory that does not exist yet is known by the nearest one above it and the names that follow.
An own directory with too many entries to compare closes everything.
"""

import os
import stat
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.protected import folded_name

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_ENTRIES = 20_000
"""In one directory; reading their identities takes about a tenth of a second."""
_SETTLED_NS = 100_000_000
"""A directory changed longer ago than this shows its next change in its time."""
_INNER = frozenset({"blobs", "locks", "log", "themes"})
"""Directories of the program inside its own; others there belong to the user."""


def identity(status: os.stat_result) -> Identity:
    """Return what a file or directory is known by, whatever it is called."""
    return status.st_dev, status.st_ino


class Missing(Struct, frozen=True):
    """An own directory that does not exist yet."""

    above: Identity
    """The nearest directory that exists."""
    names: tuple[str, ...]
    """What has to be created below it, folded."""


class Snapshot(Struct, frozen=True):
    """The program's own places at one moment."""

    directories: frozenset[Identity] = frozenset()
    entries: frozenset[Identity] = frozenset()
    """Files right in these directories, and directories that the program makes there."""
    missing: tuple[Missing, ...] = ()

    def holds(self, status: os.stat_result) -> bool:
        """Tell whether a file or directory that was met on a walk is one of them."""
        return identity(status) in self.directories or identity(status) in self.entries

    def covers(
        self, trail: Sequence[Identity], roots: Iterable[Identity], names: Sequence[str] = ()
    ) -> bool:
        """Tell whether a path is off limits.

        `trail`: everything that exists on the way from the top of the file system to the end of
        the path; `names`: what follows and does not exist. `roots`: directories that were opened
        for tools. One that lies in an own directory may be used, such as that of long outputs.
        """
        if not self.entries.isdisjoint(trail):
            return True
        own = max((at for at, each in enumerate(trail) if each in self.directories), default=-1)
        opened = set(roots)
        root = max((at for at, each in enumerate(trail) if each in opened), default=-1)
        if own >= 0 and own >= root:
            return True
        folded = tuple(map(folded_name, names))
        return any(
            trail[-1] == each.above and folded[: len(each.names)] == each.names
            for each in self.missing
            if folded and trail
        )


class _Entries(Struct, frozen=True):
    """What own directories hold, as long as their times of change are these."""

    key: tuple[object, ...] = ()
    found: frozenset[Identity] = frozenset()


class OwnPlaces:
    """Holds the directories open, so that they stay known under another name."""

    def __init__(self, directories: Iterable[Path] = ()) -> None:
        self._paths = tuple(directories)
        self._held: dict[Identity, int] = {}
        self._opened: dict[int, Path] = {}
        self._entries = _Entries()
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._held)
        for path in self._paths:
            self._hold(path)

    def snapshot(self) -> Snapshot:
        """Look at the directories as they are now; blocks on the file system.

        Raises:
            ToolError: one of them has too many entries, so that its files cannot be recognised.
        """
        with self._lock:
            missing = tuple(filter(None, map(self._hold, self._paths)))
            return Snapshot(frozenset(self._held), self._look(), missing)

    def _hold(self, path: Path) -> Missing | None:
        """Open a directory that is not known yet; return where it would be if there is none."""
        try:
            if identity(path.stat()) not in self._held:
                descriptor = os.open(path, _OPEN)
                self._held.setdefault(identity(os.fstat(descriptor)), descriptor)
                self._opened[descriptor] = path
        except OSError:
            return _missing(path)
        return None

    def _look(self) -> frozenset[Identity]:
        """List the directories again if one has changed."""
        changes = [(each, os.fstat(each).st_mtime_ns) for each in self._held.values()]
        if self._entries.key == tuple(changes):
            return self._entries.found
        now = time.time_ns()
        found, links = set[Identity](), False
        for descriptor in self._held.values():
            for entry, status in _listed(descriptor, self._opened[descriptor]):
                links = links or entry.is_symlink()
                if stat.S_ISREG(status.st_mode) or _is_inner(entry):
                    found.add(identity(status))
        # A link may come to lead elsewhere without a change here, and a clock is not exact.
        settled = not links and all(now - changed > _SETTLED_NS for _, changed in changes)
        self._entries = _Entries(tuple(changes) if settled else (), frozenset(found))
        return self._entries.found


def _close(held: dict[Identity, int]) -> None:
    for descriptor in held.values():
        os.close(descriptor)


def _crowded(path: Path) -> ToolError:
    return ToolError(
        f"`{path}`, a directory of `yourtool` itself, has more than {_MOST_ENTRIES:,} entries, so"
        " links to them cannot be recognised and no tool may use any file. Only the user can help:"
        " by moving what does not belong there, or with another `--session-dir`.",
        ToolFailure.PERMISSION_DENIED,
    )


def _listed(directory: int, path: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield what a directory holds, and what links in it lead to; `path` names it in an error."""
    try:
        descriptor = os.open(".", _OPEN, dir_fd=directory)
    except OSError:
        return
    try:
        with os.scandir(descriptor) as found:
            for at, entry in enumerate(found):
                if at == _MOST_ENTRIES:
                    raise _crowded(path)
                with suppress(OSError):
                    yield entry, entry.stat()
    finally:
        os.close(descriptor)


def _is_inner(entry: os.DirEntry[str]) -> bool:
    return entry.name in _INNER and entry.is_dir(follow_symlinks=False)


def _missing(path: Path) -> Missing | None:
    """Describe a directory that does not exist; None: it does, or cannot be reached."""
    for above in (path, *path.parents):
        try:
            status = above.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None
        names = path.relative_to(above).parts
        return Missing(identity(status), tuple(map(folded_name, names))) if names else None
    return None
