"""Losses by git commands.

An approval prompt shows it, and a safety copy is made before the command runs.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Removed: TypeAlias = Literal["", "branches", "history", "remote", "stashes", "worktree"]

_GLOBAL_VALUES = frozenset(
    {"-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--work-tree"}
)
_MIN_ABBREVIATION = 4
"""Characters of an abbreviated option that counts."""


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


class _Arguments:
    """The arguments of a git command, before and after `--`."""

    def __init__(self, words: Sequence[str], values: frozenset[str] = frozenset()) -> None:
        end = words.index("--") if "--" in words else len(words)
        self.after = tuple(words[end + 1 :])
        self.options: list[str] = []
        self.names: list[str] = []
        at = 0
        while at < end:
            word = words[at]
            if word.startswith("-") and word != "-":
                self.options.append(word)
                at += word in values
            else:
                self.names.append(word)
            at += 1

    def find(self, *options: str) -> str:
        """Return the first given option that is one of these; empty if none is."""
        return next((word for word in self.options if _is_option(word, options)), "")


def _is_option(word: str, options: Sequence[str]) -> bool:
    if not word.startswith("--"):
        return any(each[1] in word[1:] for each in options if len(each) == 2)
    name = word.partition("=")[0]
    return any(
        name == each or (each.startswith(name) and len(name) >= _MIN_ABBREVIATION)
        for each in options
        if each.startswith("--")
    )


def find_git_loss(words: Sequence[str]) -> GitLoss | None:
    """Return what a git command discards; None for every other command."""
    if not words or words[0].rpartition("/")[2] != "git":
        return None
    at, directory = 1, ""
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if option == "-C" and at + 1 < len(words) and directory is not None:
            directory = f"{directory}{words[at + 1]}/"
        elif option.startswith(("--git-dir", "--work-tree")):
            directory = None
        at += 2 if option in _GLOBAL_VALUES else 1
    if at >= len(words) or (find := _FINDERS.get(words[at])) is None:
        return None
    if (found := find(words[at + 1 :])) is None:
        return None
    return replace(
        found, command=f"git {words[at]}", mark=found.mark or words[at], directory=directory
    )


def _find_checkout(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words, frozenset({"-b", "-B", "--orphan"}))
    if force := arguments.find("-f", "--force"):
        return GitLoss(mark=force, unstaged=True, staged=True)
    if arguments.find("-b", "-B", "--orphan", "-p", "--patch"):
        return None
    if arguments.find("--pathspec-from-file"):
        return GitLoss(unstaged=True, staged=True)
    paths = arguments.after or tuple(arguments.names)
    has_tree = bool(arguments.after and arguments.names) or len(arguments.names) > 1
    return GitLoss(unstaged=True, staged=has_tree, pathspecs=paths) if paths else None


def _find_restore(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words, frozenset({"-s", "--source"}))
    is_staged = bool(arguments.find("-S", "--staged"))
    if arguments.find("-p", "--patch") or (is_staged and not arguments.find("-W", "--worktree")):
        return None
    if arguments.find("--pathspec-from-file"):
        return GitLoss(unstaged=True, staged=True)
    paths = (*arguments.names, *arguments.after)
    has_tree = is_staged or bool(arguments.find("-s", "--source"))
    return GitLoss(unstaged=True, staged=has_tree, pathspecs=paths) if paths else None


def _find_clean(words: Sequence[str]) -> GitLoss | None:
    patterns = [
        f"--exclude={value}"
        for word, value in itertools.pairwise(words)
        if word in ("-e", "--exclude")
    ]
    arguments = _Arguments(words, frozenset({"-e", "--exclude"}))
    if arguments.find("-n", "--dry-run", "-i", "--interactive"):
        return None
    passed = ("-d", "-x", "-X", "-f")
    options = [each for each in passed if arguments.find(each)]
    options += patterns
    options += [each for each in arguments.options if re.match(r"--exclude=|-e.", each)]
    if len([letter for word in arguments.options for letter in word if letter == "f"]) > 1:
        options.append("-f")  # with two of them, other repositories are deleted as well
    paths = (*arguments.names, *arguments.after)
    return GitLoss(cleaned=tuple(options), pathspecs=paths)


def _find_stash(words: Sequence[str]) -> GitLoss | None:
    if not words or words[0] not in ("drop", "clear"):
        return None
    names = tuple(word for word in words[1:] if not word.startswith("-"))
    names = names or (("stash@{0}",) if words[0] == "drop" else ())
    return GitLoss(mark=words[0], removed="stashes", names=names)


def _find_branch(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words)
    mark = arguments.find("-D")
    if not mark and arguments.find("-d", "--delete"):
        mark = arguments.find("-f", "--force")
    names = (*arguments.names, *arguments.after)
    return GitLoss(mark=mark, removed="branches", names=names) if mark else None


def _find_push(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words, frozenset({"-o", "--push-option", "--repo", "--receive-pack"}))
    if arguments.find("-n", "--dry-run"):
        return None
    forced = ("-f", "--force", "--force-with-lease", "--mirror", "-d", "--delete", "--prune")
    names = (*arguments.names, *arguments.after)
    mark = arguments.find(*forced) or next((each for each in names if each[0] in "+:"), "")
    return GitLoss(mark=mark, removed="remote") if mark else None


def _find_removed_files(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words)
    force = arguments.find("-f", "--force")
    if not force or arguments.find("--cached", "-n", "--dry-run"):
        return None
    paths = (*arguments.names, *arguments.after)
    return GitLoss(mark=force, unstaged=True, staged=True, pathspecs=paths)


def _find_read_tree(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words)
    mark = arguments.find("--reset") if arguments.find("-u") else ""
    return GitLoss(mark=mark, unstaged=True, staged=True) if mark else None


def _find_checkout_index(words: Sequence[str]) -> GitLoss | None:
    arguments = _Arguments(words)
    force = arguments.find("-f", "--force")
    paths = (*arguments.names, *arguments.after)
    return GitLoss(mark=force, unstaged=True, pathspecs=paths) if force else None


def _find_worktree(words: Sequence[str]) -> GitLoss | None:
    is_removing = bool(words) and words[0] == "remove"
    force = _Arguments(words).find("-f", "--force") if is_removing else ""
    return GitLoss(mark=force, removed="worktree") if force else None


def _find_reflog(words: Sequence[str]) -> GitLoss | None:
    is_removing = bool(words) and words[0] in ("expire", "delete")
    return GitLoss(mark=words[0], removed="history") if is_removing else None


def _marked_by(options: Sequence[str], loss: GitLoss) -> Callable[[Sequence[str]], GitLoss | None]:
    """Return a finder for a command that discards something with one of some options."""

    def find(words: Sequence[str]) -> GitLoss | None:
        mark = _Arguments(words).find(*options)
        return replace(loss, mark=mark) if mark else None

    return find


_CHANGES = GitLoss(unstaged=True, staged=True)
_HISTORY = GitLoss(removed="history")
_FINDERS: Mapping[str, Callable[[Sequence[str]], GitLoss | None]] = {
    **dict.fromkeys(
        ("am", "cherry-pick", "merge", "rebase", "revert"),
        _marked_by(("--abort", "--skip"), _CHANGES),
    ),
    **dict.fromkeys(("filter-branch", "filter-repo", "prune"), lambda _: _HISTORY),
    **dict.fromkeys(("tag", "update-ref"), _marked_by(("-d", "--delete"), _HISTORY)),
    "branch": _find_branch,
    "checkout": _find_checkout,
    "checkout-index": _find_checkout_index,
    "clean": _find_clean,
    "gc": _marked_by(("--prune",), _HISTORY),
    "push": _find_push,
    "read-tree": _find_read_tree,
    "reflog": _find_reflog,
    "reset": _marked_by(("--hard", "--merge"), _CHANGES),
    "restore": _find_restore,
    "rm": _find_removed_files,
    "stash": _find_stash,
    "switch": _marked_by(("-f", "--force", "--discard-changes"), _CHANGES),
    "worktree": _find_worktree,
}
