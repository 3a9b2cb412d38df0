"""Open git directory for undo.

git itself follows links in `refs` and `logs`, also to files outside, and waits for pipes. Here each
directory on the way is opened as one, and a file is replaced by a rename while it is locked for
git. Everything here blocks.
"""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from yourtool.errors import ToolError
from yourtool.tools.git.git_files import MAX_GIT_FILE_BYTES
from yourtool.tools.workspace.directory_opening import CREATE, LIST, READ, system_opener
from yourtool.tools.workspace.replacing import (
    copy_attributes,
    make_directories,
    new_temporary_name,
    sync_directory,
)

_PACKED = "packed-refs"


class GitDirectory:
    """The files below an open git directory, by their names in it."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor`: that of the directory, which the caller closes."""
        self.descriptor = descriptor

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist.

        Raises:
            ToolError: it is not a regular file, or too large.
            OSError: it cannot be reached, as through a link.
        """
        try:
            with self._open_parent(name, create=False) as (parent, last):
                return _read_at(parent, last, name)
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes, mode: int, expected: bytes | None) -> None:
        """Replace or create a file in one step.

        `expected`: its content until now; None: it does not exist.

        Raises:
            ToolError: it is locked, is not a regular file, or somebody else changed it.
            OSError: it cannot be reached or written.
        """
        temporary = new_temporary_name()
        with self._open_parent(name, create=True) as (parent, last):
            try:
                created = os.open(temporary, CREATE, 0o600, dir_fd=parent)
                with os.fdopen(created, "wb") as file:
                    file.write(content)
                    file.flush()
                    if expected is not None:
                        with suppress(OSError):
                            copy_attributes(created, parent, last)
                    os.fchmod(created, mode)
                    os.fsync(created)
                with _lock(parent, name):
                    _require_content(parent, last, name, expected)
                    _remove_empty(parent, last)
                    os.replace(temporary, last, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            sync_directory(parent)

    def delete(self, name: str, expected: bytes, directories: Sequence[str] = ()) -> None:
        """Delete a file, and then those of the directories above it that are empty.

        `expected`: its content until now; `directories`: outermost first.

        Raises:
            ToolError: it is locked, is not a regular file, or somebody else changed it.
            OSError: it cannot be reached or deleted.
        """
        with self._open_parent(name, create=False) as (parent, last):
            with _lock(parent, name):
                _require_content(parent, last, name, expected)
                os.unlink(last, dir_fd=parent)
            sync_directory(parent)
        for each in reversed(directories):
            with suppress(OSError), self._open_parent(each, create=False) as (parent, last):
                os.rmdir(last, dir_fd=parent)

    def delete_reference(self, name: str) -> None:
        """Delete a reference, loose and packed, as git does.

        Raises:
            ToolError: as for `delete`.
            OSError: as for `delete`.
        """
        packed = self.read(_PACKED) or b""
        rest = b"".join(_iter_other_references(packed, os.fsencode(name)))
        if rest != packed:
            self.write(_PACKED, rest, 0o644, packed)
        if (loose := self.read(name)) is not None:
            self.delete(name, loose)

    @contextmanager
    def _open_parent(self, name: str, *, create: bool) -> Generator[tuple[int, str], None, None]:
        *folders, last = name.split("/")
        if not {"", ".", ".."}.isdisjoint((*folders, last)):
            raise ToolError(f"`{name}` is not the name of a file in a repository")
        with ExitStack() as opened:
            parent = self.descriptor
            if create:
                parent, _ = make_directories(parent, (), tuple(folders), opened)
            elif folders:
                parent = system_opener()("/".join(folders), parent)
                opened.callback(os.close, parent)
            yield parent, last


@contextmanager
def _lock(parent: int, name: str) -> Generator[None, None, None]:
    """Lock a file as git does; see https://git-scm.com/docs/api-lockfile."""
    lock = f"{name.rpartition('/')[2]}.lock"
    try:
        os.close(os.open(lock, CREATE, 0o600, dir_fd=parent))
    except FileExistsError as error:
        message = f"`.git/{name}` is locked: git is at work, or `{name}.lock` was left"
        raise ToolError(message) from error
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock, dir_fd=parent)


def _require_content(parent: int, last: str, name: str, expected: bytes | None) -> None:
    if _read_at(parent, last, name) != expected:
        raise ToolError(f"`.git/{name}` was changed since")


def _read_at(parent: int, last: str, name: str) -> bytes | None:
    """Return the content of a file; None if it does not exist or is a directory."""
    try:
        mode = os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            raise ToolError(f"`.git/{name}` is a link, a pipe or a device")
        with os.fdopen(os.open(last, READ, dir_fd=parent), "rb") as file:
            content = file.read(MAX_GIT_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > MAX_GIT_FILE_BYTES:
        raise ToolError(f"`.git/{name}` is larger than {MAX_GIT_FILE_BYTES:,} bytes")
    return content


def _remove_empty(parent: int, name: str) -> None:
    """Remove a directory in the place of a file if there are only empty ones in it."""
    with suppress(OSError):
        descriptor = os.open(name, LIST, dir_fd=parent)
        try:
            for each in os.listdir(descriptor):  # noqa: PTH208 - a descriptor
                _remove_empty(descriptor, each)
        finally:
            os.close(descriptor)
        os.rmdir(name, dir_fd=parent)


def _iter_other_references(packed: bytes, name: bytes) -> Generator[bytes, None, None]:
    """Yield the lines of packed references but that of one, with the `^` line of a tag below it."""
    is_other = True
    for line in packed.splitlines(keepends=True):
        if not line.startswith(b"^"):
            is_other = line.rstrip(b"\n").partition(b" ")[2] != name
        if is_other:
            yield line
