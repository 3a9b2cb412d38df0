"""The program's own directories and files.

They contain API keys, permissions, settings and sessions. Files and directories are compared by
device and inode, so symbolic links, hard links, bind mounts, other spellings and renames make no
difference. A directory that does not exist yet is identified by its nearest existing parent and the
remaining names. If an own directory has too many entries to compare, all access is refused.
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
from yourtool.permissions.protected_places import folded_name

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY
_MAX_ENTRIES = 20_000
"""Maximum entries of one directory; reading their identities takes about 0.1 seconds."""
_SETTLED_NS = 100_000_000
"""If the last change is older than this, the next change will have another modification time."""
_INNER_DIRECTORIES = frozenset({"blobs", "locks", "log", "themes"})
"""Subdirectories that the program creates; other subdirectories belong to the user."""


def identity(status: os.stat_result) -> Identity:
    """Return the device and inode of a file or directory."""
    return status.st_dev, status.st_ino


class MissingDirectory(Struct, frozen=True):
    """An own directory that does not exist yet."""

    parent: Identity
    """The nearest existing directory."""
    names: tuple[str, ...]
    """The missing names below it, folded."""


class OwnFiles(Struct, frozen=True):
    """The program's own files and directories at one moment."""

    directories: frozenset[Identity] = frozenset()
    entries: frozenset[Identity] = frozenset()
    """Files directly in these directories, and subdirectories that the program creates."""
    missing: tuple[MissingDirectory, ...] = ()

    def contains(self, status: os.stat_result) -> bool:
        """Whether a file or directory is one of them."""
        return identity(status) in self.directories or identity(status) in self.entries

    def covers(
        self, trail: Sequence[Identity], roots: Iterable[Identity], names: Sequence[str] = ()
    ) -> bool:
        """Whether access to a path must be refused.

        `trail`: the existing directories and files from the file system root to the end of the
        path; `names`: the missing names after them. `roots`: directories opened for tools; a root
        inside an own directory is accessible, such as the directory for long outputs.
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
            trail[-1] == each.parent and folded[: len(each.names)] == each.names
            for each in self.missing
            if folded and trail
        )


class _Entries(Struct, frozen=True):
    """The cached entries of own directories, valid while the modification times match `key`."""

    key: tuple[object, ...] = ()
    found: frozenset[Identity] = frozenset()


class OwnDirectories:
    """Own directories; they stay open, so that they are recognised after a rename."""

    def __init__(self, directories: Iterable[Path] = ()) -> None:
        self._paths = tuple(map(_OwnPath, directories))
        self._descriptors: dict[Identity, int] = {}
        self._paths_by_descriptor: dict[int, Path] = {}
        self._entries = _Entries()
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._descriptors)
        found: _Statuses = {}
        for path in self._paths:
            self._open_directory(path, found)

    def snapshot(self) -> OwnFiles:
        """Return the current state of the directories; blocks on the file system.

        Raises:
            ToolError: a directory has too many entries, so its files cannot be recognised.
        """
        with self._lock:
            found: _Statuses = {}
            opened = (self._open_directory(each, found) for each in self._paths)
            missing = tuple(filter(None, opened))
            return OwnFiles(frozenset(self._descriptors), self._scan_entries(), missing)

    def _open_directory(self, own: "_OwnPath", found: "_Statuses") -> MissingDirectory | None:
        """Open a directory unless already open; return its location if it does not exist."""
        try:
            status = _find_status(own.text, found)
            if status is None:
                return own.find_missing(found)
            if identity(status) not in self._descriptors:
                descriptor = os.open(own.text, _OPEN)
                self._descriptors.setdefault(identity(os.fstat(descriptor)), descriptor)
                self._paths_by_descriptor[descriptor] = own.path
        except OSError:
            return own.find_missing({})
        return None

    def _scan_entries(self) -> frozenset[Identity]:
        """Return the entries of all directories, cached until one of them changes."""
        changes = [(each, os.fstat(each).st_mtime_ns) for each in self._descriptors.values()]
        if self._entries.key == tuple(changes):
            return self._entries.found
        now = time.time_ns()
        found, links = set[Identity](), False
        for descriptor in self._descriptors.values():
            for entry, status in _scan(descriptor, self._paths_by_descriptor[descriptor]):
                links = links or entry.is_symlink()
                if stat.S_ISREG(status.st_mode) or _is_inner(entry):
                    found.add(identity(status))
        # Targets of links can change without a change here, and timestamps are not exact.
        settled = not links and all(now - changed > _SETTLED_NS for _, changed in changes)
        self._entries = _Entries(tuple(changes) if settled else (), frozenset(found))
        return self._entries.found


def _close_all(held: dict[Identity, int]) -> None:
    for descriptor in held.values():
        os.close(descriptor)


def _too_many_entries_error(path: Path) -> ToolError:
    return ToolError(
        f"`{path}`, a directory of `yourtool` itself, has more than {_MAX_ENTRIES:,} entries, so"
        " links to them cannot be recognised and no tool can access files. Ask the user to move"
        " other files out of it, or to set another `--session-dir`.",
        ToolFailure.PERMISSION_DENIED,
    )


def _scan(directory: int, path: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield the entries of a directory with the status of their targets; `path` is for errors."""
    try:
        descriptor = os.open(".", _OPEN, dir_fd=directory)
    except OSError:
        return
    try:
        with os.scandir(descriptor) as found:
            for at, entry in enumerate(found):
                if at == _MAX_ENTRIES:
                    raise _too_many_entries_error(path)
                with suppress(OSError):
                    yield entry, entry.stat()
    finally:
        os.close(descriptor)


def _is_inner(entry: os.DirEntry[str]) -> bool:
    return entry.name in _INNER_DIRECTORIES and entry.is_dir(follow_symlinks=False)


_Statuses: TypeAlias = dict[str, os.stat_result | None]
"""The statuses that one snapshot has found, so that it asks for each only once; None: missing."""


def _find_status(path: str, found: _Statuses) -> os.stat_result | None:
    """Return the status of a file; None if it, or a directory above it, is missing."""
    if path not in found:
        if found.get(os.path.dirname(path), path) is None:  # noqa: PTH120 - as below
            found[path] = None
        else:
            try:
                found[path] = os.stat(path)  # noqa: PTH116 - much faster than `Path.stat`
            except (FileNotFoundError, NotADirectoryError):
                found[path] = None
    return found[path]


class _OwnPath:
    """The path of an own directory, with what each access to a file compares."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = str(path)
        self._places = [
            (str(above), tuple(map(folded_name, path.relative_to(above).parts)))
            for above in (path, *path.parents)
        ]
        """The directory and those above it, each with the folded names below it."""

    def find_missing(self, found: _Statuses) -> MissingDirectory | None:
        """Return the location of a missing directory; None if it exists or is inaccessible."""
        existing = (
            (status, names)
            for above, names in self._places
            if (status := _find_status(above, found)) is not None
        )
        try:
            status, names = next(existing)  # the root directory exists
        except OSError:
            return None
        return MissingDirectory(identity(status), names) if names else None
