"""Readers of protected places, within limits.

Content is read once and then remembered with device, inode, size, mode and times. Fifos, sockets,
devices, unreadable files and directories with too many entries are facts, not errors.
"""

import os
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol, TypeAlias

from yourtool.permissions.own_directories import identity
from yourtool.tools.protection.entries import Entry, Tree, join
from yourtool.tools.workspace.directory_opening import LIST, READ, open_real_directory
from yourtool.tools.workspace.path_resolution import file_kind
from yourtool.tools.workspace.replacing import is_temporary_name

MAX_FILE_BYTES = 2**20
"""The content of a larger file is not remembered."""
MAX_FILES = 2_000
"""Files of one protected directory whose content is remembered, and of all single files."""
MAX_BYTES = 16 * 2**20
"""Size of these files."""
MAX_ALL_FILES = 20_000
MAX_ALL_BYTES = 64 * 2**20
MAX_ENTRIES = 5_000
"""Entries of one protected directory with all that is below it."""
MAX_NAMES = 1_000_000
"""Names of one directory of which only some are compared."""
_MAX_DEPTH = 40
_CLOCK_TICK_NS = 20_000_000
"""File systems use a clock that can be this late."""


Stamp: TypeAlias = tuple[int, ...]


class Choice(Protocol):
    """Which entries of a directory are compared."""

    def __call__(self, name: str, is_directory: bool, /) -> "Choice | None":
        """Return the choice for the entry, if it is a directory; None: it is not compared."""
        ...


def everything(name: str, is_directory: bool) -> Choice | None:
    """Choose all entries, except for incomplete files of this program."""
    return None if is_temporary_name(name) else everything


def get_stamp(status: os.stat_result) -> Stamp:
    """Return what each change of a file, or of the names in a directory, changes.

    The time of the last change of attributes is a part of it, because a program can set the other
    one.
    """
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_settled(stamp: Stamp) -> bool:
    """Whether the last change is so long ago that the next one will have another stamp."""
    return stamp[-1] < time.time_ns() - _CLOCK_TICK_NS


@contextmanager
def open_parent(path: str) -> Generator[tuple[int, str], None, None]:
    """Open the directory of an absolute path; yield its descriptor and the last name.

    Raises:
        OSError: it does not exist, or a part of the path is a link.
    """
    directory, _, name = path.rpartition("/")
    with open_real_directory(directory) as parent:
        yield parent, name


class TreeReader:
    """Reads places, each file again only after a change; not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Entry, int]] = {}
        """Files, each with the time of the reading in nanoseconds."""

    def read(self, roots: Mapping[str, Choice], *, is_first: bool = False) -> Tree:
        """Return what is at the absolute paths `roots` now, and below them.

        `is_first`: the limits apply to all content; otherwise only to the one that changed.
        """
        reading = _Reading({} if is_first else dict(self._known), self._known, is_first)
        for path, choice in roots.items():
            with suppress(OSError), open_parent(path) as (parent, name):
                reading.start(parent, name, path, choice)
        self._known = reading.known
        return reading.tree

    def read_at(self, parent: int, name: str) -> Tree:
        """Return a place of an open directory, with paths relative to it."""
        reading = _Reading({}, {}, True)
        reading.start(parent, name, "", everything)
        return reading.tree


class _Room:
    """How much content is still remembered."""

    def __init__(self, files: int, size: int, outer: "_Room | None" = None) -> None:
        """`outer`: a larger one, of which it is a part."""
        self._files = files
        self._size = size
        self._outer = outer

    def has(self, size: int) -> bool:
        """Whether a file of this size is remembered."""
        is_free = self._files > 0 and size <= self._size
        return is_free and (self._outer is None or self._outer.has(size))

    def take(self, size: int) -> None:
        """Count a file."""
        self._files -= 1
        self._size -= size
        if self._outer is not None:
            self._outer.take(size)


class _Reading:
    """One reading: protected directories, however large, leave the single files their room."""

    def __init__(
        self,
        known: dict[str, tuple[Entry, int]],
        earlier: Mapping[str, tuple[Entry, int]],
        counts_known: bool,
    ) -> None:
        self.tree: dict[str, Entry] = {}
        self.known = known
        self._earlier = earlier
        self._counts_known = counts_known
        self._of_files = _Room(MAX_FILES, MAX_BYTES)
        self._of_directories = _Room(MAX_ALL_FILES, MAX_ALL_BYTES)
        self._start_place(everything)

    def start(self, parent: int, name: str, path: str, choice: Choice) -> None:
        """Add a place with all that is below it."""
        self._start_place(choice)
        self.add(parent, name, path, choice)

    def add(self, parent: int, name: str, path: str, choice: Choice, depth: int = 0) -> bool:
        """Add an entry; return whether it exists."""
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError:
            return False
        if stat.S_ISDIR(status.st_mode):
            self.tree[path] = self._read_directory(parent, name, path, status, choice, depth)
        elif stat.S_ISREG(status.st_mode):
            self.tree[path] = self._read_file(parent, name, path, status)
        else:
            target = None
            if stat.S_ISLNK(status.st_mode):
                with suppress(OSError):
                    target = os.fsencode(os.readlink(name, dir_fd=parent))
            self.tree[path] = _to_entry(status, content=target)
        return True

    def _start_place(self, choice: Choice, *, is_directory: bool = True) -> None:
        self._entries = MAX_ENTRIES
        self._room = self._of_files
        if is_directory and choice is everything:
            self._room = _Room(MAX_FILES, MAX_BYTES, self._of_directories)

    def _read_directory(
        self,
        parent: int,
        name: str,
        path: str,
        status: os.stat_result,
        choice: Choice,
        depth: int,
    ) -> Entry:
        try:
            directory = os.open(name, LIST, dir_fd=parent)
        except OSError:
            return _to_entry(status, is_complete=False)
        names, is_complete = list[str](), depth < _MAX_DEPTH
        is_filtered = choice is not everything
        try:
            with os.scandir(directory) as entries:
                for count, entry in enumerate(entries):
                    if count >= MAX_NAMES or not is_complete:
                        is_complete = False
                        break
                    is_inner = entry.is_dir(follow_symlinks=False)
                    inner = choice(entry.name, is_inner)
                    if inner is None:
                        continue
                    if is_filtered:
                        self._start_place(inner, is_directory=is_inner)
                    self._entries -= 1
                    if self._entries < 0:
                        is_complete = False
                    elif self.add(directory, entry.name, join(path, entry.name), inner, depth + 1):
                        names.append(entry.name)
        except OSError:
            is_complete = False
        finally:
            os.close(directory)
        return _to_entry(
            status,
            names=tuple(sorted(names)),
            is_filtered=is_filtered,
            is_complete=is_complete,
        )

    def _read_file(self, parent: int, name: str, path: str, status: os.stat_result) -> Entry:
        entry = _to_entry(status)
        found = self._earlier.get(path)
        if found is not None and _is_unchanged(*found, entry):
            entry, read_ns = found
            if self._counts_known:
                self._count(entry)
        else:
            read_ns = time.time_ns()
            entry = self._read_content(parent, name, entry)
            self._count(entry)
        self.known[path] = entry, read_ns
        return entry

    def _read_content(self, parent: int, name: str, entry: Entry) -> Entry:
        size = entry.stamp[0]
        if size > MAX_FILE_BYTES or not self._room.has(size):
            return entry
        try:
            descriptor = os.open(name, READ, dir_fd=parent)
        except OSError:
            return entry
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return entry
            content = file.read(MAX_FILE_BYTES + 1)
        known = content if len(content) <= MAX_FILE_BYTES else None
        return _to_entry(status, content=known)

    def _count(self, entry: Entry) -> None:
        if entry.content is not None:
            self._room.take(len(entry.content))


def _is_unchanged(known: Entry, read_ns: int, now: Entry) -> bool:
    """Whether a file surely has the content that it had."""
    return (
        known.stamp == now.stamp
        and known.identity == now.identity
        and known.mode == now.mode
        and max(now.stamp[1:]) < read_ns - _CLOCK_TICK_NS
    )


def _to_entry(
    status: os.stat_result,
    *,
    content: bytes | None = None,
    names: tuple[str, ...] = (),
    is_filtered: bool = False,
    is_complete: bool = True,
) -> Entry:
    return Entry(
        kind=file_kind(status.st_mode),
        mode=stat.S_IMODE(status.st_mode),
        identity=identity(status),
        stamp=(status.st_size, status.st_mtime_ns, status.st_ctime_ns),
        owner=(status.st_uid, status.st_gid),
        content=content,
        names=names,
        is_filtered=is_filtered,
        is_complete=is_complete,
    )
