"""Ripgrep, where it is installed: which of many files are worth reading.

It gets no pattern of a model but an expression that `tools.matcher` made of it. Names begin with
`./` and follow a `--`, so that none is an option. It reads no configuration and no ignore file, and
its answer decides nothing but which files are read: see `tools.matching`.
"""

import os
import stat
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from yourtool.tools.killable import Processes
from yourtool.tools.tree import Folder

_OPTIONS = (
    "--no-config", "--files-with-matches", "--null", "--text", "--encoding=none", "--no-ignore",
    "--hidden", "--color=never", "--threads=1", r"--regexp=(?-u)\x00",
)  # fmt: skip
_WRITABLE_BY_ALL = stat.S_IWOTH


class Start(Struct, frozen=True):
    """Where a search begins, and what it may not read."""

    descriptor: int
    closed: frozenset[tuple[int, int]] = frozenset()
    """Files and directories of the program itself, by device and inode."""


class Narrowed(Struct, frozen=True):
    """The files of a block that are worth reading."""

    folders: list[Folder]
    indexes: list[int]
    """Of each file, its index in the whole block."""
    count: int
    """Files in the whole block."""


class Ripgrep:
    """Narrows blocks of files, all below one directory."""

    def __init__(self, program: Path, directory: Path, start: Start, largest: int) -> None:
        self._program = program
        self._directory = directory
        self._start = start
        self._largest = largest

    def narrowed(
        self, block: Sequence[Folder], expression: str, processes: Processes
    ) -> Narrowed | None:
        """Return the files in which it matches, those with a NUL and those that are too large.

        None: that could not be found out, so all are to be read. Blocking.

        Raises:
            BrokenPipeError: the processes were killed.
        """
        paths = [folder.path + name for folder in block for name in folder.names]
        odd = set(filter(self._is_odd, paths))
        found = self._searched([path for path in paths if path not in odd], expression, processes)
        if found is None:
            return None
        found |= odd
        folders, indexes, index = list[Folder](), list[int](), -1
        for folder in block:
            names = list[str]()
            for name in folder.names:
                index += 1
                path = folder.path + name
                if path in found:
                    names.append(name)
                    indexes.append(index)
            if names:
                folders.append(Folder(folder.path, names))
        return Narrowed(folders, indexes, len(paths))

    def _searched(self, paths: list[str], expression: str, processes: Processes) -> set[str] | None:
        command = [
            str(self._program),
            *_OPTIONS,
            *("-e", expression, "--"),
            *(f"./{path}" for path in paths),
        ]
        try:
            process = processes.start(
                command, stdin=subprocess.DEVNULL, cwd=self._directory, env={}
            )
        except BrokenPipeError:
            raise
        except OSError:  # the list is too long, or the program is gone
            return None
        most = sum(len(os.fsencode(path)) + len("./\0") for path in paths)
        assert process.stdout is not None
        output = process.stdout.read(most + 1)
        process.stdout.close()
        if process.wait() not in (0, 1) or len(output) > most:
            return None
        return {os.fsdecode(path.removeprefix(b"./")) for path in output.split(b"\0")}

    def _is_odd(self, path: str) -> bool:
        """Whether ripgrep must not see a file: what is said of it is for the matcher to decide."""
        try:
            status = os.stat(path, dir_fd=self._start.descriptor, follow_symlinks=False)
        except OSError:
            return True
        closed = (status.st_dev, status.st_ino) in self._start.closed
        return closed or status.st_size > self._largest


def find_ripgrep(workspace: Path) -> Path | None:
    """Return where ripgrep is; looked for once, and never where others could have put it."""
    return _found(workspace, os.environ.get("PATH", os.defpath))


@cache
def _found(workspace: Path, search_path: str) -> Path | None:
    for entry in search_path.split(os.pathsep):
        program = Path(entry, "rg")
        if entry.startswith("/") and os.access(program, os.X_OK):
            real = program.resolve()
            places = {program.parent.resolve(), real, *real.parents}
            if not any(_is_untrusted(place, workspace) for place in places) and real.is_file():
                return real
    return None


def _is_untrusted(place: Path, workspace: Path) -> bool:
    if place.is_relative_to(workspace):
        return True
    return bool(place.stat().st_mode & _WRITABLE_BY_ALL)
