"""Place of execution of a command."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import FindingAnswer, Question
from yourtool.foundation.files import is_directory, is_file, is_in, is_link, may_exist, real_path
from yourtool.git.config import find_git_helper, find_submodule_helper, has_secret
from yourtool.permissions.configured_places import Protection
from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.credential_search import (
    FilesBelow,
    find_unreadable,
    has_only_certificates,
)
from yourtool.permissions.findings import Findings
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.protected_places import is_protected

GLOB_CHARACTERS = re.compile(r"[*?\[]")
_MAX_FILES = 20_000
"""Files of a directory that are searched for links."""
_MODULE_FILE = re.compile(r"(\w+)(?:\.[\w-]+)?\.(?:pyc?|so)")
_IMPORTED_BY_PROGRAMS = sys.stdlib_module_names - {"test"}
_T = TypeVar("_T", bound=FindingAnswer)


class Place(Struct, frozen=True):
    """Where a command runs."""

    root: Path
    """The workspace, without symbolic links."""
    directory: Path
    """The working directory, inside the workspace."""
    findings: Findings | None = None
    """What is known about the files; None: they are looked up each time."""

    def is_readable(self, path: str) -> bool:
        """Whether a path leads into the workspace, and not to a credential file."""
        if path in ("-", "/dev/null"):
            return True
        return self.is_private(path) or self._is_inside(path)

    def _is_inside(self, path: str) -> bool:
        return self._find("readable", lambda: _is_readable(self.directory, path, self.root), path)

    def is_private(self, path: str) -> bool:
        """Whether a path is in a temporary directory that only the sandbox of the command has."""
        if (findings := self.findings) is None or not path.startswith("/") or ".." in path:
            return False
        directories = findings.private_directories
        return self._find("private", lambda: is_in(Path(path), map(Path, directories)), path)

    def is_contained(self) -> bool:
        """Whether a full sandbox contains the command."""
        findings = self.findings
        return findings is not None and self._find(
            "private", lambda: bool(findings.private_directories)
        )

    def find_protected(self, paths: Sequence[str]) -> str | None:
        """Return the first protected place among paths, by its name, a link or a setting."""
        if (named := next(filter(is_protected, paths), None)) is not None:
            return named
        return self._find(
            "protected", lambda: _find_protected(self.directory, paths, self.root), "\n".join(paths)
        )

    def is_present(self, path: str) -> bool:
        """Whether a path exists; False for patterns."""
        return self._find("present", lambda: os.path.lexists(self.directory / path), path)

    def is_own_file(self, path: str) -> bool:
        """Whether a path is a file of the workspace, or a new one, and leads through no link.

        False for a file that may contain credentials.
        """
        return self._find("own_file", lambda: _is_own_file(self.directory, path, self.root), path)

    def find_unreadable(self, files: FilesBelow) -> str | None:
        """Return the reason why reading files needs an approval, or None."""
        return self._find(
            "unreadable_below",
            lambda: _find_unreadable(self.directory, files, self.root),
            str(files),
        )

    def has_link_out(self, path: str) -> bool:
        """Whether a program that follows links below a path may read what `is_readable` refuses.

        True as well for links to directories, and if there are too many files.
        """
        return self._find("link_out", lambda: _has_link_out(self.directory / path, self.root), path)

    def enter(self, name: str) -> "Place | None":
        """Return the place after `cd`; None if it leads elsewhere or through a link."""
        entered = self._find("entered", lambda: _enter(self.directory, name, self.root), name)
        return None if entered is None else replace(self, directory=Path(entered))

    def has_tool(self, path: str) -> bool:
        """Whether a path names a program in a directory of the workspace; it can be a link."""
        return self._is_inside(path.rpartition("/")[0])

    def replaces_module(self, name: str) -> bool:
        """Whether `python -m` would import its module, or one of Python's own, from here.

        Python searches the working directory first, also for what the module imports.
        """
        return self._find("replaces_module", lambda: _replaces_module(self.directory, name), name)

    def find_git_helper(self, *, only_reads: bool = False) -> str | None:
        """Describe what lets git run a program here, such as a setting of the repository.

        `only_reads`: as for `git_config.find_git_helper`.
        """
        return self._find(
            "git_helper",
            lambda: _describe_git_helper(self.directory, self.root, only_reads=only_reads),
            "reading" if only_reads else "",
        )

    def find_submodule_helper(self) -> str | None:
        """Describe what lets git run a program in a submodule of the repository here."""
        return self._find(
            "git_helper",
            lambda: _describe_submodule_helper(self.directory, self.root),
            "submodules",
        )

    def has_secret_setting(self) -> bool:
        """Whether a setting of git that is in effect here may be a secret."""
        return self._find("secret_setting", lambda: has_secret(self.directory))

    def _find(self, question: Question, look: Callable[[], _T], about: str = "") -> _T:
        if self.findings is None:
            return look()
        directory = os.path.relpath(self.directory, self.root)
        return self.findings.get(question, look, about=about, directory=directory)


def _is_readable(directory: Path, path: str, root: Path) -> bool:
    paths = _expand(directory, path)
    return paths is not None and all(_leads_inside(each, root) for each in paths)


def _find_protected(directory: Path, paths: Sequence[str], root: Path) -> str | None:
    protection = Protection(root)
    for path in paths:
        if path in ("", "-", "/dev/null") or "\0" in path:
            continue
        named, real = os.path.normpath(directory / path), os.path.realpath(directory / path)
        if any(protection.find(os.path.relpath(each, root)) for each in {named, real}):
            return path
    return None


def _expand(directory: Path, path: str) -> list[Path] | None:
    """Return the paths that the shell makes of a word, and their directory; None: unknown."""
    folder, _, pattern = path.rpartition("/")
    if not GLOB_CHARACTERS.search(path):
        return [directory / path]
    if GLOB_CHARACTERS.search(folder):
        return None
    try:
        names = os.listdir(directory / folder)  # noqa: PTH208 - only the names are needed
    except OSError:
        return None
    if pattern[:1] not in (".", "["):
        names = [name for name in names if name[0] != "."]
    matches = [name for name in names if "[" in pattern or matches_glob(pattern, name)]
    return [directory / folder / name for name in (*matches, ".")]


def _find_unreadable(directory: Path, files: FilesBelow, root: Path) -> str | None:
    paths = _expand(directory, files.path)
    if paths is None:
        return f"`{files.path}` cannot be searched for credential files"
    starts = paths[:-1] if GLOB_CHARACTERS.search(files.path) else paths
    for each in starts:
        start = real_path(Path(each))
        if not start.is_relative_to(root):
            return f"`{files.path}` leads out of the workspace"
        if (found := find_unreadable(files, start, root)) is not None:
            return found
    return None


def _leads_inside(path: Path, root: Path) -> bool:
    """Whether a path leads into the workspace, and not to a credential file."""
    real = real_path(Path(path))
    if not real.is_relative_to(root):
        return False
    return not is_credential_file(str(real.relative_to(root))) or has_only_certificates(real)


def _is_own_file(directory: Path, path: str, root: Path) -> bool:
    real = real_path(directory / path)
    is_direct = os.path.normpath(directory / path) == str(real)
    return is_direct and (is_file(real) or not may_exist(real)) and _leads_inside(real, root)


def _has_link_out(directory: Path, root: Path) -> bool:
    count = 0
    for folder, folders, names in os.walk(directory):
        count += len(names) + 1
        paths = (Path(folder, each) for each in (*folders, *names))
        links = [each for each in paths if is_link(each)]
        if count > _MAX_FILES or any(
            is_directory(each) or not _leads_inside(each, root) for each in links
        ):
            return True
    return False


def _enter(directory: Path, name: str, root: Path) -> str | None:
    real = real_path(directory / name)
    if name.startswith("-") or not (real.is_relative_to(root) and is_directory(real)):
        return None
    is_direct = os.path.normpath(directory / name) == str(real)
    return str(real) if is_direct and os.access(real, os.X_OK) else None


def _replaces_module(directory: Path, name: str) -> bool:
    try:
        entries = os.listdir(directory)  # noqa: PTH208 - only the names are needed
    except OSError:
        return True
    if name in entries:
        return True
    files = {match[1] for each in entries if (match := _MODULE_FILE.fullmatch(each))}
    packages = (
        each
        for each in _IMPORTED_BY_PROGRAMS.intersection(entries)
        if any((directory / each).glob("__init__.*"))
    )
    return name in files or not _IMPORTED_BY_PROGRAMS.isdisjoint([*files, *packages])


def _describe_git_helper(directory: Path, root: Path, *, only_reads: bool) -> str | None:
    helper = find_git_helper(directory, root, only_reads=only_reads)
    return None if helper is None else str(helper)


def _describe_submodule_helper(directory: Path, root: Path) -> str | None:
    helper = find_submodule_helper(directory, root)
    return None if helper is None else str(helper)
