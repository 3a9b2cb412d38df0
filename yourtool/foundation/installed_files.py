"""Files of the running program.

Modules are imported on first use. After an upgrade, the files of the program are those of another
version, or gone: later modules are then taken from the directories that were open at the start
(`/proc/self/fd`, Linux), as long as these exist, and the user is asked to restart.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

RESTART = (
    "The files of this program were replaced or removed while it runs. Restart it; the session is"
    " stored, and `yourtool -c` continues it."
)
_HELD = "/proc/self/fd"


class InstalledFiles:
    """The directory of a package, and the one around it, which has the libraries."""

    def __init__(self, package: str) -> None:
        """Open both directories; raises `OSError`."""
        self._package = package
        self._identity = _identify(package)
        places = (package, str(Path(package).parent))
        self._held = [(each, os.open(each, os.O_RDONLY | os.O_CLOEXEC)) for each in places]

    def check(self) -> bool:
        """Return whether the directory is another one; then import from that of the start."""
        if _identify(self._package) == self._identity:
            return False
        sys.path[:] = [self._to_held(each) for each in sys.path]
        for module in list(sys.modules.values()):
            if (places := getattr(module, "__path__", None)) is not None:
                module.__path__ = [self._to_held(each) for each in places]
        return True

    def _to_held(self, entry: str) -> str:
        for place, descriptor in self._held:
            if entry == place or entry.startswith(f"{place}/"):
                return f"{_HELD}/{descriptor}{entry.removeprefix(place)}"
        return entry


def _identify(directory: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = Path(directory).stat()
        return found.st_dev, found.st_ino
    return None


_watched: list[InstalledFiles] = []


def watch_files(package: str) -> None:
    """Remember the files of now; `package` is the directory of the program."""
    with suppress(OSError):
        _watched.append(InstalledFiles(package))


def were_files_replaced() -> bool:
    """Return whether the files are not those of the start, of which later modules are then."""
    return any(files.check() for files in _watched)
