"""A hook: which events it is for, what it runs, and what it may decide."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.hook_config import EVERYTHING, HookConfig
from yourtool.patterns import Pattern, compile_pattern

_MAX_NAME = 80
"""Characters of the command that name a hook."""

HookSource: TypeAlias = Literal["user", "project"]

PROJECT_VARIABLES = ("YOURTOOL_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Variables of a hook with the path of the workspace."""
_QUOTES = "\"'`();|&"


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


def find_programs(command: str, workspace: Path) -> list[Path]:
    """Return the files of a workspace that a command line names; blocks on the file system.

    `workspace`: the real path. A program can read other files, too.
    """
    line, found = command, dict[Path, None]()
    for name in PROJECT_VARIABLES:
        for form in (f"${{{name}}}", f"${name}"):
            line = line.replace(form, str(workspace))
    for word in line.split():
        path = Path(os.path.normpath(workspace / "".join(c for c in word if c not in _QUOTES)))
        with suppress(OSError, ValueError):
            if path.is_relative_to(workspace) and path.is_file():
                found[path] = None
    return list(found)


def build_hook(config: HookConfig, source: HookSource) -> Hook:
    """Return the hook of valid settings."""
    pattern = None if config.matcher in EVERYTHING else compile_pattern(config.matcher)
    return Hook(config, source, pattern)
