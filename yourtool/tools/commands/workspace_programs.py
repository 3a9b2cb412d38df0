"""Workspace files in a command line."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from yourtool.foundation.files import is_directory, is_file, path_exists
from yourtool.foundation.wildcards import Wildcards, parse_wildcard
from yourtool.process.environment import find_absolute_path, is_inside

PROJECT_VARIABLES = ("YOURTOOL_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Variables of a hook with the path of the workspace."""
_MAX_WORDS, _MAX_FILES, _MAX_DIRECTORIES = 1_000, 200, 20
"""Words of a command, files that it can name, and directories in which they are searched."""
_MAX_LISTED = 500
"""Names of a directory that are compared with a pattern."""
_NAMES = "|".join((*PROJECT_VARIABLES, "PWD"))
_WORKSPACE = re.compile(
    rf"\$(?:{_NAMES})\b|\$\{{(?:{_NAMES})(?::?[-=?+][^{{}}]*)?\}}|\$\(pwd\)|`pwd`"
)
"""What a shell replaces by the path of the workspace."""
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_PACKAGE_PROGRAMS = "node_modules/.bin"
"""A directory of a workspace in which programs such as `npx` look first."""
_SPECIAL = re.compile(r"[\s'\"`();|&<>={}\\]+")


def find_programs(command: str, workspace: Path) -> list[Path]:
    """Return the files of a workspace that a command line names; blocks on the file system.

    `workspace`: the real path. Names are relative to it, or to a directory that the line names, as
    after `cd`. A program can read other files, too.
    """
    words = get_words(command)
    named = (path for word in words for path in _resolve(word, workspace, workspace))
    inner = (path for path in named if path != workspace and is_directory(path))
    directories = (workspace, *islice(inner, _MAX_DIRECTORIES))
    paths = (
        path
        for directory in dict.fromkeys(directories)
        for word in words
        for path in _resolve(word, directory, workspace)
        if is_file(path)
    )
    return list(dict.fromkeys(islice(paths, _MAX_FILES)))


def uses_workspace(command: str, workspace: Path, outer: Mapping[str, str]) -> bool:
    """Whether a command line names a file of a workspace, or a program that is found in it.

    Models can write such a file. `outer` has the user's `PATH`; blocks on the file system.
    """
    if find_programs(command, workspace):
        return True
    inside = [each for each in find_absolute_path(outer) if is_inside(each, str(workspace))]
    places = os.pathsep.join((*inside, str(workspace / _PACKAGE_PROGRAMS)))
    names = (each for each in get_words(command) if each and "/" not in each)
    return any(shutil.which(each, path=places) is not None for each in names)


def get_words(command: str) -> tuple[str, ...]:
    """Return the words of a line, with `.` for the workspace and `~` for the home directory."""
    line = _HOME.sub("~", _WORKSPACE.sub(".", command))
    return tuple(dict.fromkeys(islice(_split_words(line), _MAX_WORDS)))


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
        full = os.path.expanduser(word)  # noqa: PTH111 - `Path` raises without a home
        path = Path(os.path.normpath(directory / full))
        if not path.is_relative_to(workspace):
            return
        if path_exists(path):
            yield path
        elif any(each in path.name for each in "*?["):
            parsed = parse_wildcard(path.name.removeprefix("!"))
            pattern = Wildcards(() if parsed is None else (parsed,))
            for each in islice(os.scandir(path.parent), _MAX_LISTED):
                if pattern.verdict(each.name, each.name, is_directory=False):
                    yield path.parent / each.name
