"""Workspace files named by git or hook managers.

Hook managers: https://pre-commit.com/#plugins, https://lefthook.dev/configuration.
"""

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.foundation.files import read_small_file, real_path
from yourtool.git.config import (
    GitSetting,
    expand_user,
    is_include,
    iter_all_settings,
    names_program,
)
from yourtool.git.repositories import Repository, iter_linked_hooks, open_repository
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.protected_places import find_cause, folded_name, is_protected
from yourtool.settings.tables import is_table

_BARE = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))
"""With either of these, git uses a directory itself as a repository."""
_FILES_OF_BARE = frozenset(
    {
        "head", "objects", "refs", "config", "config.worktree", "commondir", "hooks", "info",
        "modules", "packed-refs", "worktrees",
    }
)  # fmt: skip
_HOOKS = frozenset(
    {
        "applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist",
        "p4-post-changelist", "p4-prepare-changelist", "p4-pre-submit", "post-applypatch",
        "post-checkout", "post-commit", "post-index-change", "post-merge", "post-receive",
        "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
        "pre-merge-commit", "prepare-commit-msg", "pre-push", "pre-rebase", "pre-receive",
        "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate",
        "update",
    }
)  # fmt: skip
"""https://git-scm.com/docs/githooks."""
_MANAGERS = (
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook-local.yml",
    ".lefthook-local.yml",
)  # fmt: skip
"""Files whose entries name scripts of the workspace."""
_ENTRY = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:entry|run):([^\n]+)", re.MULTILINE)
_INTERPRETERS = frozenset({"bash", "env", "node", "perl", "python", "python3", "ruby", "sh", "zsh"})
_MAX_MANAGER_BYTES, _MAX_PACKAGE_BYTES = 2**18, 2**20
_MAX_WORDS, _MAX_ENTRIES = 50, 500
_COMMENT = re.compile(r"[;#]")
_KEYS_OF_PACKAGE = ("simple-git-hooks", "husky", "gitHooks", "pre-commit", "lint-staged")
"""Keys of `package.json` whose commands hook managers run."""


class _Place(Struct, frozen=True):
    """A file or directory of the workspace that git or a hook manager uses."""

    names: tuple[str, ...]
    """Its path in the workspace, folded."""
    cause: str
    """Why it is one, a clause."""
    only_hooks: bool = False
    """Whether only the hooks directly in it count: it has the files of the project, too."""

    def covers(self, names: tuple[str, ...]) -> bool:
        if self.only_hooks:
            return names[:-1] == self.names and names[-1] in _HOOKS
        return names[: len(self.names)] == self.names


class Protection:
    """The protected places of a workspace; valid for one decision, which reads each file once."""

    def __init__(self, root: Path) -> None:
        """`root`: the workspace, without links."""
        self.root = root
        self._written = set[tuple[str, ...]]()
        self._places = dict[Path, Sequence[_Place]]()

    def expect(self, path: str) -> None:
        """Take into account that a path is written as well."""
        self._written.update(_iter_beginnings(self._fold(self._resolve(path)) or ()))

    def find(self, path: str) -> str | None:
        """Return what protects a path from writes in every mode, a noun phrase; None: nothing.

        `path`: as for `is_protected`.
        """
        if is_protected(path):
            return "protected place"
        cause = self.find_cause(path)
        return None if cause is None else f"protected place ({cause})"

    def find_cause(self, path: str) -> str | None:
        """Return why a path is a protected place, a clause; None: it is not one."""
        if (named := find_cause(path)) is not None:
            return named
        absolute = self._resolve(path)
        if (names := self._fold(absolute)) is None or not names:
            return None
        if self._is_in_bare(absolute, names):
            return "git finds a bare repository here"
        for top in absolute.parents:
            for place in self._get_places(top):
                if place.covers(names):
                    return place.cause
        return None

    def may_expand_to_place(self, pattern: str) -> bool:
        """Whether the shell may expand a pattern to a place that settings protect."""
        parts = pattern.split("/")
        places = chain.from_iterable(map(self._get_places, (self.root, *self.root.parents)))
        return any(_may_match(parts, each.names) for each in places if not each.only_hooks)

    def _resolve(self, path: str) -> Path:
        return Path(os.path.normpath(self.root / path))

    def _fold(self, path: Path) -> tuple[str, ...] | None:
        """Return the names of a path in the workspace; None: it is elsewhere."""
        if not path.is_relative_to(self.root):
            return None
        return tuple(map(folded_name, path.relative_to(self.root).parts))

    def _is_in_bare(self, path: Path, names: tuple[str, ...]) -> bool:
        """Return True if a path is of a directory that git then uses itself as a repository."""
        written = {*self._written, *_iter_beginnings(names)}

        def exists(at: int, name: str) -> bool:
            directory = path.parents[len(names) - 1 - at]
            return (*names[:at], folded_name(name)) in written or os.path.lexists(directory / name)

        return any(
            each in _FILES_OF_BARE
            and any(all(exists(at, name) for name in needed) for needed in _BARE)
            for at, each in enumerate(names)
        )

    def _get_places(self, directory: Path) -> Sequence[_Place]:
        """Return the places of the repository and the hook managers with this top."""
        if (known := self._places.get(directory)) is None:
            repository = open_repository(directory / ".git")
            known = self._places[directory] = tuple(self._find_places(directory, repository))
        return known

    def _find_places(self, top: Path, repository: Repository | None) -> Iterator[_Place]:
        if repository is not None:
            for each in (repository.directory, repository.common):
                yield from self._build(each, top, "git uses it because of `.git`")
            for each in iter_linked_hooks(repository):
                yield from self._build(each, top, "git runs it through a link in its `hooks`")
            for file, setting in iter_all_settings(repository):
                cause = f"git uses it because of `{setting.key}` in `{self._describe(file)}`"
                for each in _iter_named(file, setting, top):
                    yield from self._build(each, top, cause)
        if repository is not None or top == self.root:
            for name in _MANAGERS:
                for each in _read_scripts(top / name):
                    cause = f"`{self._describe(top / name)}` runs it as a hook"
                    yield from self._build(top / each, top, cause)

    def _build(self, path: Path, top: Path, cause: str) -> Iterator[_Place]:
        """Yield the place of a path, and of what it leads to."""
        normal = Path(os.path.normpath(path))
        for each in dict.fromkeys((normal, real_path(normal))):
            if (names := self._fold(each)) is not None:
                yield _Place(
                    names,
                    cause,
                    only_hooks=any(above.is_relative_to(each) for above in (top, self.root)),
                )

    def _describe(self, file: Path) -> str:
        return str(file).removeprefix(f"{self.root}/")


def _may_match(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first parts of a pattern may match names."""
    pairs = zip(parts, names, strict=False)
    return len(parts) >= len(names) and all("[" in a or matches_glob(a, b) for a, b in pairs)


def changes_hooks(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Whether a change of a `package.json` changes commands that hook managers run."""
    if folded_name(path.rpartition("/")[2]) != "package.json":
        return False
    return _get_commands(before) != _get_commands(after)


def _get_commands(package: bytes | None) -> Mapping[str, Any]:
    if not package or len(package) > _MAX_PACKAGE_BYTES:
        return {}
    try:
        decoded = msgspec.json.decode(package)
    except (ValueError, RecursionError):
        return {}
    return (
        {key: decoded[key] for key in _KEYS_OF_PACKAGE if key in decoded}
        if is_table(decoded)
        else {}
    )


def _iter_named(file: Path, setting: GitSetting, top: Path) -> Iterator[Path]:
    """Yield the files and directories that a setting of git names."""
    is_hooks_path = setting.key == "core.hookspath"
    if is_hooks_path or is_include(setting):
        base = top if is_hooks_path else file.parent
        for value in dict.fromkeys((setting.value, _COMMENT.split(setting.value)[0].rstrip())):
            yield base / expand_user(value)
    elif names_program(setting):
        yield from (top / expand_user(each) for each in _iter_scripts(setting.value))


def _iter_scripts(command: str) -> Iterator[str]:
    """Yield the words of a command that may be the path of a program or script."""
    before = ""
    for word in command.removeprefix("!").split()[:_MAX_WORDS]:
        path = word.strip("\"'();")
        if "/" in path or (before in _INTERPRETERS and not path.startswith("-")):
            yield path
        before = path


def _iter_beginnings(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a path and the directories above it."""
    return (names[:end] for end in range(1, len(names) + 1))


def _read_scripts(file: Path) -> Sequence[str]:
    """Return the paths in the commands of a hook manager."""
    try:
        status = file.stat()
    except OSError:
        return ()
    version = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
    return _read_scripts_of(file, *version)


@functools.lru_cache(maxsize=50)
def _read_scripts_of(file: Path, *_version: int) -> Sequence[str]:
    try:
        text = read_small_file(file, _MAX_MANAGER_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    commands = islice(_ENTRY.finditer(text), _MAX_ENTRIES)
    found = (script for each in commands for script in _iter_scripts(each[1]))
    return tuple(dict.fromkeys(found))
