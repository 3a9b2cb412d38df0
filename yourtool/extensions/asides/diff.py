"""Changes that are reviewed.

Everything here blocks. Files that can have credentials, binary files and what is too long are left
out, and named.
"""

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from yourtool.errors import ToolError, UsageError
from yourtool.foundation.masking import Mask
from yourtool.git.repositories import find_repository
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.workspace.workspace import Workspace

_SECONDS = 20.0
_BRANCHES = ("@{upstream}", "main", "master", "origin/main", "origin/master")
"""Bases of a branch if nothing is uncommitted: the first that it is ahead of."""
_START = "diff --git "
_MAX_FILE_CHARACTERS = 60_000
_MAX_UNTRACKED_BYTES = 1_000_000
_MAX_NAMED = 30
"""Omitted files that are named; the others are counted."""


class Diff(Struct, frozen=True):
    """The changes of files since a commit."""

    base: str
    """A description of the commit."""
    text: str
    files: tuple[str, ...]
    """The changed files in the text, relative to the workspace."""
    omitted: tuple[str, ...] = ()
    """The other changed files, each with the reason, and those that are cut."""


def read_diff(workspace: Workspace, base: str, most: int, mask: Mask) -> Diff:
    """Return the changes of the workspace since a commit, with keys masked.

    `base`: a commit or a branch, of which the last common commit counts. If it is empty, the last
    commit counts if anything is uncommitted, else that at which the branch left another one.
    `most`: characters of the text.

    Raises:
        UsageError: there is no repository, no such commit, or no change.
    """
    if (repository := find_repository(workspace.root)) is None:
        raise UsageError("This folder is in no git repository, so there is nothing to review.")
    reader = _Reader(workspace, GitRunner(repository, _SECONDS), most)
    try:
        name, commit = reader.find_base(base)
        changes = dict(reader.iter_changes(commit))
    except GitError as error:
        raise UsageError(f"git cannot show what changed: {error}") from error
    if not changes:
        raise UsageError(f"There is nothing to review: nothing differs from {name}.")
    return _shorten(name, changes, reader.omitted, most, mask.text)


class _Reader:
    """Reads one repository."""

    def __init__(self, workspace: Workspace, runner: GitRunner, room: int) -> None:
        """`room`: characters after which no new file is read."""
        self.omitted: list[str] = []
        self._workspace, self._runner, self._room = workspace, runner, room

    def find_base(self, base: str) -> tuple[str, str]:
        """Return the words for the commit to compare with, and its id or the id of a tree."""
        if base:
            if not (commit := self._find_commit(base)):
                raise UsageError(f"`{base}` names no commit and no branch of this repository.")
            return f"`{base}`", self._find_common(commit) or commit
        if not (head := self._find_commit("HEAD")):
            return "an empty folder", self._git("hash-object", "-t", "tree", "--stdin")
        if self._list_changed(head) or self._list_untracked():
            return "the last commit", head
        for name in _BRANCHES:
            commit = self._find_commit(name)
            if commit and (common := self._find_common(commit)) and common != head:
                return f"`{name}`", common
        return "the last commit", head

    def iter_changes(self, commit: str) -> Iterator[tuple[str, str]]:
        """Yield each changed file with its changes."""
        names = self._list_changed(commit)
        for name, text in zip(names, self._split_diff(commit), strict=False):
            if self._may_be_sent(name):
                yield name, text
        for name in self._list_untracked():
            if self._may_be_sent(name) and (content := self._read_new(name)) is not None:
                lines = content.splitlines()
                added = "\n".join(f"+{line}" for line in lines)
                head = f"{_START}a/{name} b/{name}\nnew file\n@@ -0,0 +1,{len(lines)} @@\n"
                yield name, f"{head}{added}\n"

    def _git(self, *arguments: str) -> str:
        printed = self._runner.run(*arguments, directory=self._workspace.root)
        return printed.decode("utf-8", "replace").strip()

    def _list_names(self, *arguments: str) -> Sequence[str]:
        printed = self._runner.run(*arguments, directory=self._workspace.root)
        return [os.fsdecode(each) for each in printed.split(b"\0") if each]

    def _find_commit(self, name: str) -> str:
        revision = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        try:
            return self._git(*revision).splitlines()[-1]
        except (GitError, IndexError):
            return ""

    def _find_common(self, commit: str) -> str:
        """Return the last commit that the branch has in common with another one."""
        try:
            return self._git("merge-base", commit, "HEAD")
        except GitError:
            return ""

    def _list_changed(self, commit: str) -> Sequence[str]:
        return self._list_names("diff", "--name-only", "-z", "--relative", commit, "--", ".")

    def _list_untracked(self) -> Sequence[str]:
        return self._list_names("ls-files", "-z", "--others", "--exclude-standard", "--", ".")

    def _split_diff(self, commit: str) -> Sequence[str]:
        """Return the changes of each file; a line of a file has a character in front of it."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--relative")
        printed = self._runner.run("diff", *options, commit, "--", ".",
                                   directory=self._workspace.root)  # fmt: skip
        parts = f"\n{printed.decode('utf-8', 'replace')}".split(f"\n{_START}")[1:]
        return [f"{_START}{each}\n" for each in parts]

    def _may_be_sent(self, name: str) -> bool:
        """True if a file is one that a model can read without a question; else note it."""
        try:
            reason = "credentials" if self._workspace.is_credential_file(name) else ""
        except ToolError:
            reason = "not readable"
        if reason:
            self.omitted.append(f"{name} ({reason})")
        return not reason

    def _read_new(self, name: str) -> str | None:
        """Return the text of an untracked file; None if it is omitted."""
        if self._room <= 0:
            self.omitted.append(f"{name} (no room)")
            return None
        try:
            data = self._workspace.read(name, limit=_MAX_UNTRACKED_BYTES)
        except ToolError:
            self.omitted.append(f"{name} (too long or not readable)")
            return None
        if b"\0" in data:
            self.omitted.append(f"{name} (binary)")
            return None
        self._room -= len(data)
        return data.decode("utf-8", "replace")


def _shorten(
    base: str,
    changes: dict[str, str],
    omitted: Sequence[str],
    most: int,
    hide_keys: Callable[[str], str],
) -> Diff:
    """Return the changes that have room, in their order; a long one is cut."""
    texts, left_out = dict[str, str](), list(omitted)
    room = most
    for name, whole in changes.items():
        text = whole
        if len(text) > (limit := min(_MAX_FILE_CHARACTERS, most)):
            text = text[: text.rfind("\n", 0, limit) + 1] + "[The rest is left out.]\n"
            left_out.append(f"{name} (only the first {limit:,} of {len(whole):,} characters)")
        if len(text) > room:
            left_out = [each for each in left_out if not each.startswith(f"{name} (only")]
            left_out.append(f"{name} (no room)")
            continue
        texts[name] = text
        room -= len(text)
    named, rest = left_out[:_MAX_NAMED], len(left_out) - _MAX_NAMED
    named += [f"{rest:,} more"] if rest > 0 else []
    return Diff(base, hide_keys("".join(texts.values())), tuple(texts), tuple(named))
