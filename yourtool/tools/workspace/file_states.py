"""States of workspace files.

Links are never followed, also not in directories on the way. All functions block.
"""

import hashlib
import os
import stat
from contextlib import suppress

from yourtool.errors import ToolError
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, FileRestore, FileState
from yourtool.tools.workspace.directory_opening import CREATE, READ
from yourtool.tools.workspace.replacing import (
    OpenParent,
    copy_attributes,
    digest,
    is_of_another_owner,
    new_temporary_name,
    overwrite_at,
    replace_or_overwrite,
    sync_directory,
)
from yourtool.tools.workspace.workspace import Workspace

MAX_STORED_BYTES = 16 * 2**20
"""The content of larger files is not stored."""
_MAX_HASHED_BYTES = 2**30


class ChangedElsewhereError(ToolError):
    """A file is not in the state that was expected."""


def file_state(content: bytes, mode: int) -> FileState:
    """Return the state of a regular file."""
    return FileState(FileImage("file", digest(content), mode, len(content)), content)


def read_state(workspace: Workspace, path: str, limit: int = MAX_STORED_BYTES) -> FileState:
    """Return the state of a file, with its content if that has at most `limit` bytes.

    Raises:
        ToolError: the file cannot be reached or read.
    """
    with workspace.open_parent(path) as parent:
        if parent is None:
            return FileState(ABSENT_FILE)
        try:
            return _read_state(parent, limit)
        except OSError as error:
            raise ToolError(f"`{path}` could not be read: {error.strerror}") from error


def find_missing_directories(workspace: Workspace, path: str) -> tuple[str, ...]:
    """Return the directories above a file that do not exist, outermost first.

    Raises:
        ToolError: the file cannot be reached.
    """
    parts = path.split("/")
    missing = list[str]()
    for count in range(1, len(parts)):
        directory = "/".join(parts[:count])
        if missing:
            missing.append(directory)
            continue
        with workspace.open_parent(f"{directory}/{parts[count]}") as parent:
            if parent is None:
                missing.append(directory)
    return tuple(missing)


def restore_file(workspace: Workspace, item: FileRestore, content: bytes | None) -> None:
    """Bring a file from `item.before` to `item.after`; does nothing if it is in that state.

    `content`: that of `item.after`, if it is a file or a link.

    Raises:
        ChangedElsewhereError: the file is in neither state; nothing changed.
        ToolError: it cannot be restored; nothing changed.
    """
    creates = item.after.kind != "absent"
    _require_state(item.path, read_state(workspace, item.path, 0).image, item.before, item.after)
    try:
        with workspace.open_parent(item.path, create=creates) as parent:
            if parent is not None and not _is_in_state(parent, item):
                if creates and _needs_overwriting(workspace, parent, item):
                    _overwrite(parent, item, content or b"")
                elif creates:
                    _replace(parent, item, content or b"")
                else:
                    os.unlink(parent.name, dir_fd=parent.descriptor)
                sync_directory(parent.descriptor)
        if not creates:
            _remove_directories(workspace, item.directories)
    except OSError as error:
        raise ToolError(f"`{item.path}` could not be restored: {error.strerror}") from error


def _is_in_state(parent: OpenParent, item: FileRestore) -> bool:
    """Whether the file is restored already.

    Raises:
        ChangedElsewhereError: it is in neither of the two states.
    """
    found = _read_state(parent, 0).image
    _require_state(item.path, found, item.before, item.after)
    return found.is_same(item.after)


def _require_state(path: str, found: FileImage, *states: FileImage) -> None:
    if not any(found.is_same(each) for each in states):
        raise ChangedElsewhereError(f"`{path}` {describe_difference(found, states[0])}")


def describe_difference(found: FileImage, expected: FileImage) -> str:
    """Return how a file differs from the state that it should have."""
    if found.kind == "absent":
        return "no longer exists"
    if expected.kind == "absent":
        return "exists again"
    if found.kind != expected.kind:
        return "is now a link" if found.kind == "link" else "is no longer the same kind of file"
    if found.digest == expected.digest and found.mode != expected.mode:
        return "has another mode now"
    return "was changed since"


def _read_state(parent: OpenParent, limit: int) -> FileState:
    name, at = parent.name, parent.descriptor
    try:
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return FileState(ABSENT_FILE)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(name, dir_fd=at))
        return FileState(FileImage("link", digest(target), size=len(target)), target)
    if not stat.S_ISREG(status.st_mode):
        return FileState(FileImage("other"))
    descriptor = os.open(name, READ, dir_fd=at)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        mode = stat.S_IMODE(status.st_mode)
        content, size, hashed = None, status.st_size, ""
        if size <= limit:
            content = file.read(limit + 1)
            size, hashed = len(content), digest(content)
            content = content if size <= limit else None
        elif size <= _MAX_HASHED_BYTES:
            hashed = hashlib.file_digest(file, "sha256").hexdigest()
    return FileState(FileImage("file", hashed, mode, size), content)


def _needs_overwriting(workspace: Workspace, parent: OpenParent, item: FileRestore) -> bool:
    """True if another file in its place would lose its names or its owner, or is not possible."""
    name, at = parent.name, parent.descriptor
    if (item.before.kind, item.after.kind) != ("file", "file"):
        return False
    status = os.stat(name, dir_fd=at, follow_symlinks=False)
    return (
        bool(workspace.find_linked_names(status))
        or is_of_another_owner(at, name)
        or not os.access(".", os.W_OK, dir_fd=at)
    )


def _overwrite(parent: OpenParent, item: FileRestore, content: bytes) -> None:
    _require_state(item.path, _read_state(parent, 0).image, item.before)
    overwrite_at(parent.descriptor, parent.name, content)
    if item.before.mode != item.after.mode:
        os.chmod(parent.name, item.after.mode, dir_fd=parent.descriptor)


def _replace(parent: OpenParent, item: FileRestore, content: bytes) -> None:
    at, temporary = parent.descriptor, new_temporary_name()
    try:
        if item.after.kind == "link":
            os.symlink(os.fsdecode(content), temporary, dir_fd=at)
        else:
            created = os.open(temporary, CREATE, 0o600, dir_fd=at)
            with os.fdopen(created, "wb") as file:
                file.write(content)
                file.flush()
                if item.before.kind == "file":
                    with suppress(OSError):
                        copy_attributes(created, at, parent.name)
                os.fchmod(created, item.after.mode)
                os.fsync(created)
        _require_state(item.path, _read_state(parent, 0).image, item.before)
        exists = (item.before.kind, item.after.kind) == ("file", "file")
        replace_or_overwrite(temporary, at, parent.name, content, exists=exists)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=at)
        raise


def _remove_directories(workspace: Workspace, directories: tuple[str, ...]) -> None:
    """Remove directories that are empty, innermost first."""
    for path in reversed(directories):
        with suppress(OSError, ToolError), workspace.open_parent(path) as parent:
            if parent is not None:
                os.rmdir(parent.name, dir_fd=parent.descriptor)
