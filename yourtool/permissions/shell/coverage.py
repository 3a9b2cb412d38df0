"""Allow rules for commands: a line is covered if each of its commands is covered by a rule."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.shell.plain import PlainCommand, parse_plain
from yourtool.permissions.shell.programs import find_row, only_reads
from yourtool.permissions.shell.specs import CommandSpec

_GLOB = re.compile(r"[*?\[]")
_MAX_GIT_CONFIG = 2**18
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

    def enter(self, name: str) -> "Place | None":
        """Return the place after `cd`; None if it leads elsewhere or through a link."""
        real = Path(os.path.realpath(self.directory / name))
        if name.startswith("-") or not (real.is_relative_to(self.root) and real.is_dir()):
            return None
        is_direct = os.path.normpath(self.directory / name) == str(real)
        return Place(self.root, real) if is_direct and os.access(real, os.X_OK) else None

    def has_git_helpers(self) -> bool:
        """Whether git may run a program that the repository names."""
        if self.directory != self.root or (self.root / "HEAD").exists():
            return True  # another repository, or a bare one
        for directory in (self.root, *self.root.parents):
            if (config := directory / ".git").exists():
                return not config.is_dir() or _names_programs(config)
        return False


def covers_line(specs: Sequence[CommandSpec], line: str, place: Place) -> bool:
    """Return whether the specs cover each command of a line; a `cd` in the workspace needs none."""
    is_covered = has_moved = False
    for command in parse_plain(line):
        words = command.texts
        if has_moved and command.operator not in ("&&", "|", ""):
            return False  # the next command runs elsewhere if the directory cannot be entered
        if words[0] == "cd" and len(words) == 2 and command.operator == "&&":
            inside = None if command.words[1].is_glob else place.enter(words[1])
            if inside is None:
                return False
            place, has_moved = inside, True
        elif not any(spec.matches(words) and _is_safe(spec, command, place) for spec in specs):
            return False
        else:
            is_covered = True
    return is_covered


def _is_safe(spec: CommandSpec, command: PlainCommand, place: Place) -> bool:
    """Whether the arguments that the spec leaves open only do what its program is known for."""
    words = command.texts
    row, rest = find_row(words)
    if words[0] == "git" and (place.has_git_helpers() or (row is None and len(spec.words) == 1)):
        return False
    if not spec.is_open or row is None:
        return True
    globs = frozenset(word.text for word in command.words if word.is_glob)
    return only_reads(row, rest, globs, place.is_readable)


def _names_programs(directory: Path) -> bool:
    if any((directory / name).exists() for name in _GIT_FILES):
        return True
    try:
        with (directory / "config").open("rb") as file:
            text = file.read(_MAX_GIT_CONFIG + 1)
    except OSError:
        return True
    is_long = len(text) > _MAX_GIT_CONFIG
    return is_long or _GIT_HELPER.search(text.decode("utf-8", "replace")) is not None
