"""Environments of a session's programs.

commands of models     the user's variables without keys, as `[shell] environment` changes it
… that run unasked     a list of variables without code and keys, no program of the workspace
  because they read
`!` of the user        everything
the user's own hooks   everything but the keys of providers, no program of the workspace, because
and MCP servers        they run outside the sandbox, and models can write there
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from yourtool.process.environment import (
    PUBLIC,
    find_absolute_path,
    find_command_path,
    find_outside_path,
    is_inside,
    is_key,
)
from yourtool.settings.shell_config import EnvironmentConfig

_FIXED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}
_EDITORS = frozenset({"VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"})
"""Variables that override `EDITOR` and settings of git."""
_EDITOR_OF_GIT = 'sh -c "$EDITOR \\"\\$@\\"" editor'
"""The value of `core.editor`: the editor that a command names, and none that a file names."""
_NEEDS_TERMINAL = re.compile(
    r"editor\s*=\s*['\"]?(?:\S*/)?(?:ed|emacs|ex|joe|kak|micro|nano|nvim|pico|vim?)\b",
    re.IGNORECASE,
)
"""A line that names an editor for git that waits for keys, for which there is no keyboard."""
_OF_A_SHELL = frozenset(
    {"BASHOPTS", "CDPATH", "GLOBIGNORE", "OLDPWD", "POSIXLY_CORRECT", "PWD", "SHELLOPTS", "_"}
)
"""Variables about the shell that started this process, not about the user.

With some of them, `cd` and globs would mean other places than questions and rules.
"""
_LOADING = frozenset(
    {
        "BASH_ENV", "CLASSPATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "ENV", "GEM_PATH",
        "JAVA_TOOL_OPTIONS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "LUA_PATH",
        "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT", "PYTHONHOME", "PYTHONPATH",
        "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT",
    }
)  # fmt: skip
"""Variables from which programs load code."""


class Environments(Struct, frozen=True):
    """Builds the environments of programs; `outer` is that of this process."""

    config: EnvironmentConfig = EnvironmentConfig()
    provider_keys: frozenset[str] = frozenset()
    """Variables with the keys of providers, also under names of the user's choice."""

    def build_for_model(
        self, outer: Mapping[str, str], *, has_terminal: bool = False
    ) -> dict[str, str]:
        """Return the environment of a command of a model, a check, or a program of a project."""
        passed = {
            name: value
            for name, value in outer.items()
            if name not in _OF_A_SHELL
            and self.config.passes(name, is_key=name in self.provider_keys or is_key(name, value))
        }
        fixed = passed if has_terminal else _without_editor(passed)
        path = _join(find_absolute_path(outer))
        return {**fixed, **_FIXED, "PATH": path, **self.config.set}

    def build_for_own_program(self, outer: Mapping[str, str], workspace: Path) -> dict[str, str]:
        """Return the environment of a hook or an MCP server of the user, outside the sandbox."""
        root, hidden = os.path.realpath(workspace), self.provider_keys | _OF_A_SHELL
        passed = {
            name: value
            for name, value in outer.items()
            if name not in hidden and not (name in _LOADING and _may_load(value, root))
        }
        path = _join(find_outside_path(outer, root))
        return {**_without_editor(passed), **_FIXED, "PATH": path}


def build_for_reading(outer: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return the environment of a read-only command without an approval."""
    passed = {
        name: value for name, value in outer.items() if name in PUBLIC or name.startswith("LC_")
    }
    path = _join(find_command_path(outer, os.path.realpath(workspace)))
    return {**_without_editor(passed), **_FIXED, "PATH": path}


def build_for_user(outer: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command of the user, which has no terminal."""
    return {**_without_editor(outer), **_FIXED}


def refuse_editor(line: str) -> dict[str, str]:
    """Return variables with which an editor fails that a line names and that needs a terminal."""
    return dict.fromkeys(sorted(_EDITORS), "false") if _NEEDS_TERMINAL.search(line) else {}


def _without_editor(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables with which a program that opens an editor fails at once.

    An editor without a terminal gets no keys. A command can still name one that needs none, as in
    `git -c core.editor=true rebase --continue`.
    """
    kept = {name: value for name, value in variables.items() if name not in _EDITORS}
    number = kept.get("GIT_CONFIG_COUNT", "")
    number = number if number.isdecimal() else "0"
    return {
        **kept,
        "EDITOR": "false",
        "GIT_CONFIG_COUNT": str(int(number) + 1),
        f"GIT_CONFIG_KEY_{number}": "core.editor",
        f"GIT_CONFIG_VALUE_{number}": _EDITOR_OF_GIT,
    }


def _may_load(value: str, workspace: str) -> bool:
    """Return whether a list of places or options may lead to files of the workspace."""
    for entry in value.split(os.pathsep):
        for word in entry.split() or [""]:
            if word.startswith("/"):
                if is_inside(word, workspace):
                    return True
            elif not word.startswith("-") or "." in word or "/" in word:
                return True
    return False


def _join(directories: list[str]) -> str:
    return os.pathsep.join(directories) or os.defpath
