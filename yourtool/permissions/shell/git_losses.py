"""Losses by git commands.

An approval prompt shows it, and a safety copy is made before the command runs.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.shell.programs.git_commands import GitCommand, read_git
from yourtool.permissions.shell.programs.table import Removed


class GitLoss(Struct, frozen=True, kw_only=True):
    """What one git command discards."""

    command: str = "git"
    """The first two words."""
    mark: str = ""
    """The word because of which it discards something."""
    unstaged: bool = False
    """Whether files of the work tree are replaced."""
    staged: bool = False
    """Whether what is staged is replaced, too."""
    cleaned: tuple[str, ...] | None = None
    """Options of `git clean`, if untracked files are deleted."""
    removed: Removed = ""
    """What else is removed."""
    names: tuple[str, ...] = ()
    """The branches or stashes that are removed."""
    pathspecs: tuple[str, ...] = ()
    """The files, relative to the directory; empty: all."""
    directory: str | None = ""
    """The directory of `git -C`; None: not known, or another repository."""

    @property
    def discards_files(self) -> bool:
        return self.unstaged or self.staged or self.cleaned is not None


def find_git_loss(words: Sequence[str]) -> GitLoss | None:
    """Return what a git command discards; None for every other command."""
    if not words or words[0].rpartition("/")[2] != "git":
        return None
    given = read_git(words[1:])
    if (found := _find(given)) is None:
        return None
    return replace(
        found,
        command=f"git {given.verb}",
        mark=found.mark or given.verb,
        directory=_get_directory(given),
    )


def _get_directory(given: GitCommand) -> str | None:
    if any(option.startswith(("--git-dir", "--work-tree")) for option, _ in given.settings):
        return None
    return "".join(f"{value}/" for option, value in given.settings if option == "-C" and value)


def _find(given: GitCommand) -> GitLoss | None:
    loses, find = given.inner.loses, _FINDERS.get(given.verb, lambda _: None)
    if loses is None:
        return find(given)
    if loses.unless and given.find(*loses.unless):
        return None
    is_inner = given.inner is not given.row
    mark = given.find(*loses.marks) if loses.marks else given.names[0] if is_inner else given.verb
    if not mark:
        return find(given)
    names = given.names[is_inner:]
    if loses.removed == "stashes" and mark == "drop":
        names = names or ("stash@{0}",)
    return GitLoss(
        mark=mark,
        unstaged=bool(loses.files),
        staged=loses.files == "staged",
        removed=loses.removed,
        names=(*names, *given.after) if loses.removed in ("branches", "stashes") else (),
        pathspecs=(*names, *given.after) if loses.paths else (),
    )


def _find_checkout(given: GitCommand) -> GitLoss | None:
    if given.find("-b", "-B", "--orphan", "-p", "--patch"):
        return None
    if given.find("--pathspec-from-file"):
        return GitLoss(unstaged=True, staged=True)
    paths = given.after or given.names
    has_tree = bool(given.after and given.names) or len(given.names) > 1
    return GitLoss(unstaged=True, staged=has_tree, pathspecs=paths) if paths else None


def _find_restore(given: GitCommand) -> GitLoss | None:
    is_staged = bool(given.find("-S", "--staged"))
    if given.find("-p", "--patch") or (is_staged and not given.find("-W", "--worktree")):
        return None
    if given.find("--pathspec-from-file"):
        return GitLoss(unstaged=True, staged=True)
    paths = (*given.names, *given.after)
    has_tree = is_staged or bool(given.find("-s", "--source"))
    return GitLoss(unstaged=True, staged=has_tree, pathspecs=paths) if paths else None


def _find_clean(given: GitCommand) -> GitLoss | None:
    if given.find("-n", "--dry-run", "-i", "--interactive"):
        return None
    options = [each for each in ("-d", "-x", "-X", "-f") if given.find(each)]
    pairs = itertools.pairwise(given.words)
    options += [f"--exclude={value}" for word, value in pairs if word in ("-e", "--exclude")]
    options += [each for each in given.options if re.match(r"--exclude=|-e.", each)]
    if "".join(given.options).count("f") > 1:
        options.append("-f")  # with two of them, other repositories are deleted as well
    return GitLoss(cleaned=tuple(options), pathspecs=(*given.names, *given.after))


def _find_branch(given: GitCommand) -> GitLoss | None:
    mark = given.find("-f", "--force") if given.find("-d", "--delete") else ""
    names = (*given.names, *given.after)
    return GitLoss(mark=mark, removed="branches", names=names) if mark else None


def _find_push(given: GitCommand) -> GitLoss | None:
    names = (*given.names, *given.after)
    mark = next((each for each in names if each[:1] in ("+", ":")), "")
    return GitLoss(mark=mark, removed="remote") if mark else None


def _find_read_tree(given: GitCommand) -> GitLoss | None:
    mark = given.find("--reset") if given.find("-u") else ""
    return GitLoss(mark=mark, unstaged=True, staged=True) if mark else None


_FINDERS: Mapping[str, Callable[[GitCommand], GitLoss | None]] = {
    "branch": _find_branch,
    "checkout": _find_checkout,
    "clean": _find_clean,
    "push": _find_push,
    "read-tree": _find_read_tree,
    "restore": _find_restore,
}
"""Of commands that lose something not because of one option; other rows are in the table."""
