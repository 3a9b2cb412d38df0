"""Directories that a command line enters."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from yourtool.permissions.shell.lines.expansion import is_in_background
from yourtool.permissions.shell.lines.syntax import Node

_SUBSHELLS = ("subshell", "command_substitution", "process_substitution")
_BEFORE = "-"
_MAX_SEARCHED = 8


def is_subshell(node: Node) -> bool:
    """Return True if `cd` in this part of a line has no effect on the rest."""
    is_side = node.parent is not None and node.parent.type == "pipeline"
    return node.type in _SUBSHELLS or is_side or is_in_background(node)


class Entered:
    """Where the next command of a line runs: in the last directory, or an earlier one.

    An earlier one, if the last could not be entered, or is entered only under a condition.
    """

    def __init__(self, start: Path) -> None:
        self._paths: tuple[Path, ...] = (start,)
        self._before = start
        self._pushed: tuple[Path, ...] = ()
        self._searched: tuple[str, ...] = ()

    @property
    def here(self) -> Path:
        """The last directory."""
        return self._paths[-1]

    def __iter__(self) -> Iterator[Path]:
        return iter(dict.fromkeys(self._paths))

    def save(self) -> "Entered":
        """Return a copy, for the end of a subshell."""
        copy = Entered(self.here)
        copy.restore(self)
        return copy

    def restore(self, saved: "Entered") -> None:
        """Leave all directories that were entered since they were saved."""
        self._paths, self._before, self._pushed = saved._paths, saved._before, saved._pushed

    def search(self, assignment: str) -> None:
        """Let `cd` look for directories in others, if a variable is set for that."""
        name, _, value = assignment.partition("=")
        if name == "CDPATH":
            self._searched = (*self._searched, *value.split(":"))[:_MAX_SEARCHED]

    def move(self, words: Sequence[str]) -> None:
        """Run `cd`, `pushd` or `popd`; without a directory, `cd` leads out of the workspace."""
        target = words[-1] if len(words) > 1 else ""
        if words[0] == "popd":
            *pushed, after = self._pushed or (self.here,)
            self._pushed = tuple(pushed)
            self._enter(after)
        elif target:
            if words[0] == "pushd":
                self._pushed += (self.here,)
            here = self.here
            for each in self._searched:
                self._enter(here / each / target)
            self._enter(self._before if target == _BEFORE else here / target)

    def enter(self, target: str) -> None:
        """Enter a directory that an option names."""
        self._enter(self.here / target)

    def _enter(self, path: Path) -> None:
        self._before = self.here
        self._paths += (Path(os.path.normpath(path)),)
