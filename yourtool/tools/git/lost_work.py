"""Work at risk from git commands.

It finds uncommitted files, stashes and branches that a command line would discard. Everything here
blocks and ends at a deadline.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.effects import Consequences
from yourtool.foundation.files import real_path
from yourtool.git.repositories import Repository, find_repository
from yourtool.permissions.shell.expanded_commands import (
    ExpandedCommand,
    get_name,
    iter_expanded,
)
from yourtool.permissions.shell.git_losses import GitLoss, find_git_loss
from yourtool.permissions.shell.lines.syntax import may_name
from yourtool.tools.git.git_changes import GitChange, read_changes
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.workspace.named_files import join_names, list_names, quote_name

_SECONDS = 6.0
_MAX_COMMANDS = 8
_WOULD_REMOVE = "Would remove "
_NO_COPY = {
    "history": "removes history that no branch has; there is no copy of it",
    "remote": "replaces or deletes what the remote has; there is no copy of it",
    "worktree": "deletes another work tree, also what is not committed there; there is no copy",
}


class LostFiles(Struct, frozen=True):
    """What one command would discard."""

    loss: GitLoss
    files: tuple[GitChange, ...] = ()
    """With paths relative to the root of the work tree."""
    commits: tuple[str, ...] = ()
    """The ids of the stashes and branches that it removes."""
    problem: str = ""
    """Why that is not known."""


class LostWork(Struct, frozen=True):
    """What a line would discard in one repository."""

    repository: Repository
    commands: tuple[LostFiles, ...]

    @property
    def files(self) -> tuple[GitChange, ...]:
        """The files whose content would be lost."""
        return tuple(dict.fromkeys(each for command in self.commands for each in command.files))

    @property
    def is_unknown(self) -> bool:
        """Whether it is not known which files would be lost."""
        return any(each.problem and each.loss.discards_files for each in self.commands)

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits of the stashes and branches that would be removed."""
        return tuple(dict.fromkeys(each for command in self.commands for each in command.commits))

    @property
    def removes_stashes(self) -> bool:
        """Whether stashes would be removed that the line does not make itself."""
        return any(each.commits and each.loss.removed == "stashes" for each in self.commands)

    @property
    def includes_ignored(self) -> bool:
        """Whether files that git ignores would be lost."""
        return any({"-x", "-X"} & set(each.loss.cleaned or ()) for each in self.commands)

    @property
    def has_copy(self) -> bool:
        """Whether a copy is possible of what would be lost."""
        return bool(self.files or self.commits or self.is_unknown)

    @property
    def subject(self) -> str:
        """What would be lost, in a few words."""
        has_files = self.files or self.is_unknown
        parts = ["uncommitted work"] if has_files else []
        parts += [_name_removed(each) for each in self.commands if each.commits]
        return " and ".join(dict.fromkeys(parts))

    def describe(self) -> Consequences:
        """Return what is shown before the command runs."""
        cautions = [text for each in self.commands for text in _describe(each)]
        copy = "a safety copy is made first, from which `/undo` restores it"
        return Consequences(tuple(cautions), (copy,) if self.has_copy else ())


def find_lost_work(
    line: str, workspace: Path, environment: Mapping[str, str], seconds: float = _SECONDS
) -> LostWork | None:
    """Find the uncommitted work that a command line would discard.

    `environment`: the variables of the shell that runs the line.
    """
    if not may_name("git", line):
        return None
    losses = list(_iter_losses(line, environment))
    if not losses or (repository := find_repository(workspace)) is None:
        return None
    runner = GitRunner(repository, seconds)
    found = [_look_up(loss, directory, runner) for loss, directory in losses[:_MAX_COMMANDS]]
    commands = tuple(
        each
        for each in found
        if each.files or each.commits or each.problem or each.loss.removed in _NO_COPY
    )
    return LostWork(repository, commands) if commands else None


def _iter_losses(line: str, environment: Mapping[str, str]) -> Iterator[tuple[GitLoss, str | None]]:
    """Yield what the git commands of a line discard, and the directory of each command."""
    for command in iter_expanded(line, environment):
        if (loss := find_git_loss(_read_git_words(command))) is not None:
            inner = loss.directory
            is_known = command.directory is not None and inner is not None
            yield loss, os.path.join(command.directory or "", inner or "") if is_known else None  # noqa: PTH118


def _read_git_words(command: ExpandedCommand) -> Sequence[str]:
    """Return the words from `git` on; what is not known becomes a pattern for every file."""
    names = [get_name(word) for word in command.words]
    start = names.index("git") if "git" in names else len(names)
    words = list[str]()
    for word in command.words[start:]:
        if word.patterns is None:
            words.append("*")
        else:
            is_plain = word.plain is not None
            words += [word.plain or ""] if is_plain else word.patterns
    return words


def _look_up(loss: GitLoss, directory: str | None, runner: GitRunner) -> LostFiles:
    root = runner.repository.top
    try:
        if loss.removed in ("stashes", "branches"):
            return LostFiles(loss, commits=tuple(_iter_commits(loss, runner)))
        if not loss.discards_files:
            return LostFiles(loss)
        if directory is None:
            raise GitError("its directory is not known before it runs")
        place = real_path(root / directory)
        if find_repository(place) != runner.repository:
            raise GitError("it is about another repository")
        if loss.cleaned is not None:
            return LostFiles(loss, tuple(_iter_cleaned(loss, loss.cleaned, place, runner)))
        changes = read_changes(runner, loss.pathspecs, directory=place)
        return LostFiles(loss, tuple(each for each in changes if _is_lost(each, loss)))
    except GitError as error:
        return LostFiles(loss, problem=str(error))


def _is_lost(change: GitChange, loss: GitLoss) -> bool:
    if change.is_untracked or change.is_ignored:
        return False
    return change.is_unstaged or (loss.staged and change.is_uncommitted)


def _iter_cleaned(
    loss: GitLoss, options: Sequence[str], place: Path, runner: GitRunner
) -> Iterator[GitChange]:
    """Yield what `git clean` would delete."""
    output = runner.run("clean", "--dry-run", *options, "--", *loss.pathspecs, directory=place)
    prefix = os.path.relpath(place, runner.repository.top)
    for line in os.fsdecode(output).splitlines():
        if line.startswith(_WOULD_REMOVE):
            name = line.removeprefix(_WOULD_REMOVE)
            path = name if prefix == "." else os.path.normpath(f"{prefix}/{name}")
            yield GitChange(path + "/" * (name[-1:] == "/" and path[-1:] != "/"), "?", "?")


def _iter_commits(loss: GitLoss, runner: GitRunner) -> Iterator[str]:
    """Yield the ids of removed stashes and branches."""
    if loss.removed == "stashes" and not loss.names:
        if runner.succeeds("rev-parse", "--verify", "--quiet", "refs/stash"):
            yield from runner.run("rev-list", "-g", "refs/stash").decode().split()
        return
    for name in loss.names:
        ref = f"stash@{{{name}}}" if name.isdecimal() else name
        ref = f"refs/heads/{name}" if loss.removed == "branches" else ref
        arguments = ("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if runner.succeeds(*arguments):
            yield runner.run(*arguments).decode().strip()


def _describe(lost: LostFiles) -> Iterator[str]:
    loss = lost.loss
    verb = f"`{loss.command}`"
    if lost.problem:
        yield f"what {verb} discards is not known: {lost.problem}"
    if loss.cleaned is not None and lost.files:
        names = list_names([each.path for each in lost.files])
        yield f"{verb} deletes what git has no copy of: {names}"
    elif lost.files:
        texts = [f"{quote_name(each.path)} ({_describe_change(each)})" for each in lost.files]
        count = len(lost.files)
        yield (
            f"{verb} discards the uncommitted changes of {count:,} file{'s' * (count != 1)}:"
            f" {join_names(texts)}"
        )
    if loss.removed in _NO_COPY:
        yield f"{verb} {_NO_COPY[loss.removed]}"
    elif lost.commits:
        names = f": {list_names(loss.names)}" if loss.names else ""
        yield f"{verb} removes {len(lost.commits):,} {_count_noun(lost)}{names}"


def _describe_change(change: GitChange) -> str:
    return "new" if change.staged == "A" else "changed"


def _name_removed(lost: LostFiles) -> str:
    noun = f"the {_count_noun(lost)}"
    return noun if lost.loss.removed == "stashes" else f"{noun} {list_names(lost.loss.names)}"


def _count_noun(lost: LostFiles) -> str:
    is_one = len(lost.commits) == 1
    if lost.loss.removed == "stashes":
        return "stash" if is_one else "stashes"
    return "branch" if is_one else "branches"
