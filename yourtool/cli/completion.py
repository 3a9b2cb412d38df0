"""`yourtool completion`: print the script with which a shell completes commands and options."""

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import shtab

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.cli.parser import COMMANDS, SHELLS, build_parser
from yourtool.errors import UsageError
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.tables import is_table

_COMPLETED_PATHS = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
"""Placeholders in the help whose values are paths."""
_HEADER = "# AUTOMATICALLY GENERATED"
"""The start of the first of the comment lines of shtab."""


def run(paths: Paths, arguments: Arguments) -> int:
    """Print the script of a shell, or of the one that `SHELL` names.

    Raises:
        UsageError: `SHELL` names another shell, or is not set.
    """
    shell = arguments.shell or _get_login_shell()
    parser = build_parser(tuple(COMMANDS))
    for action in _get_actions([parser]):
        if isinstance(action.metavar, str) and action.metavar in _COMPLETED_PATHS:
            # shtab reads an attribute that argparse does not declare
            vars(action)["complete"] = _COMPLETED_PATHS[action.metavar]
    script = _replace_header(shtab.complete(parser, shell), shell)
    if arguments.json:
        print_json({"shell": shell, "script": script})
    else:
        print_lines(*script.splitlines())
    return ExitCode.ANSWERED


def _replace_header(script: str, shell: str) -> str:
    """Return the script with a line of ours in place of the advice of shtab."""
    lines = script.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(_HEADER))
    end = next(at for at in range(begin, len(lines)) if not lines[at].startswith("#"))
    lines[begin:end] = [f"# The words of yourtool, as `yourtool completion {shell}` prints them."]
    return "\n".join(lines)


def _get_login_shell() -> str:
    value = os.environ.get("SHELL", "")
    if (name := Path(value).name) in SHELLS:
        return name
    problem = f"`SHELL` is `{value}`, which has no completion here" if value else "`SHELL` is unset"
    raise UsageError(f"{problem}; write `yourtool completion {'|'.join(SHELLS)}`")


def _get_actions(parsers: Iterable[argparse.ArgumentParser]) -> Iterator[argparse.Action]:
    """Return the options and words of parsers and of their commands."""
    for parser in parsers:
        for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - no public list
            if is_table(action.choices):
                yield from _get_actions(action.choices.values())
            else:
                yield action
