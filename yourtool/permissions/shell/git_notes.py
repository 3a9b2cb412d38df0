"""Reasons for no rule about a git command.

Few of them run other programs, so each reason is about what the command itself does.
"""

from collections.abc import Mapping, Sequence

from yourtool.permissions.shell.git_losses import find_git_loss
from yourtool.permissions.shell.programs.arguments import read_arguments
from yourtool.permissions.shell.programs.table import Removed, find_row, load_programs

_REMOVED: Mapping[Removed, str] = {
    "branches": "deletes branches whose commits may be nowhere else",
    "history": "deletes what git could bring back",
    "remote": "replaces or deletes what others may have fetched",
    "stashes": "deletes stashed work",
    "worktree": "deletes a work tree with its changes",
}
_ADDRESSES = ("add", "set-url")
_MAY_RUN_PROGRAMS = "may run other programs with these options"


def describe_unoffered(words: Sequence[str]) -> str:
    """Return why no rule is offered for a command of git; a clause."""
    return f"{_describe(words)}, so no rule is offered"


def _describe(words: Sequence[str]) -> str:
    loss = find_git_loss(words)
    if loss is not None and loss.removed:
        named = words[: words.index(loss.mark) + 1] if loss.mark in words else words[:2]
        return f"`{' '.join(named)}` {_REMOVED[loss.removed]}"
    named = " ".join(words[:2])
    if named == "git config":
        return f"`{named}` changes settings, which can name programs"
    if named == "git remote" and words[2:3] and words[2] in _ADDRESSES:
        return f"`{named} {words[2]}` changes an address from which git fetches"
    row, rest = find_row(words, "changes")
    if row is not None and row.arguments == "remote" and read_arguments(row, rest) is not None:
        return f"`{named}` has an address or a path in place of a remote"
    if row is not None and row.arguments == "paths" and read_arguments(row, rest) is not None:
        return f"`{named}` names a path out of the workspace"
    for known in (" ".join(words[:3]), named):
        if (found := load_programs().get(known)) is not None and found.note:
            return f"`{known}` {found.note}"
    if row is None:
        return f"`{named}` is not one of the commands whose effects are known"
    return f"`{named}` {_MAY_RUN_PROGRAMS}"
