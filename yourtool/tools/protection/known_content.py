"""Known content of protected places."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from yourtool.git.repositories import Repository
from yourtool.tools.protection.entries import Entry, Tree
from yourtool.tools.protection.origins import Leaf, Origins
from yourtool.tools.protection.places import find_local_remotes
from yourtool.tools.protection.refs import RefReader

_MAX_VERSIONS = 50
"""Remembered versions of one file."""


class KnownContent:
    """What places had before commands of this session, and what existing commits have."""

    def __init__(self, writable: Sequence[Path]) -> None:
        """`writable`: where commands write besides the workspace."""
        self._writable = writable
        self._versions: dict[str, dict[bytes, None]] = {}
        self._latest: dict[str, Entry] = {}
        self._repository: Repository | None = None
        self._refs: RefReader | None = None
        self._remotes: dict[Repository, RefReader] = {}
        self._commits: set[str] = set()
        self._own: set[str] = set()
        """Commits that refs named for the first time after a command."""

    def note_before(self, tree: Tree, repository: Repository | None) -> None:
        """Note what exists before a command, while no other runs."""
        self.remember(tree)
        if repository != self._repository:
            self._repository = repository
            self._refs = None if repository is None else RefReader(repository)
        if repository is not None and self._refs is not None:
            self._remotes = {
                each: self._remotes.get(each) or RefReader(each)
                for each in find_local_remotes(repository, self._writable)
            }
            self._commits |= (self._read_refs() | self._refs.read_new_logs()) - self._own

    def note_after(self) -> None:
        """Note the commits that a command made."""
        if self._refs is not None:
            self._own |= (self._read_refs() | self._refs.read_new_logs()) - self._commits

    def _read_refs(self) -> frozenset[str]:
        readers = (self._refs, *self._remotes.values())
        return frozenset(commit for each in readers if each is not None for commit in each.read())

    def remember(self, tree: Tree) -> None:
        """Remember what files have: it is right if a command restores it."""
        for path, entry in tree.items():
            if not entry.is_directory and self._latest.get(path) is not entry:
                self._latest[path] = entry
                if entry.content is not None:
                    versions = self._versions.setdefault(path, {})
                    versions[_digest(entry)] = None
                    if len(versions) > _MAX_VERSIONS:
                        del versions[next(iter(versions))]

    def is_earlier(self, path: str, entry: Entry) -> bool:
        """Whether a place had this content before a command."""
        return entry.content is not None and _digest(entry) in self._versions.get(path, ())

    def find_committed(self, leaves: Iterable[Leaf]) -> frozenset[str]:
        """Return the paths whose content, or whose absence, comes from existing commits."""
        if self._repository is None or self._refs is None:
            return frozenset()
        origins = Origins(
            self._repository, self._commits, self._refs.read_head(), self._refs.read()
        )
        return origins.find_right(leaves)


def _digest(entry: Entry) -> bytes:
    content = hashlib.sha256(entry.content or b"").digest()
    return content + f"{entry.kind} {entry.mode}".encode()
