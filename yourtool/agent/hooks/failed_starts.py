"""Exit code 2 of failed hook starts.

Python, Perl, awk and some shells end with 2 if there is no script, and bash does if the line has a
mistake. Such a run decides nothing. It is recognised by the first line on standard error together
with the command: the line has to name a file that the command names and that does not exist.
"""

import os
import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from yourtool.foundation.files import real_path
from yourtool.tools.commands.shell import find_interpreter
from yourtool.tools.commands.workspace_programs import get_words

_UNOPENED = ("can't open", "cannot open", "failed to spawn")
"""Python and Perl, awk and dash, uv."""
_SYNTAX = (": -c: line ", ": 1: Syntax error: ")
"""bash and dash, after the name of the shell."""
_MAX_DIRECTORIES = 20
"""Directories of the line in which a name can be, as after `cd`."""


def find_start_problem(command: str, errors: str, workspace: Path) -> str:
    """Return why a hook that ended with 2 did not run; empty: it ran; blocks.

    `errors`: its standard error.
    """
    line, shell = errors.lstrip().partition("\n")[0], find_interpreter()[0]
    if line.startswith(tuple(f"{shell}{each}" for each in _SYNTAX)):
        return f"its command is no valid line of a shell: {line}"
    if not any(each in line.casefold() for each in _UNOPENED):
        return ""
    root, words = real_path(workspace), get_words(command)
    named = filter(os.path.isdir, (_resolve(each, root) for each in words))
    places = (root, *islice(named, _MAX_DIRECTORIES))
    for word in words:
        name = os.path.basename(word)  # noqa: PTH119 - a word can be no path
        if name and name in line and not _exists(word, places):
            return f"there is no file `{word}`"
    return ""


def _exists(word: str, places: Sequence[Path]) -> bool:
    """Whether a word is an option, a program, or a file in one of these places."""
    if word.startswith("-") or shutil.which(word) is not None:
        return True
    return any(os.path.lexists(_resolve(word, each)) for each in places)


def _resolve(word: str, directory: Path) -> Path:
    return directory / os.path.expanduser(word)  # noqa: PTH111 - `Path` raises without a home
