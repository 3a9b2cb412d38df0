"""Changes of protected places in one step.

Everything is relative to open directories, so a process that replaces directories with links at the
same time cannot lead a write elsewhere. Files are new ones that are renamed: no other name of the
old file changes.
"""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from yourtool.permissions.own_directories import identity
from yourtool.tools.protection.entries import Entry, Tree, is_known, join
from yourtool.tools.protection.reading import TreeReader, open_parent
from yourtool.tools.workspace.directory_opening import CREATE, DIRECTORY
from yourtool.tools.workspace.replacing import new_temporary_name

_ATTEMPTS = 32
"""Maximum attempts while another process puts something else at the same place."""


class Taken(Struct, frozen=True):
    """What was moved away from a place."""

    tree: Tree
    """With paths relative to the place; empty if there was nothing."""
    held: str = ""
    """The name in the same directory to which it was renamed, if its content is not in `tree`."""


class UnknownContentError(OSError):
    """The content of a place is unknown, so it cannot be made again."""


def put(path: str, tree: Tree, directories: Tree, *, holds: bool = False) -> Taken:
    """Replace what is at an absolute path by a tree; an empty tree deletes it.

    `directories`: known directories by absolute path, which are made again if they are missing;
    `holds`: the present content is unknown, so it is moved away instead of replaced.

    Raises:
        OSError: it cannot be written, or another process replaced it again and again.
    """
    if not is_known(tree):
        raise UnknownContentError(f"the earlier content of {path!r} is not known")
    for attempt in range(_ATTEMPTS):
        try:
            if tree:
                _make_parents(path, directories)
            with open_parent(path) as (parent, name):
                taken = take(parent, name) if holds or not tree else Taken({})
                return _replace(parent, name, tree, taken) if tree else taken
        except FileNotFoundError:
            if not tree:
                return Taken({})  # its directory does not exist either
            if attempt == _ATTEMPTS - 1:
                raise
        except OSError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError


def take(parent: int, name: str) -> Taken:
    """Move an entry of an open directory away.

    Raises:
        OSError: it cannot be renamed.
    """
    held = new_temporary_name()
    try:
        os.rename(name, held, src_dir_fd=parent, dst_dir_fd=parent)
    except FileNotFoundError:
        return Taken({})
    tree = TreeReader().read_at(parent, held)
    if is_known(tree) and _delete(parent, held, tree, ""):
        return Taken(tree)
    return Taken(tree, held)


def find_sibling(path: str, original: Entry) -> str | None:
    """Return the name to which a directory was renamed, in the same directory."""
    with suppress(OSError), open_parent(path) as (parent, last):
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=parent)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.inode() == original.identity[1] and entry.name != last:
                        status = entry.stat(follow_symlinks=False)
                        if identity(status) == original.identity:
                            return entry.name
        finally:
            os.close(directory)
    return None


def move(path: str, name: str) -> None:
    """Rename what is at an absolute path to a name in the same directory, where nothing is.

    Raises:
        OSError: it is gone, or something else has the name.
    """
    with open_parent(path) as (parent, last):
        _require_missing(parent, name)
        os.rename(last, name, src_dir_fd=parent, dst_dir_fd=parent)


def release(path: str, held: str) -> None:
    """Move what `take` held back to its absolute path, where nothing is.

    Raises:
        OSError: it is gone, or something else is there.
    """
    with open_parent(path) as (parent, name):
        _require_missing(parent, name)
        os.rename(held, name, src_dir_fd=parent, dst_dir_fd=parent)


def remove_empty(paths: Iterable[str]) -> None:
    """Remove directories, by absolute path, which are empty; others stay."""
    for path in sorted(paths, reverse=True):
        with suppress(OSError), open_parent(path) as (parent, name):
            os.rmdir(name, dir_fd=parent)


def set_mode(path: str, mode: int) -> None:
    """Set the permission bits of a directory, which need not be readable.

    Raises:
        OSError: it is not a directory, or belongs to another user.
    """
    with open_parent(path) as (parent, name):
        directory = os.open(name, DIRECTORY, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{directory}", mode)  # noqa: PTH101 - a descriptor
        finally:
            os.close(directory)


def _require_missing(parent: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=parent, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, f"`{name}` exists")


def _replace(parent: int, name: str, tree: Tree, taken: Taken) -> Taken:
    made = new_temporary_name()
    try:
        _make(parent, made, tree, "")
        for _ in range(_ATTEMPTS):
            try:
                os.replace(made, name, src_dir_fd=parent, dst_dir_fd=parent)
            except FileNotFoundError:
                raise
            except OSError:  # a directory is there, or takes the place of one
                found = take(parent, name)
                taken = taken if taken.tree else found
            else:
                return taken
        raise FileExistsError(f"{name!r} is replaced again and again")
    except BaseException:
        _delete(parent, made, tree, "")
        raise


def _make_parents(path: str, directories: Tree) -> None:
    above = path.rpartition("/")[0]
    if (entry := directories.get(above)) is None or not entry.is_directory:
        return
    _make_parents(above, directories)
    with open_parent(above) as (parent, name), suppress(FileExistsError):
        os.mkdir(name, entry.mode & 0o777, dir_fd=parent)


def _make(parent: int, name: str, tree: Tree, path: str) -> None:
    entry = tree[path]
    match entry.kind:
        case "directory":
            _make_directory(parent, name, tree, path)
        case "link":
            os.symlink(os.fsdecode(entry.content or b""), name, dir_fd=parent)
        case "named pipe":
            os.mkfifo(name, entry.mode, dir_fd=parent)
        case _:
            with os.fdopen(os.open(name, CREATE, 0o600, dir_fd=parent), "wb") as file:
                file.write(entry.content or b"")
                file.flush()
                _set_attributes(file.fileno(), entry)


def _make_directory(parent: int, name: str, tree: Tree, path: str) -> None:
    os.mkdir(name, 0o700, dir_fd=parent)
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        for inner in tree[path].names:
            _make(directory, inner, tree, join(path, inner))
        _set_attributes(directory, tree[path])
    finally:
        os.close(directory)


def _set_attributes(descriptor: int, entry: Entry) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != entry.owner:
        with suppress(PermissionError):
            os.fchown(descriptor, *entry.owner)
    os.fchmod(descriptor, entry.mode)


def _delete(parent: int, name: str, tree: Tree, path: str) -> bool:
    """Delete what a tree has; return whether nothing else was there."""
    if (entry := tree.get(path)) is None:
        return True
    try:
        if not entry.is_directory:
            os.unlink(name, dir_fd=parent)
            return True
        directory = os.open(name, DIRECTORY, dir_fd=parent)
        try:
            for inner in entry.names:
                _delete(directory, inner, tree, join(path, inner))
        finally:
            os.close(directory)
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return False
    return True
