"""Hook: events, command and permitted decisions."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.foundation.patterns import Pattern, compile_pattern
from yourtool.settings.hook_config import EVERYTHING, HookConfig
from yourtool.tools.commands.workspace_programs import find_programs

_MAX_NAME = 80
"""Characters of the command that name a hook."""

HookSource: TypeAlias = Literal["user", "project"]

MAX_PROGRAM_BYTES = 2**20
"""Bytes of a file named by a command that an answer about trust covers."""


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
        try:
            with path.open("rb") as file:
                data = file.read(MAX_PROGRAM_BYTES)
        except OSError:  # it has become unreadable
            return False
        return (
            not data or (os.path.realpath(path), hashlib.sha256(data).hexdigest()) in self.digests
        )


def build_hook(config: HookConfig, source: HookSource) -> Hook:
    """Return the hook of valid settings."""
    pattern = None if config.matcher in EVERYTHING else compile_pattern(config.matcher)
    return Hook(config, source, pattern)
