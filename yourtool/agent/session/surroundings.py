"""Description of the session's directory for models.

It is found once, when the first turn of the session starts.
"""

import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from yourtool.foundation.text import printable
from yourtool.git.repositories import Repository, find_repository
from yourtool.tools.git.git_program import GitError, GitRunner

_GIT_SECONDS = 1.0
_MAX_CHANGES = 20
_MAX_NAME = 120
"""Characters of a branch or a changed file."""


def describe_surroundings(
    root: Path, further: Sequence[Path] = (), *, is_trusted: bool = False
) -> str:
    """Return lines about the directory, its system and its repository; blocks.

    `further`: directories besides the workspace. In a folder without trust git is not run, and
    names of branches and files, which could contain instructions, are omitted.
    """
    return "\n".join(_describe(root, further, is_trusted=is_trusted))


def _describe(root: Path, further: Sequence[Path], *, is_trusted: bool) -> Iterator[str]:
    yield f"Working directory: {root}"
    if further:
        yield f"Further directories: {', '.join(map(str, further))}"
    yield f"System: {platform.system()} {platform.machine()}; shell commands run in bash"
    if (repository := find_repository(root)) is None:
        yield "Git repository: no"
        return
    lines = _read_status(repository, root) if is_trusted else []
    if not lines:
        yield "Git repository: yes"
        return
    branch, *changes = lines
    name, count = _shorten(branch.removeprefix("## ").split("...")[0]), len(changes) or "no"
    state = f"{count} changed file{'' if count == 1 else 's'}"
    yield f"Git repository: yes; when the session began, on branch {name} with {state}"
    yield from (f"  {_shorten(change)}" for change in changes[:_MAX_CHANGES])
    if len(changes) > _MAX_CHANGES:
        yield f"  and {len(changes) - _MAX_CHANGES} more"


def _read_status(repository: Repository, directory: Path) -> list[str]:
    """Return the lines of `git status --porcelain=v1 --branch`; none if git fails."""
    runner = GitRunner(repository, _GIT_SECONDS)
    try:
        status = runner.run("status", "--porcelain=v1", "--branch", directory=directory)
    except GitError:
        return []
    return os.fsdecode(status).splitlines()


def _shorten(text: str) -> str:
    return printable(text)[:_MAX_NAME]
