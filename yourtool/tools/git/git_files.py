"""Files of a git directory.

These are references, logs, index and settings, without the objects. They are read before and after
a command, and only those that changed are read again. No link is followed. Layout:
https://git-scm.com/docs/gitrepository-layout.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.tools.workspace.directory_opening import LIST, READ

MAX_GIT_FILES = 20_000
"""A repository with more is not noted; an ordinary one has about 100."""
MAX_GIT_FILE_BYTES = 16 * 2**20
MAX_GIT_BYTES = 48 * 2**20
"""Content of all files in memory."""
_MAX_LEVELS = 20
_ALTERNATES = "objects/info/alternates"


class GitFile(Struct, frozen=True):
    """A file of a git directory."""

    stamp: tuple[int, ...]
    """Times, size and inode."""
    mode: int
    """Permission bits."""
    content: bytes | None
    """None: too large or not readable."""

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp[2]


class GitFiles(Struct, frozen=True):
    """The files of a git directory at one moment."""

    files: Mapping[str, GitFile]
    """By path in the directory."""
    object_places: tuple[str, ...]
    """The directories with objects, also those of submodules and of git-lfs."""
    is_complete: bool
    folders: frozenset[str]
    """The directories, without those of objects."""
    pipe: str
    """The path of a pipe or a device, for which git would wait; otherwise empty."""

    @property
    def is_comparable(self) -> bool:
        """Whether there are not too many, so that a missing one does not exist."""
        return len(self.files) < MAX_GIT_FILES


NO_FILES: Mapping[str, GitFile] = {}


def read_git_files(
    directory: Path, known: Mapping[str, GitFile] = NO_FILES, *, at: int | None = None
) -> GitFiles | None:
    """Return the files of a git directory; None if there is no repository.

    `known`: files that were read before; `at`: an open directory to which the path is relative.
    """
    try:
        descriptor = os.open(directory, LIST, dir_fd=at)
    except OSError:
        return None
    try:
        reader = _Reader(known)
        reader.read(descriptor, "", 0)
        reader.add(descriptor, _ALTERNATES)
    finally:
        os.close(descriptor)
    if "HEAD" not in reader.files or "objects" not in reader.places:
        return None
    return GitFiles(
        reader.files,
        tuple(reader.places),
        reader.is_complete,
        frozenset(reader.folders),
        reader.pipe,
    )


class _Reader:
    def __init__(self, known: Mapping[str, GitFile]) -> None:
        self._known = known
        self._room = MAX_GIT_BYTES
        self.files: dict[str, GitFile] = {}
        self.places: list[str] = []
        self.is_complete = True
        self.folders: set[str] = set()
        self.pipe = ""

    def read(self, descriptor: int, prefix: str, level: int) -> None:
        """Read a directory, files first."""
        folders = list[str]()
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    if len(self.files) >= MAX_GIT_FILES:
                        self.is_complete = False
                        return
                    if not entry.name.endswith(".lock"):
                        with suppress(FileNotFoundError):
                            status = entry.stat(follow_symlinks=False)
                            self._note(descriptor, entry.name, prefix, status)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not entry.is_symlink() and _is_pipe(entry):
                    self.pipe = prefix + entry.name
        for name in folders:
            path = prefix + name
            if name == "objects" and (not prefix or prefix.startswith(("modules/", "lfs/"))):
                self.places.append(path)
            elif level < _MAX_LEVELS and self.is_complete:
                self._enter(descriptor, name, path, level)

    def _enter(self, descriptor: int, name: str, path: str, level: int) -> None:
        try:
            below = os.open(name, LIST, dir_fd=descriptor)
        except OSError:
            self.is_complete = False
            return
        self.folders.add(path)
        try:
            self.read(below, f"{path}/", level + 1)
        finally:
            os.close(below)

    def add(self, descriptor: int, path: str) -> None:
        """Note a file in a directory that is not read."""
        try:
            status = os.stat(path, dir_fd=descriptor, follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISREG(status.st_mode):
            self._note(descriptor, path, "", status)

    def _note(self, descriptor: int, name: str, prefix: str, status: os.stat_result) -> None:
        """Note a file, as it was read before if it is unchanged."""
        path = prefix + name
        stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known = self._known.get(path)
        if known is None or known.stamp != stamp:
            content = self._read_content(descriptor, name, status.st_size)
            known = GitFile(stamp, stat.S_IMODE(status.st_mode), content)
        self._room -= len(known.content or b"")
        self.files[path] = known

    def _read_content(self, descriptor: int, name: str, size: int) -> bytes | None:
        if size > min(MAX_GIT_FILE_BYTES, self._room):
            return None
        try:
            with os.fdopen(os.open(name, READ, dir_fd=descriptor), "rb") as file:
                content = file.read(MAX_GIT_FILE_BYTES + 1)
        except OSError:
            return None
        return content if len(content) <= MAX_GIT_FILE_BYTES else None


def _is_pipe(entry: os.DirEntry[str]) -> bool:
    """Whether an open entry can block; a socket, as that of a file monitor, cannot be opened."""
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
