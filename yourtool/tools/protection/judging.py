"""Judgements of changes in directories of git."""

import os
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import may_exist
from yourtool.git.repositories import parse_git_file
from yourtool.tools.protection.comparison import Difference
from yourtool.tools.protection.entries import Entry, Tree
from yourtool.tools.protection.git_settings import Merged, Origin, merge_settings

_CONFIGURATIONS = ("config", "config.worktree")
_STRATEGIES = ("strategy", "opts")
"""Files of a rebase or cherry-pick: git runs `git-merge-` with the name in them."""
_WRITABLE_BY_OTHERS = 0o022
_COMMON = b"../.."
"""The `commondir` of a linked work tree."""


class Judgement(Struct, frozen=True):
    """What is wrong about a difference."""

    topic: str
    reason: str
    merged: Merged | None = None
    """Of a configuration: what it becomes."""


class GitPlace(Struct, frozen=True):
    """A difference in a directory of git."""

    directory: str
    """The directory of git."""
    inner: str
    """The path in it."""
    is_new: bool
    """Whether the directory did not exist before."""
    top: Path
    """The work tree."""

    @property
    def is_configuration(self) -> bool:
        """Whether it is a file of settings."""
        return self.inner.rpartition("/")[2] in _CONFIGURATIONS

    def judge(
        self,
        difference: Difference,
        addresses: Collection[str],
        modules: Collection[str],
        *,
        is_running: bool,
    ) -> Judgement | None:
        """Return what is wrong; None: it is right as it is.

        `addresses`: what the user approved, `modules`: what `.gitmodules` names. `is_running`: git
        can be writing a file just now.
        """
        before, after = difference.before.get(""), difference.after.get("")
        name = self.inner.rpartition("/")[2]
        if self.is_configuration and _is_file(before) and _is_file(after):
            return self._judge_settings(difference, addresses, modules)
        text = _get_text(after)
        if name == "git-rebase-todo" and text is not None:
            if is_running and before is None:
                return None  # the rebase of the command, which still takes its steps from it
            return _judge_steps(_get_text(before) or b"", text)
        if name in _STRATEGIES and text is not None and b"/" not in text:
            return None
        is_worktree = name == "commondir" and self.inner.startswith("worktrees/")
        if is_worktree and (after is None or (after.content or b"").strip() == _COMMON):
            return None
        if is_worktree and is_running and after is not None and after.content == b"":
            return None  # git creates it before it writes it
        topic = "git hooks" if "hooks" in self.inner.split("/") else "git configuration"
        what = "was deleted" if after is None else "is new" if before is None else "was changed"
        return Judgement(topic, f"`{self.inner}`, with which git runs programs, {what}")

    def _judge_settings(
        self, difference: Difference, addresses: Collection[str], modules: Collection[str]
    ) -> Judgement | None:
        before, after = difference.before.get(""), difference.after.get("")
        is_module = self.inner.startswith("modules/")
        directory = Path(self.directory, self.inner).parent
        if after is None and self.inner.endswith("config"):
            if is_module and not may_exist(directory):
                return None  # the submodule is gone
            return Judgement("git configuration", "it was deleted")
        origin = Origin(
            is_new=self.is_new or (is_module and before is None),
            module=directory if is_module else None,
            top=self.top,
            addresses=frozenset(addresses),
            modules=tuple(modules),
        )
        for entry in (before, after):
            if entry is not None and entry.content is None:
                return Judgement("git configuration", "it is too large to be compared")
        merged = merge_settings(_get_content(before), _get_content(after), origin)
        if before and after and after.mode & ~before.mode & _WRITABLE_BY_OTHERS:
            return Judgement("git configuration", "other users can write it", merged)
        if not merged.refused:
            return None
        names = ", ".join(f"`{key}`" for key in merged.refused)
        reason = f"{names} can run programs or redirect what git sends"
        return Judgement("git configuration", reason, merged)


def judge_git_file(path: str, after: Tree, directories: Collection[str]) -> Judgement | None:
    """Return what is wrong about a new or changed entry `.git` that is no directory.

    `directories`: the directories of git of the repositories, with those of their submodules.
    """
    entry = after.get("")
    if entry is not None and entry.kind == "file" and entry.content is not None:
        name = parse_git_file(entry.content)
        if name is not None:
            target = os.path.realpath(os.path.join(os.path.dirname(path), name))  # noqa: PTH118, PTH120
            inner = (f"{each}/{part}/" for each in directories for part in ("modules", "worktrees"))
            if any(target.startswith(each) for each in inner):
                return None
    return Judgement("repository", "it names the directory in which git finds its configuration")


def _judge_steps(before: bytes, after: bytes) -> Judgement | None:
    """Return what is wrong about the next steps of a rebase, which can be command lines."""
    lines, known = after.splitlines(keepends=True), set(before.splitlines())
    kept = [
        line
        for line in lines
        if line.split()[:1] not in ([b"exec"], [b"x"]) or line.rstrip(b"\r\n") in known
    ]
    if kept == lines:
        return None
    merged = Merged(b"".join(kept), ("exec",))
    return Judgement("git hooks", "the next steps of the rebase run commands", merged)


def _is_file(entry: Entry | None) -> bool:
    return entry is None or entry.kind == "file"


def _get_text(entry: Entry | None) -> bytes | None:
    """Return the content of a file, empty if it is missing; None: it is not known."""
    return b"" if entry is None else entry.content if entry.kind == "file" else None


def _get_content(entry: Entry | None) -> bytes | None:
    return None if entry is None else entry.content
