"""Allow rules for commands: a line is covered if each of its commands is covered by a rule."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.shell.plain import parse_plain
from yourtool.permissions.shell.programs import find_row, only_reads
from yourtool.permissions.shell.specs import CommandSpec

_GLOB = re.compile(r"[*?\[]")
_MAX_GIT_CONFIG = 2**18
_GIT_HELPER = re.compile(
    r"\[ *+(?:alias|filter|include|includeif|gpg|credential)\b"
    r"|\b(?:command|external|textconv|driver|pager|editor|hookspath|sshcommand|program|fsmonitor)\b",
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
            names = [name for name in os.listdir(self.directory / folder) if name[0] != "."]  # noqa: PTH208 - names only
        except OSError:
            return False
        matches = [name for name in names if "[" in pattern or matches_glob(pattern, name)]
        return all(self._is_readable(f"{folder or '.'}/{name}") for name in (*matches, "."))

    def _is_readable(self, path: str) -> bool:
        real = Path(os.path.realpath(self.directory / path))
        return real.is_relative_to(self.root) and not is_credential_file(
            str(real.relative_to(self.root))
        )

    def enter(self, name: str) -> "Place | None":
        """Return the place after `cd`; None if it leads out of the workspace."""
        real = Path(os.path.realpath(self.directory / name))
        if name.startswith("-") or not real.is_relative_to(self.root):
            return None
        return Place(self.root, real)

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
    is_covered = False
    for command in parse_plain(line):
        words = command.texts
        if words[0] == "cd" and len(words) == 2 and command.operator == "&&":
            if (inside := place.enter(words[1])) is None:
                return False
            place = inside
        elif not any(spec.matches(words) and _is_safe(spec, words, place) for spec in specs):
            return False
        else:
            is_covered = True
    return is_covered


def _is_safe(spec: CommandSpec, words: Sequence[str], place: Place) -> bool:
    """Whether the arguments that the spec leaves open only do what its program is known for."""
    row, rest = find_row(words)
    if words[0] == "git" and (place.has_git_helpers() or (row is None and len(spec.words) == 1)):
        return False
    return not spec.is_open or row is None or only_reads(row, rest, place.is_readable)


def _names_programs(directory: Path) -> bool:
    try:
        with (directory / "config").open("rb") as file:
            text = file.read(_MAX_GIT_CONFIG + 1)
    except OSError:
        return True
    return (
        len(text) > _MAX_GIT_CONFIG
        or _GIT_HELPER.search(text.decode("utf-8", "replace")) is not None
    )
