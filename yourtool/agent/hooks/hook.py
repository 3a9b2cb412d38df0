"""A hook: which events it is for, what it runs, and what it may decide."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.hook_config import EVERYTHING, HookConfig
from yourtool.patterns import Pattern, compile_pattern
from yourtool.tools.wildcards import Wildcards, parse_wildcard

_MAX_NAME = 80
"""Characters of the command that name a hook."""

HookSource: TypeAlias = Literal["user", "project"]

PROJECT_VARIABLES = ("YOURTOOL_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Variables of a hook with the path of the workspace."""
MAX_PROGRAM_BYTES = 2**20
"""Bytes of a file named by a command that an answer about trust covers."""
_MAX_WORDS, _MAX_FILES, _MAX_DIRECTORIES = 1_000, 200, 20
"""Words of a command, files that it can name, and directories in which they are searched."""
_MAX_LISTED = 500
"""Names of a directory that are compared with a pattern."""
_NAMES = "|".join((*PROJECT_VARIABLES, "PWD"))
_WORKSPACE = re.compile(
    rf"\$(?:{_NAMES})\b|\$\{{(?:{_NAMES})(?::?[-=?+][^{{}}]*)?\}}|\$\(pwd\)|`pwd`"
)
"""What a shell replaces by the path of the workspace."""
_SPECIAL = re.compile(r"[\s'\"`();|&<>={}\\]+")


class Hook(Struct, frozen=True):
    """One hook that can run."""

    config: HookConfig
    source: HookSource
    pattern: Pattern | None
    """None: it is for everything."""

    @property
    def name(self) -> str:
        """The start of the command, in one line."""
        line = " ".join(self.config.command.split())
        return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…"

    @property
    def digest(self) -> str:
        """The SHA-256 of the command."""
        return hashlib.sha256(self.config.command.encode("utf-8", "replace")).hexdigest()

    @property
    def is_limited(self) -> bool:
        """Whether it may only deny, ask and add context."""
        return self.source == "project"

    def matches(self, event: str, subjects: Iterable[str]) -> bool:
        """Whether it is for an event about these subjects: the names of a tool, or a reason."""
        if self.config.event != event:
            return False
        if self.pattern is None:
            return True
        return any(self.pattern.fullmatch(each) is not None for each in subjects)


class TrustedPrograms(Struct, frozen=True):
    """The files of a workspace that hooks can run in a turn."""

    is_trusted: bool = False
    """Whether the user trusts the folder."""
    digests: frozenset[tuple[str, str]] = frozenset()
    """Real path and SHA-256 of each file in the answer of the user."""

    def find_problem(self, hook: Hook, workspace: Path) -> str:
        """Return why a hook must not run now; empty: it can; blocks on the file system.

        A file can appear or change after the start of the turn.
        """
        for path in find_programs(hook.config.command, workspace):
            name = os.path.relpath(path, workspace)
            if not self.is_trusted:
                return f"it names `{name}`, and you do not trust the folder; see `/trust`"
            if hook.is_limited and not self._has(path):
                return f"`{name}` has changed since you trusted it; see `/trust`"
        return ""

    def _has(self, path: Path) -> bool:
        with path.open("rb") as file:
            data = file.read(MAX_PROGRAM_BYTES)
        return (
            not data or (os.path.realpath(path), hashlib.sha256(data).hexdigest()) in self.digests
        )


def find_programs(command: str, workspace: Path) -> list[Path]:
    """Return the files of a workspace that a command line names; blocks on the file system.

    `workspace`: the real path. Names are relative to it, or to a directory that the line names, as
    after `cd`. A program can read other files, too.
    """
    split = _split_words(_WORKSPACE.sub(".", command))
    words = tuple(dict.fromkeys(islice(split, _MAX_WORDS)))
    named = (path for word in words for path in _resolve(word, workspace, workspace))
    inner = (path for path in named if path != workspace and path.is_dir())
    directories = (workspace, *islice(inner, _MAX_DIRECTORIES))
    paths = (
        path
        for directory in dict.fromkeys(directories)
        for word in words
        for path in _resolve(word, directory, workspace)
        if path.is_file()
    )
    return list(dict.fromkeys(islice(paths, _MAX_FILES)))


def _split_words(line: str) -> Iterator[str]:
    """Yield the words of a line as a shell reads them, also of lines that are quoted in it."""
    yield from _SPECIAL.split(line)
    with suppress(ValueError):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&<>`")
        lexer.whitespace_split, lexer.commenters = True, ""
        for word in lexer:
            yield word
            yield word.partition("=")[2]
            if word != line and _SPECIAL.search(word):
                yield from _split_words(word)


def _resolve(word: str, directory: Path, workspace: Path) -> Iterator[Path]:
    """Yield the paths in a workspace that exist and that a word in a directory can mean."""
    with suppress(OSError, ValueError):
        path = Path(os.path.normpath(directory / word))
        if not path.is_relative_to(workspace):
            return
        if path.exists():
            yield path
        elif any(each in path.name for each in "*?["):
            parsed = parse_wildcard(path.name.removeprefix("!"))
            pattern = Wildcards(() if parsed is None else (parsed,))
            for each in islice(os.scandir(path.parent), _MAX_LISTED):
                if pattern.verdict(each.name, each.name, is_directory=False):
                    yield path.parent / each.name


def build_hook(config: HookConfig, source: HookSource) -> Hook:
    """Return the hook of valid settings."""
    pattern = None if config.matcher in EVERYTHING else compile_pattern(config.matcher)
    return Hook(config, source, pattern)
