"""Where a command runs: which paths it may read there, and what git would run."""

import os
import re
from pathlib import Path

from msgspec import Struct

from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.globs import matches_glob

_GLOB = re.compile(r"[*?\[]")
_MAX_FILES = 20_000
"""Files of a directory that are searched for credentials."""
_MAX_GIT_CONFIG = 2**18
_MAX_MODULES = 100
_GIT_FILES = ("commondir", "config.worktree", "hooks/post-index-change")
"""Other configuration, and the only hook that reading commands run."""
_GIT_HELPER = re.compile(
    r"\[ *+(?:alias|filter|include|includeif|gpg|credential)\b"
    r"|\b(?:command|external|textconv|driver|pager|editor|hookspath|sshcommand"
    r"|program|fsmonitor|uploadpack|promisor|partialclone|worktreeconfig)\b",
    re.IGNORECASE,
)
"""Settings of a repository that name programs, or other files of settings."""


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

    def enter(self, name: str) -> "Place | None":
        """Return the place after `cd`; None if it leads elsewhere or through a link."""
        real = Path(os.path.realpath(self.directory / name))
        if name.startswith("-") or not (real.is_relative_to(self.root) and real.is_dir()):
            return None
        is_direct = os.path.normpath(self.directory / name) == str(real)
        return Place(self.root, real) if is_direct and os.access(real, os.X_OK) else None

    def has_module(self, name: str) -> bool:
        """Whether Python would find a module in the working directory."""
        return any((self.directory / each).exists() for each in (name, f"{name}.py"))

    def has_git_helpers(self) -> bool:
        """Whether git may run a program that the repository names."""
        if self.directory != self.root or (self.root / "HEAD").exists():
            return True  # another repository, or a bare one
        for directory in (self.root, *self.root.parents):
            if (config := directory / ".git").exists():
                return not config.is_dir() or _names_programs(config)
        return False


def _names_programs(directory: Path) -> bool:
    """Whether a repository or one of its submodules names programs."""
    if any((directory / name).exists() for name in _GIT_FILES):
        return True
    configs = [directory / "config"]
    for folder, folders, names in os.walk(directory / "modules"):
        if "config" in names:
            configs.append(Path(folder, "config"))
        folders[:] = [each for each in folders if each not in ("objects", "refs", "logs")]
        if len(configs) > _MAX_MODULES or any(name in names for name in _GIT_FILES):
            return True
    return any(map(_has_helper, configs))


def _has_helper(config: Path) -> bool:
    try:
        with config.open("rb") as file:
            text = file.read(_MAX_GIT_CONFIG + 1)
    except OSError:
        return True
    is_long = len(text) > _MAX_GIT_CONFIG
    return is_long or _GIT_HELPER.search(text.decode("utf-8", "replace")) is not None
