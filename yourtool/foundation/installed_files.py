"""Imports after an upgrade.

Modules are imported on first use. A package that was upgraded, moved or removed meanwhile would
give the program modules of another version, or none: they are taken from the directories that were
open at the start, as long as these exist (`/proc/self/fd`, Linux).
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

RESTART = (
    "The files of this program were replaced or removed while it runs. Restart it; the session is"
    " stored, and `yourtool -c` continues it."
)


class ReplacedFilesError(ImportError):
    """A module of the program is gone, because its files were replaced."""


class InstalledFiles:
    """A finder of modules that notices when the directory of a package is another one."""

    def __init__(self, package: str) -> None:
        """Open the directory of a package, and the one around it, which has the libraries."""
        self._package = package
        self._identity = _identify(package)
        places = (package, str(Path(package).parent))
        self._held = [(each, os.open(each, os.O_RDONLY | os.O_CLOEXEC)) for each in places]

    @property
    def were_replaced(self) -> bool:
        """Whether the directory is gone or another one."""
        return _identify(self._package) != self._identity

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module in the directories of the start, if they were replaced.

        Raises:
            ReplacedFilesError: it is a module of the package, and was removed.
        """
        if not self.were_replaced:
            return None
        if (libraries := self._to_held(self._held[1][0])) not in sys.path:
            sys.path.append(libraries)  # of which some read their own version
        own = path is not None and any(each.startswith(self._package) for each in path)
        spec = PathFinder.find_spec(name, [*map(self._to_held, path or self._held[1][:1])])
        if spec is None and own:
            raise ReplacedFilesError(RESTART, name=name)
        return spec

    def _to_held(self, entry: str) -> str:
        for place, descriptor in self._held:
            if entry == place or entry.startswith(f"{place}/"):
                return f"/proc/self/fd/{descriptor}{entry.removeprefix(place)}"
        return entry


def _identify(directory: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = Path(directory).stat()
        return found.st_dev, found.st_ino
    return None


_watched: list[InstalledFiles] = []


def watch_files(package: str) -> None:
    """Take later modules from the files of now; `package` is the directory of the program."""
    with suppress(OSError):
        files = InstalledFiles(package)
        _watched.append(files)
        sys.meta_path.insert(0, files)


def were_files_replaced() -> bool:
    """Return whether the files of the program are others than at the start."""
    return any(files.were_replaced for files in _watched)
