"""Where a command runs: which paths it may read there, and what git would run."""

import os
import re
import sys
from pathlib import Path

from msgspec import Struct

from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.shell.git_config import GitHelper, find_git_helper

_GLOB = re.compile(r"[*?\[]")
_MAX_FILES = 20_000
"""Files of a directory that are searched for credentials."""
_MODULE_FILE = re.compile(r"(\w+)(?:\.[\w-]+)?\.(?:pyc?|so)")
_IMPORTED_BY_PROGRAMS = sys.stdlib_module_names - {"test"}


class Place(Struct, frozen=True):
    """Where a command runs."""

    root: Path
    """The workspace, without symbolic links."""
    directory: Path
    """The working directory, inside the workspace."""

    def is_readable(self, path: str) -> bool:
        """Whether a path leads into the workspace, and not to a credential file."""
        if path in ("-", "/dev/null"):
            return True
        folder, _, pattern = path.rpartition("/")
        if not _GLOB.search(path):
            return self._is_readable(path)
        if _GLOB.search(folder):
            return False
        try:
            names = os.listdir(self.directory / folder)  # noqa: PTH208 - only the names are needed
        except OSError:
            return False
        if pattern[0] not in ".[":
            names = [name for name in names if name[0] != "."]
        matches = [name for name in names if "[" in pattern or matches_glob(pattern, name)]
        return all(self._is_readable(f"{folder or '.'}/{name}") for name in (*matches, "."))

    def _is_readable(self, path: str) -> bool:
        real = Path(os.path.realpath(self.directory / path))
        return real.is_relative_to(self.root) and not is_credential_file(
            str(real.relative_to(self.root))
        )

    def is_own_file(self, path: str) -> bool:
        """Whether a path is a file of the workspace, or a new one, and leads through no link.

        False for a file that may contain credentials.
        """
        real = Path(os.path.realpath(self.directory / path))
        is_direct = os.path.normpath(self.directory / path) == str(real)
        return is_direct and (real.is_file() or not real.exists()) and self._is_readable(path)

    def is_free_of_credentials(self) -> bool:
        """Whether no file below the working directory is a credential file.

        False as well if there are too many files.
        """
        count = 0
        for folder, _, names in os.walk(self.directory):
            count += len(names) + 1
            relative = os.path.relpath(folder, self.root)
            if count > _MAX_FILES or any(is_credential_file(f"{relative}/{n}") for n in names):
                return False
        return True

    def has_link_out(self, path: str) -> bool:
        """Whether a program that follows links below a path may read what `is_readable` refuses.

        True as well for links to directories, and if there are too many files.
        """
        count = 0
        for folder, folders, names in os.walk(self.directory / path):
            count += len(names) + 1
            paths = (Path(folder, each) for each in (*folders, *names))
            links = [each for each in paths if each.is_symlink()]
            if count > _MAX_FILES or any(
                each.is_dir() or not self._is_readable(str(each)) for each in links
            ):
                return True
        return False

    def enter(self, name: str) -> "Place | None":
        """Return the place after `cd`; None if it leads elsewhere or through a link."""
        real = Path(os.path.realpath(self.directory / name))
        if name.startswith("-") or not (real.is_relative_to(self.root) and real.is_dir()):
            return None
        is_direct = os.path.normpath(self.directory / name) == str(real)
        return Place(self.root, real) if is_direct and os.access(real, os.X_OK) else None

    def replaces_module(self, name: str) -> bool:
        """Whether `python -m` would import its module, or one of Python's own, from here.

        Python searches the working directory first, also for what the module imports.
        """
        try:
            entries = os.listdir(self.directory)  # noqa: PTH208 - only the names are needed
        except OSError:
            return True
        if name in entries:
            return True
        files = {match[1] for each in entries if (match := _MODULE_FILE.fullmatch(each))}
        packages = (
            each
            for each in _IMPORTED_BY_PROGRAMS.intersection(entries)
            if any((self.directory / each).glob("__init__.*"))
        )
        return name in files or not _IMPORTED_BY_PROGRAMS.isdisjoint([*files, *packages])

    def find_git_helper(self) -> GitHelper | None:
        """Return what lets git run a program here, such as a setting of the repository."""
        return find_git_helper(self.directory, self.root)
