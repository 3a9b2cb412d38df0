"""Searched directories of a command."""

import re
from collections.abc import Callable, Sequence

from yourtool.permissions.credential_search import FilesBelow
from yourtool.permissions.shell.programs.arguments import GivenArguments, read_arguments
from yourtool.permissions.shell.programs.table import find_row

_HERE = (".",)
_NAME_PATTERN = re.compile(r"[\w.*?@%+,~-]+")
"""Patterns that mean the same in each program; of others every file may have the name."""


def find_searched(
    words: Sequence[str], is_present: Callable[[str], bool], top: str
) -> tuple[FilesBelow, ...]:
    """Return the files that a reading command finds below directories.

    `is_present`: whether a path exists; other words can be revisions or patterns of git, and then
    everything below `top`, the workspace, counts.
    """
    row, rest = find_row(words)
    if row is None or (given := read_arguments(row, rest)) is None:
        return ()
    match words[0], words[1:2]:
        case "rg", ["--files"]:
            return ()  # only names
        case "rg", _:
            return _of_ripgrep(given)
        case "grep" | "egrep" | "fgrep", _:
            return _of_grep(given)
        case "git", ["grep"]:
            return _of_git(given, is_present, top)
        case "diff", _:
            return tuple(map(FilesBelow, given.every))
        case _:
            return ()


def _of_grep(given: GivenArguments) -> tuple[FilesBelow, ...]:
    if not given.names & {"r", "recursive"}:
        return ()
    excluded = given.names & {"exclude"}  # the order of both decides
    names = () if excluded else _keep_plain(given.get_values("include"))
    return tuple(FilesBelow(path, "all", names) for path in given.paths or _HERE)


def _of_ripgrep(given: GivenArguments) -> tuple[FilesBelow, ...]:
    globs = (*given.get_values("g"), *given.get_values("glob"))
    included = [each for each in globs if not each.startswith("!")]
    sees_all = included or given.names & {"u", "hidden", "no-ignore"}
    kind = "all" if sees_all else "visible"
    names = _keep_plain(included)
    return tuple(FilesBelow(path, kind, names) for path in given.paths or _HERE)


def _of_git(
    given: GivenArguments, is_present: Callable[[str], bool], top: str
) -> tuple[FilesBelow, ...]:
    if any(path.startswith(":(") for path in given.paths):
        return (FilesBelow("/"),)  # perhaps the top of the repository, above the workspace
    others = "untracked" in given.names
    paths = given.paths if all(map(is_present, given.paths)) else (top,)
    return tuple(FilesBelow(path, "all" if others else "tracked") for path in paths or _HERE)


def _keep_plain(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of names; none if one of them may match in another way."""
    return tuple(patterns) if all(map(_NAME_PATTERN.fullmatch, patterns)) else ()
