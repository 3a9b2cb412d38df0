"""Canonical form of an understood command line.

Each program is the file that is found now, outside the workspace and outside directories that
everyone can write to. git runs with options that switch off the programs that a repository can
name: https://git-scm.com/docs/git-config.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import is_file, real_path
from yourtool.permissions.shell.lines.plain import PlainCommand, quote_plain
from yourtool.permissions.shell.lines.syntax import Word
from yourtool.permissions.shell.programs.arguments import is_free
from yourtool.permissions.shell.programs.table import find_program, find_row, load_programs
from yourtool.permissions.shell.wrapped import find_inner_start
from yourtool.process.environment import find_absolute_path, find_virtual_environment, is_inside

_MIN_ENTERING = 3
"""Words of `git -C DIRECTORY`."""


class UnsafeProgramError(Exception):
    """A program is one that others could have put there, or several; the message is a clause."""


class SearchPath(Struct, frozen=True):
    """Where programs are found."""

    directories: Sequence[str]
    workspace: Path
    virtual_environment: str = ""
    """The directory of programs of the active environment, which may be in the workspace."""
    inner: Sequence[str] = ()
    """The other directories of the workspace, where no program of the system is found."""

    def find(self, words: Sequence[str]) -> str:
        """Return the path of a command's program, or its name if it is not found or is a path.

        Raises:
            UnsafeProgramError: it is in the workspace, or everyone can write to it.
        """
        if "/" in (name := words[0]):
            return name
        is_inside_only = False
        for directory in self.directories:
            path = Path(directory, name)
            if is_file(path) and os.access(path, os.X_OK):
                if directory not in self.inner:
                    self._check(words, path)
                elif _is_of_system(words):
                    is_inside_only = True
                    continue
                return str(path)
        if is_inside_only:
            raise UnsafeProgramError(f"`{name}` is a program in the workspace")
        return name

    def _check(self, words: Sequence[str], path: Path) -> None:
        real = real_path(Path(path))
        checked = (path, real)
        if directory_is(path, self.virtual_environment):
            if not _is_of_system(words):
                return  # the user activated it, and a rule covers the command
            checked = (real,)  # a tool can change a file there, but not a link
        for each in checked:
            if each.is_relative_to(self.workspace):
                raise UnsafeProgramError(f"`{words[0]}` is a program in the workspace")
            for part in (each, each.parent):
                if part.stat().st_mode & stat.S_IWOTH:
                    raise UnsafeProgramError(f"everyone can write to `{part}`")


def build_search_path(outer: Mapping[str, str], workspace: Path) -> SearchPath:
    """Return where the commands of a workspace find programs; `outer` as of this process."""
    own = find_virtual_environment(outer)
    directories, root = find_absolute_path(outer), os.path.realpath(workspace)
    inner = tuple(each for each in directories if each != own and is_inside(each, root))
    return SearchPath(directories, workspace, own, inner)


def _is_of_system(words: Sequence[str]) -> bool:
    """Whether a command may need no rule, or rules are about what its program is known to write."""
    row, rest = find_row(words)
    is_unasked = row is not None and not row.loads_code and is_free(row, rest)
    return is_unasked or find_row(words, "changes")[0] is not None


def directory_is(path: Path, directory: str) -> bool:
    """Whether a file is directly in a directory."""
    return directory != "" and path.parent == Path(directory)


def build_canonical_line(commands: Sequence[PlainCommand], search_path: SearchPath) -> str:
    """Return what runs in place of the line.

    Raises:
        UnsafeProgramError: a program is in the workspace, or everyone can write to it.
    """
    parts: list[str] = []
    for command in commands:
        words = _resolve_words(command.words, search_path)
        if command.is_repeated:
            continue
        variables = (f"{name}={quote_plain([Word(value)])}" for name, value in command.variables)
        parts += [*command.before, *command.timing, *variables, quote_plain(words)]
        parts += [*map(str, command.redirections), *command.after]
        if command.operator:
            parts.append(command.operator)
    return " ".join(parts)


def _resolve_words(
    words: Sequence[Word], search_path: SearchPath, *, is_inner: bool = False
) -> Sequence[Word]:
    """Return words with the paths of programs; `is_inner`: another program runs them."""
    if [word.text for word in words[:2]] == ["git", "--no-pager"]:
        words = [words[0], *words[2:]]
    name, texts = words[0].text, [word.text for word in words]
    if any("$" in word.source for word in words[: 1 + (name == "git")]):
        raise UnsafeProgramError("a variable of a loop names a program, or a command of git")
    if texts[:2] == ["git", "-C"] and len(words) > _MIN_ENTERING:
        program, *rest = _resolve_words([words[0], *words[3:]], search_path)
        return [program, *words[1:3], *rest]
    known = find_program(name)
    if known is not None and known.builtin and "/" not in name and not is_inner:
        return words
    program = Word(search_path.find(texts))
    row, _ = find_row(texts)
    if row is not None and row.arguments == "settings":
        return [program, Word("--no-pager"), *words[1:]]  # it would show the other options
    if name == "git" and row is not None:  # a rule for another command means its hooks too
        return [program, *map(Word, load_programs()["git"].added), *_without_helpers(words[1:])]
    start = find_inner_start(texts)
    if start is None or start >= len(words):
        return [program, *words[1:]]
    return [program, *words[1:start], *_resolve_words(words[start:], search_path, is_inner=True)]


def _without_helpers(words: Sequence[Word]) -> Sequence[Word]:
    command, *rest = words
    row = load_programs().get(f"git {command.text}")
    added = () if row is None else row.added
    return [command, *map(Word, added), *rest]
