"""A project on the disk that can be set back to its first state."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE, S_ISDIR
from typing import TypeAlias

from tests.day.sites import Site, build

SCRATCH = Path("/var/tmp")
"""The sandbox replaces `/tmp`."""
_OWN = (".yourtool", ".cache/yourtool", ".local/share/yourtool", ".local/state/yourtool")
"""Directories of the program in the home directory, which outlast a command."""

_Stamp: TypeAlias = tuple[int, ...]
"""Changes with every change of a file, as no program can set the time of its last change."""


class Place:
    """A project, and a copy of how it was at first."""

    def __init__(self, directory: Path, project: Callable[[Site], Path]) -> None:
        self.site = Site(directory / "site")
        self._first = directory / "first"
        self.workspace = build(self.site, project)
        shutil.copytree(self.site.root, self._first, symlinks=True)
        self._own = tuple(self.site.home / name for name in _OWN)
        self._stamps = {
            path: _get_stamp(path.lstat())
            for path in self.site.root.rglob("*")
            if path.is_symlink() or not path.is_dir()
        }

    def set_back(self) -> None:
        """Undo every change; a folder that is still there remains, as programs have it open."""
        self._set_back(self.site.root, self._first)

    def _set_back(self, directory: Path, first: Path) -> None:
        wanted = {path.name: path for path in first.iterdir()}
        for path in list(directory.iterdir()):
            is_own = any(own.is_relative_to(path) for own in self._own)
            if path.name not in wanted and not is_own:
                _remove(path)
        for name, origin in wanted.items():
            path = directory / name
            if origin.is_dir() and not origin.is_symlink():
                self._set_back_directory(path, origin)
            elif _find_stamp(path) != self._stamps[path]:
                _remove(path)
                shutil.copy2(origin, path, follow_symlinks=False)
                self._stamps[path] = _get_stamp(path.lstat())

    def _set_back_directory(self, path: Path, origin: Path) -> None:
        if path.is_symlink() or not path.is_dir():
            _remove(path)
            path.mkdir()
        mode = S_IMODE(origin.stat().st_mode)
        if S_IMODE(path.stat().st_mode) != mode:
            path.chmod(mode)
        self._set_back(path, origin)


@contextmanager
def make_place(project: Callable[[Site], Path]) -> Iterator[Place]:
    """Yield a project in a new folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="yourtool-day-", dir=SCRATCH) as directory:
        yield Place(Path(directory), project)


def _get_stamp(status: os.stat_result) -> _Stamp:
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_ino, status.st_mode, status.st_size, *times


def _find_stamp(path: Path) -> _Stamp | None:
    return _get_stamp(path.lstat()) if os.path.lexists(path) else None


def _remove(path: Path) -> None:
    if not os.path.lexists(path):
        return
    if S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()
