"""Removal of the wrong changes of a command."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from yourtool.git.config import parse_addresses
from yourtool.permissions.protected_places import folded_name
from yourtool.tools.protection.changes import Change, Outcome
from yourtool.tools.protection.comparison import Difference, find_differences, split
from yourtool.tools.protection.entries import Entry, Tree, find_above, is_known, with_places
from yourtool.tools.protection.judging import GitPlace, Judgement, judge_git_file
from yourtool.tools.protection.known_content import KnownContent
from yourtool.tools.protection.origins import Leaf
from yourtool.tools.protection.places import BARE_FILES
from yourtool.tools.protection.reading import open_parent
from yourtool.tools.protection.states import State, StateReader, iter_between
from yourtool.tools.protection.writing import (
    Taken,
    UnknownContentError,
    find_sibling,
    put,
    remove_empty,
    set_mode,
    take,
)

_ATTEMPTS = 3
"""How often a place that changes again is taken back."""
_MAX_CONFIGURATIONS = 500
"""Changed ones that git reads, some milliseconds each, before the command's result is sent."""
_TOO_MANY = Judgement("git configuration", "the command changed too many of them to compare each")
_NOT_COMMITTED = "its content is not from an existing commit"
_DELETED = "it was deleted, but not by a commit"
_UNKNOWN = "its earlier content is unknown, because it was too large"


class Settling:
    """One comparison with the state before a command."""

    def __init__(
        self,
        workspace: Path,
        reader: StateReader,
        known: KnownContent,
        before: State,
        addresses: Collection[str],
        *,
        is_running: bool = False,
    ) -> None:
        """`is_running`: only directories of git are compared."""
        self._workspace = workspace
        self._reader = reader
        self._known = known
        self._before = before
        self._addresses = addresses
        repository = before.repository
        self._tops = {workspace, workspace if repository is None else repository.top}
        self._of_tops = {f"{top}/.git" for top in self._tops}
        self._is_running = is_running
        self._after: State | None = None
        self._right = dict[str, None]()
        """Absolute paths."""
        self._configurations = set[str]()
        """Those that were compared."""
        self._merged = set[str]()
        """Configurations of git of which a part stays."""
        self._changes = dict[str, Change]()
        self._facts = dict[str, None]()
        self._remade = set[str]()
        """Directories that were deleted and made again, so that they count as new."""

    def settle(self) -> Outcome:
        """Take back what is wrong, first in directories of git, because git is then started."""
        self._restore_workspace()
        self._restore_rights()
        self.settle_git()
        for _ in range(_ATTEMPTS):
            after = self._read()
            self._report_incomplete(after)
            if not self._settle_files(after):
                break
        return self.build_outcome()

    def settle_git(self) -> None:
        """Take back what is wrong in directories of git."""
        for _ in range(_ATTEMPTS):
            after = self._read()
            if self._restore_replaced(after):
                after = self._read()
            if not self._settle_git(after):
                return

    def build_outcome(self) -> Outcome:
        right = tuple(self._name(path) for path in self._right)
        return Outcome(right, tuple(self._changes.values()), tuple(self._facts))

    def build_state(self) -> State:
        """Return the state before the command with its right changes."""
        after = self._read()
        settled = (*self._right, *self._merged)
        return replace(after, tree=with_places(self._before.tree, after.tree, settled))

    def _read(self) -> State:
        """Return the present state, which is read again after something was written."""
        if self._after is None:
            read = self._reader.read_git if self._is_running else self._reader.read_again
            self._after = read(self._before)
        return self._after

    # ── directories ─────────────────────────────────────────────────────────────────────────────

    def _restore_workspace(self) -> None:
        """Put directories above the workspace back that were renamed and replaced."""
        if (repository := self._before.repository) is not None:
            for each in iter_between(repository.top, self._workspace):
                old, new = self._get_replaced(str(each))
                if old is not None and new is not None:
                    self._restore_directory(str(each), old, new)
        path = str(self._workspace)
        if all(self._get_replaced(path)):
            self._facts[f"`{path}` was replaced, and what was in it is not compared"] = None

    def _get_replaced(self, path: str) -> tuple[Entry | None, Entry | None]:
        """Return what was at the place of another entry, and this; None: nothing was replaced."""
        old, new = self._before.tree.get(path), self._read().tree.get(path)
        is_same = old is None or new is None or old.identity == new.identity
        return (None, None) if is_same else (old, new)

    def _restore_rights(self) -> None:
        """Restore the rights of directories, without which their entries cannot be read."""
        after = self._read()
        for path, old in self._before.tree.items():
            new = after.tree.get(path)
            if new is None or not old.is_directory or old.identity != new.identity:
                continue
            is_top = Path(path) in self._tops
            if not old.has_same_rights(new) and not (is_top and new.mode & 0o500 == 0o500):
                self._after = None
                with suppress(OSError):
                    set_mode(path, old.mode)
                    self._facts[f"the rights of `{self._name(path)}` were restored"] = None

    def _restore_replaced(self, after: State) -> bool:
        """Put directories of git back that were renamed and replaced; return whether one was."""
        is_restored = False
        for path in sorted(self._before.git_directories):
            old, new = self._before.tree.get(path), after.tree.get(path)
            if old is None or path in self._remade:
                continue
            if new is None:
                if path in self._of_tops:
                    self._facts[f"`{self._name(path)}` was deleted or renamed"] = None
            elif old.is_directory and new.identity != old.identity:
                is_restored |= self._restore_directory(path, old, new)
        return is_restored

    def _restore_directory(self, path: str, old: Entry, new: Entry) -> bool:
        original = find_sibling(path, old)
        if original is None and new.is_directory:
            self._remade.add(path)
            self._facts[f"`{self._name(path)}` was deleted and made again"] = None
            return False
        self._after = None
        topic, reason = "repository", "something else was put in the place of this directory"
        try:
            with open_parent(path) as (parent, name):
                taken = take(parent, name)
                if original is not None:
                    os.rename(original, name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError as error:
            reason += f", and it could not be taken back: {error.strerror}"
            place = {"": new}
            self._add(
                Change(self._name(path), topic, reason, path, place, place, is_taken_back=False)
            )
            return False
        if original is None:
            reason += ", and the original is gone, so only the replacement was removed"
        self._add(
            Change(
                self._name(path),
                topic,
                reason,
                path,
                {} if original is None else {"": old},
                taken.tree,
                held=taken.held,
                original=original or "",
                is_taken_back=original is not None,
            )
        )
        return True

    # ── git ─────────────────────────────────────────────────────────────────────────────────────

    def _settle_git(self, after: State) -> bool:
        """Take back what is wrong in directories of git; return whether something was."""
        is_wrong = False
        for difference in self._find(after):
            path = difference.path
            directory = after.find_git_directory(path)
            if directory is None and path not in after.git_directories:
                continue
            judgement = self._judge_git(difference, directory, after)
            if judgement is None:
                self._right[path] = None
            else:
                is_wrong |= self._take_back(difference, judgement, after)
        return is_wrong

    def _judge_git(
        self, difference: Difference, directory: str | None, after: State
    ) -> Judgement | None:
        entry = difference.after.get("")
        if entry is not None and self._known.is_earlier(difference.path, entry):
            return None
        if self._is_running and difference.only_removes:
            return None  # it runs nothing, and putting it back would hinder what removes the rest
        if directory is None:
            return judge_git_file(difference.path, difference.after, after.git_directories)
        repository = self._before.repository
        place = GitPlace(
            directory=directory,
            inner=difference.path.removeprefix(f"{directory}/"),
            is_new=directory not in self._before.tree or directory in self._remade,
            top=self._workspace if repository is None else repository.top,
        )
        if place.is_configuration:
            is_full = len(self._configurations) >= _MAX_CONFIGURATIONS
            if is_full and difference.path not in self._configurations:
                return _TOO_MANY
            self._configurations.add(difference.path)
        modules = self._find_modules(place.top)
        return place.judge(difference, self._addresses, modules, is_running=self._is_running)

    def _find_modules(self, top: Path) -> list[str]:
        """Return the addresses of submodules before the command."""
        entry = self._before.tree.get(f"{top}/.gitmodules")
        content = b"" if entry is None else entry.content or b""
        found = parse_addresses(content.decode("utf-8", "replace"), "submodule")
        return [address for _, address in found]

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def _settle_files(self, after: State) -> bool:
        """Take back what is wrong elsewhere; return whether something was."""
        differences = [
            each
            for each in self._find(after)
            if after.find_git_directory(each.path) is None
            and each.path not in after.git_directories
            and (self._before.is_bare or not self._is_harmless_bare(each.path, after))
        ]
        right = self._find_right(differences)
        is_wrong = False
        for difference in differences:
            parts = list(split(difference))
            if parts and all(each.path in right for each in parts):
                self._right[difference.path] = None
                continue
            wrong, is_splittable = [difference], not (difference.before and difference.after)
            if is_splittable and any(each.path in right for each in parts):
                self._right |= {each.path: None for each in parts if each.path in right}
                wrong = [each for each in parts if each.path not in right]
            for each in wrong:
                reason = _NOT_COMMITTED if each.after else _DELETED
                is_wrong |= self._take_back(each, Judgement("protected file", reason), after)
        return is_wrong

    def _find_right(self, differences: list[Difference]) -> frozenset[str]:
        """Return the paths whose content is from a commit, or was there before."""
        leaves = [part for each in differences for part in split(each)]
        right = {
            each.path
            for each in leaves
            if (entry := each.after.get("")) and self._known.is_earlier(each.path, entry)
        }
        if (repository := self._before.repository) is None:
            return frozenset(right)
        inner = {
            f"{repository.top}/{path}": path
            for each in leaves
            if each.path not in right
            and Path(each.path).is_relative_to(repository.top)
            and (path := os.path.relpath(each.path, repository.top))
        }
        found = self._known.find_committed(
            Leaf(inner[each.path], each.before.get(""), each.after.get(""))
            for each in leaves
            if each.path in inner
        )
        return frozenset(right | {path for path, name in inner.items() if name in found})

    def _is_harmless_bare(self, path: str, after: State) -> bool:
        """Whether a file would make the workspace a directory of git only with others."""
        return folded_name(path.rpartition("/")[2]) in BARE_FILES and not after.is_bare

    # ── both ────────────────────────────────────────────────────────────────────────────────────

    def _find(self, after: State) -> Iterator[Difference]:
        whole = self._before.git_directories | (after.roots.keys() & {*map(str, self._tops)})
        gone = {path for path in whole if path in self._before.tree and path not in after.tree}
        before = self._before.tree
        if self._remade:
            before = {
                path: entry
                for path, entry in before.items()
                if path not in self._remade and not _is_in(path, self._remade)
            }
        for difference in find_differences(after.roots, before, after.tree):
            if Path(difference.path) in self._tops:
                name = self._name(difference.path)
                self._facts[f"`{name}` was deleted or replaced, so nothing in it is compared"] = (
                    None
                )
            elif not _is_in(f"{difference.path}/", gone) and not self._is_refused(difference):
                yield difference

    def _is_refused(self, difference: Difference) -> bool:
        """Whether a change could not be taken back before."""
        change = self._changes.get(difference.path)
        return change is not None and not change.is_taken_back

    def _take_back(self, difference: Difference, judgement: Judgement, after: State) -> bool:
        """Take a change back; return whether that was possible."""
        path, target = difference.path, difference.before
        if judgement.merged is not None:
            target = _build_configuration(difference, judgement.merged.content)
            self._merged.add(path)
        change = Change(
            path=self._name(path),
            topic=judgement.topic,
            reason=judgement.reason,
            place=path,
            before=target,
            after=difference.after,
            created=find_above(path, after.tree, self._before.tree),
            deleted=find_above(path, self._before.tree, after.tree),
        )
        self._after = None
        try:
            if not is_known(target):
                raise UnknownContentError(_UNKNOWN)
            taken, original = self._put(difference, target)
            remove_empty(change.created)
            if taken.tree:
                change = replace(change, after=taken.tree, held=taken.held, original=original)
        except OSError as error:
            reason = f"{judgement.reason}; it could not be taken back: {error.strerror or error}"
            change = replace(change, reason=reason, before=difference.after, is_taken_back=False)
        self._add(change)
        return change.is_taken_back

    def _put(self, difference: Difference, target: Tree) -> tuple[Taken, str]:
        """Put the earlier state back; return also the name of a directory that was renamed."""
        old = target.get("")
        if old is not None and old.is_filtered and (name := find_sibling(difference.path, old)):
            with open_parent(difference.path) as (parent, last):
                taken = take(parent, last)
                os.rename(name, last, src_dir_fd=parent, dst_dir_fd=parent)
            return taken, name
        holds = not is_known(difference.after)
        return put(difference.path, target, self._before.tree, holds=holds), ""

    def _report_incomplete(self, after: State) -> None:
        for path in (path for path, entry in after.tree.items() if not entry.is_complete):
            text = f"`{self._name(path)}` has too many entries to be compared, or is unreadable"
            self._facts[text] = None

    def _add(self, change: Change) -> None:
        known = self._changes.get(change.place)
        if known is None or not change.is_taken_back:
            self._changes[change.place] = change

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self._workspace}/")


def _build_configuration(difference: Difference, content: bytes | None) -> Tree:
    entry = difference.before.get("") or difference.after.get("")
    return {} if content is None or entry is None else {"": replace(entry, content=content)}


def _is_in(path: str, directories: Collection[str]) -> bool:
    """Whether a path is below one of some directories."""
    return any(path.startswith(f"{each}/") for each in directories)
