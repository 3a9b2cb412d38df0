"""Uncommitted files of a work tree."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.tools.git.git_program import GitRunner

_STATUS = (
    "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
    "--ignore-submodules=dirty",
)  # fmt: skip


class GitChange(Struct, frozen=True):
    """A path that differs from the last commit, or that git does not track."""

    path: str
    """Relative to the root of the work tree; of an ignored directory with a slash at the end."""
    staged: str
    """How the index differs from the commit, as in `git status --porcelain`."""
    unstaged: str
    """How the file differs from the index."""

    @property
    def is_untracked(self) -> bool:
        """Whether git neither tracks nor ignores it."""
        return self.staged == "?"

    @property
    def is_ignored(self) -> bool:
        """Whether git ignores it."""
        return self.staged == "!"

    @property
    def is_unstaged(self) -> bool:
        """Whether a tracked file has content that the index does not have."""
        return self.unstaged in "MTAU" or (self.staged in "AU" and self.unstaged in "AU")

    @property
    def is_uncommitted(self) -> bool:
        """Whether a tracked file has content that the last commit does not have."""
        return self.is_unstaged or (self.staged in "MTAU" and self.unstaged != "D")

    @property
    def label(self) -> str:
        """What it is, in one word."""
        return "ignored" if self.is_ignored else "untracked" if self.is_untracked else "changed"


def read_changes(
    runner: GitRunner,
    pathspecs: Sequence[str] = (),
    *,
    is_literal: bool = False,
    includes_ignored: bool = False,
    directory: Path | None = None,
) -> Sequence[GitChange]:
    """Return what differs from the last commit.

    `pathspecs`: relative to `directory`, by default the root of the work tree; empty: everything.

    Raises:
        GitError: git failed, or took too long.
    """
    ignored = ("--ignored=matching",) if includes_ignored else ()
    literal = ("--literal-pathspecs",) if is_literal else ()
    output = runner.run(*literal, *_STATUS, *ignored, "--", *pathspecs, directory=directory)
    return list(_parse_status(os.fsdecode(output)))


def _parse_status(output: str) -> Iterator[GitChange]:
    for entry in output.split("\0"):
        if len(entry) > 3:
            yield GitChange(entry[3:], entry[0], entry[1])
