"""Protected entries at one moment."""

import stat
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.own_directories import Identity

_DIRECTORY_BITS = 0o7722
"""Special bits, the rights of the owner, and the right of others to write."""


class Entry(Struct, frozen=True):
    """A file, directory or link; links are not followed."""

    kind: str
    """As `path_resolution.file_kind` names it."""
    mode: int
    """Permission bits."""
    identity: Identity
    stamp: tuple[int, int, int]
    """Size, and the times of the last change of content and of attributes in nanoseconds."""
    owner: tuple[int, int] = (0, 0)
    """User and group."""
    content: bytes | None = None
    """The bytes of a file or the target of a link; None: unreadable, or above a limit."""
    names: tuple[str, ...] = ()
    """The compared entries of a directory."""
    is_filtered: bool = False
    """Whether a directory has entries that are not compared."""
    is_complete: bool = True
    """Whether all entries that are compared could be read."""

    @property
    def is_directory(self) -> bool:
        return self.kind == "directory"

    def is_same(self, other: "Entry") -> bool:
        """Whether both have the same kind, mode and content; entries of directories are ignored."""
        if self.kind != other.kind:
            return False
        match self.kind:
            case "directory":
                return self.is_filtered or other.is_complete or not self.is_complete
            case "link":
                return self.content == other.content
            case "file":
                return self.mode == other.mode and self._has_same_content(other)
            case _:
                return self.mode == other.mode and self.identity == other.identity

    def _has_same_content(self, other: "Entry") -> bool:
        if self.content is None or other.content is None:
            return (self.identity, self.stamp) == (other.identity, other.stamp)
        return self.content == other.content

    def has_same_rights(self, other: "Entry") -> bool:
        """Whether two states of a directory let the same users read and write."""
        return not (self.mode ^ other.mode) & _DIRECTORY_BITS


Tree: TypeAlias = Mapping[str, Entry]
"""Entries by path: absolute, or relative to the place that they are about, whose path is empty."""


def join(directory: str, name: str) -> str:
    """Return the path of an entry of a directory."""
    return f"{directory.rstrip('/')}/{name}" if directory else name


def cut(tree: Tree, path: str) -> dict[str, Entry]:
    """Return a place and all that is below it, with paths relative to it."""
    found = dict[str, Entry]()
    waiting = [(path, "")]
    while waiting:
        full, relative = waiting.pop()
        if (entry := tree.get(full)) is not None:
            found[relative] = entry
            waiting += ((join(full, name), join(relative, name)) for name in entry.names)
    return found


def with_places(tree: Tree, source: Tree, paths: Iterable[str]) -> Tree:
    """Return a tree in which some places, with absolute paths, are as in another one."""
    made = dict(tree)
    for path in paths:
        for inner in cut(made, path):
            del made[join(path, inner) if inner else path]
        for inner, entry in cut(source, path).items():
            made[join(path, inner) if inner else path] = entry
        _update_names(made, source, path)
    return made


def _update_names(tree: dict[str, Entry], source: Tree, path: str) -> None:
    """Add a path to the names of the directories above it, or remove it."""
    above, _, name = path.rpartition("/")
    entry = tree.get(above) or source.get(above)
    if entry is None:
        return
    is_new = above not in tree
    others = () if is_new else (each for each in entry.names if each != name)
    names = {*others, name} if path in tree else {*others}
    tree[above] = replace(entry, names=tuple(sorted(names)))
    if is_new:
        _update_names(tree, source, above)


def find_above(path: str, tree: Tree, other: Tree) -> Tree:
    """Return the directories above a place that only the first tree has."""
    found = dict[str, Entry]()
    while path := path.rpartition("/")[0]:
        if path in tree and path not in other:
            found[path] = tree[path]
    return found


def is_known(tree: Tree) -> bool:
    """Whether a tree can be made again."""
    return all(_is_known(entry) for entry in tree.values())


def _is_known(entry: Entry) -> bool:
    match entry.kind:
        case "directory":
            return entry.is_complete
        case "file" | "link":
            return entry.content is not None
        case kind:
            return kind == "named pipe"


def is_equal(tree: Tree, other: Tree) -> bool:
    """Whether two places have the same entries with the same content."""
    return tree.keys() == other.keys() and all(
        entry.is_same(other[path]) for path, entry in tree.items()
    )


def is_executable(entry: Entry) -> bool:
    """Whether the owner can run a file."""
    return bool(entry.mode & stat.S_IXUSR)
