"""`yourtool completion`: scripts for shell completion."""

import os
from pathlib import Path

import shtab

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.cli.parser import COMMANDS, SHELLS, build_parser
from yourtool.errors import UsageError
from yourtool.paths import Paths
from yourtool.run_result import ExitCode

_HEADER = "# AUTOMATICALLY GENERATED"
"""The start of the first of the comment lines of shtab."""


def run(paths: Paths, arguments: Arguments) -> int:
    """Print the script of a shell, or of the one that `SHELL` names.

    Raises:
        UsageError: `SHELL` names another shell, or is not set.
    """
    shell = arguments.shell or _get_login_shell()
    script = shtab.complete(build_parser(tuple(COMMANDS)), shell)
    script = _replace_header(script, shell)
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
