"""Preselection of files with ripgrep, if it is installed.

Ripgrep does not get the pattern of the model, but an expression derived from it by `tools.matcher`.
File names start with `./` and follow `--`, so that none is parsed as an option. Configuration and
ignore files are disabled. The result only determines which files are read: see `tools.matching`.
"""

import os
import stat
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from yourtool.files import is_file, real_path
from yourtool.tools.directory_opening import child_directory
from yourtool.tools.directory_walk import Folder
from yourtool.tools.process_group import Processes

_OPTIONS = (
    "--no-config", "--files-with-matches", "--null", "--text", "--encoding=none", "--no-ignore",
    "--hidden", "--color=never", "--threads=1", r"--regexp=(?-u)\x00",
)  # fmt: skip
_WRITABLE_BY_ALL = stat.S_IWOTH


class SearchRoot(Struct, frozen=True):
    """The start directory of a search and the files to exclude."""

    descriptor: int
    excluded: frozenset[tuple[int, int]] = frozenset()
    """Files and directories of the program itself and linked credentials, by device and inode."""


class CandidateFiles(Struct, frozen=True):
    """The files of a block that may match."""

    folders: list[Folder]
    indexes: list[int]
    """Index of each file in the complete block."""
    count: int
    """Number of files in the complete block."""


class Ripgrep:
    """Preselects files below one directory."""

    def __init__(
        self, program: Path, directory: Path, start: SearchRoot, max_file_bytes: int
    ) -> None:
        self._program = program
        self._directory = directory
        self._start = start
        self._max_file_bytes = max_file_bytes

    def find_candidates(
        self, block: Sequence[Folder], expression: str, processes: Processes
    ) -> CandidateFiles | None:
        """Return the files that match `expression`, contain NUL or are too large; blocking.

        Returns None if ripgrep failed, so that all files must be read.

        Raises:
            BrokenPipeError: the processes were killed.
        """
        paths = [folder.path + name for folder in block for name in folder.names]
        unfiltered = set(filter(self._needs_reading, paths))
        found = self._run([path for path in paths if path not in unfiltered], expression, processes)
        if found is None:
            return None
        found |= unfiltered
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
        return CandidateFiles(folders, indexes, len(paths))

    def _run(self, paths: list[str], expression: str, processes: Processes) -> set[str] | None:
        command = [
            str(self._program),
            *_OPTIONS,
            *("-e", expression, "--"),
            *(f"./{path}" for path in paths),
        ]
        entrance = child_directory(self._start.descriptor, self._directory)
        try:
            process = processes.start(command, stdin=subprocess.DEVNULL, cwd=entrance, env={})
        except BrokenPipeError:
            raise
        except OSError:  # the list is too long, or the program is gone
            return None
        max_bytes = sum(len(os.fsencode(path)) + len("./\0") for path in paths)
        assert process.stdout is not None
        output = process.stdout.read(max_bytes + 1)
        process.stdout.close()
        if process.wait() not in (0, 1) or len(output) > max_bytes:
            return None
        return {os.fsdecode(path.removeprefix(b"./")) for path in output.split(b"\0")}

    def _needs_reading(self, path: str) -> bool:
        """Whether ripgrep must not see a file: the matcher decides about its patterns."""
        try:
            status = os.stat(path, dir_fd=self._start.descriptor, follow_symlinks=False)
        except OSError:
            return True
        closed = (status.st_dev, status.st_ino) in self._start.excluded
        return closed or status.st_size > self._max_file_bytes


def find_ripgrep(workspace: Path) -> Path | None:
    """Return the path of ripgrep, cached; directories that others can write to are skipped."""
    return _find_in(workspace, os.environ.get("PATH", os.defpath))


@cache
def _find_in(workspace: Path, search_path: str) -> Path | None:
    for entry in search_path.split(os.pathsep):
        program = Path(entry, "rg")
        if entry.startswith("/") and os.access(program, os.X_OK):
            real = real_path(program)
            places = {real_path(program.parent), real, *real.parents}
            if not any(_is_untrusted(place, workspace) for place in places) and is_file(real):
                return real
    return None


def _is_untrusted(place: Path, workspace: Path) -> bool:
    if place.is_relative_to(workspace):
        return True
    try:
        return bool(place.stat().st_mode & _WRITABLE_BY_ALL)
    except OSError:  # it is gone
        return True
