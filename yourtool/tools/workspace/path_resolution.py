"""Path resolution without symbolic links.

A path without links is opened at once from a descriptor of the root. Otherwise its components are
opened one at a time; links are read and resolved here, so a path cannot lead outside, even if
directories are replaced with links at the same time. `..` returns to the directory that was opened
on the way down.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.suggestions import find_similar
from yourtool.permissions.own_directories import Identity, identity
from yourtool.tools.workspace.directory_opening import DIRECTORY, DirectoryOpener

_MAX_LINKS = 40
_MAX_PATH_BYTES = 4096
_KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
)


class Root(Struct, frozen=True):
    """A directory that walks cannot leave."""

    path: Path
    """The real path."""
    alias: Path
    """The original path, which can contain symbolic links."""
    descriptor: int
    trail: tuple[Identity, ...]
    """The directories from the file system root to this one."""

    @classmethod
    def open(cls, path: Path) -> "Root":
        """Resolve and open a directory; the caller closes `descriptor`."""
        real = path.resolve(strict=True)
        descriptor = os.open(real, DIRECTORY)
        above = (identity(each.stat()) for each in reversed(real.parents))
        trail = (*above, identity(os.fstat(descriptor)))
        return cls(real, path.absolute(), descriptor, trail)

    def is_deleted(self) -> bool:
        """Whether the directory that was opened was deleted, also after a rename."""
        return os.fstat(self.descriptor).st_nlink == 0

    def is_in_place(self) -> bool:
        """Whether `path` still leads to the directory that was opened."""
        try:
            return identity(os.lstat(self.path)) == self.trail[-1]
        except OSError:
            return False


class ResolvedPath(Struct, frozen=True):
    """The target of a path; valid until the walk is closed."""

    root: Root
    parent: int
    """Descriptor of the last existing directory before the end of the path."""
    parts: tuple[str, ...]
    """Real names from the root to the end."""
    missing: tuple[str, ...] = ()
    """The names at the end of `parts` that do not exist; the first one belongs in `parent`."""
    status: os.stat_result | None = None
    """None if it does not exist."""
    trail: tuple[Identity, ...] = ()
    """All existing directories and files from the file system root to the end of the path."""

    @property
    def name(self) -> str:
        """The last name of the path; `.` for the root."""
        return self.parts[-1] if self.parts else "."

    @property
    def mode(self) -> int | None:
        """File type and permissions; None if it does not exist."""
        return None if self.status is None else self.status.st_mode


@contextmanager
def walk(
    path: str, roots: tuple[Root, ...], open_directory: DirectoryOpener
) -> Generator[ResolvedPath, None, None]:
    """Resolve `path`; relative paths start at the first root.

    Raises:
        ToolError: it leaves its root, or is not a valid path.
    """
    root, parts = _find_root(path, roots)
    with ExitStack() as opened:
        with translate_os_errors(path, "reached"):
            place = _open_direct(root, parts, open_directory, opened)
            place = place or _Walk(path, root, open_directory, opened).resolve(parts)
        yield place


@contextmanager
def translate_os_errors(path: str, verb: str) -> Generator[None, None, None]:
    """Raise operating system errors about `path` as `ToolError` with a hint for the model."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"`{path}` does not exist; list its directory with `list_dir`") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = {
            errno.ENOSPC: "; it was not changed; ask the user to free disk space",
            errno.ENOTDIR: "; a part of the path is not a directory; check it with `list_dir`",
            errno.ELOOP: "; it contains a loop of symbolic links; choose another path",
        }.get(error.errno or 0, "; choose another path or ask the user")
        raise ToolError(f"`{path}` could not be {verb}: {reason}{hint}") from error


def outside_error(path: str, root: Path, problem: str) -> ToolError:
    """Return the error for a path that leaves its root."""
    return ToolError(
        f"`{path}` {problem}. Use a path inside `{root}`; the user can make another directory"
        " readable with the option `--add-dir`.",
        ToolFailure.PERMISSION_DENIED,
    )


def gone_error(path: Path, problem: str) -> ToolError:
    """Return the error for a root that is not where it was."""
    return ToolError(
        f"the directory `{path}`, which was opened at the start, {problem}. Tell the user to put it"
        " back, or to start `yourtool` again in the directory that they want to work in."
    )


def own_place_error(path: str) -> ToolError:
    """Return the error for a path in a directory of the program."""
    return ToolError(
        f"`{path}` is in a directory of `yourtool` itself, with API keys, permissions, settings and"
        " sessions. Tools cannot read or change it, and no rule can allow it: continue without it,"
        " or ask the user.",
        ToolFailure.PERMISSION_DENIED,
    )


def file_kind(mode: int) -> str:
    """Return the name of a file type."""
    return next((name for test, name in _KINDS if test(mode)), "device")


def printable_name(name: str) -> str:
    """Return a file name for display; quoted and escaped if it contains control characters."""
    return name if name.isprintable() else ascii(name)


def missing_path_message(path: str, place: ResolvedPath) -> str:
    """Return an error message for a missing path that suggests similar names."""
    names = list[str]()
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place.parent)
        try:
            names = os.listdir(descriptor)  # noqa: PTH208 - a descriptor
        finally:
            os.close(descriptor)
    above = place.parts[: len(place.parts) - len(place.missing)]
    by_folded = {name.casefold(): name for name in sorted(names)}
    near = find_similar(place.missing[0].casefold(), by_folded)
    if near:
        shown = ", ".join(f"`{'/'.join((*above, by_folded[name]))}`" for name in near)
        return f"`{path}` does not exist; similar names: {shown}"
    where = f"`{'/'.join(above) or '.'}`"
    return f"`{path}` does not exist; list {where} with `list_dir`, or search with `glob`"


def split_below(path: str, base: Path) -> list[str] | None:
    """Return the parts of an absolute path after `base`; None if it does not start with `base`."""
    prefix = [part for part in str(base).split("/") if part]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return parts[len(prefix) :] if parts[: len(prefix)] == prefix else None


def _find_root(path: str, roots: tuple[Root, ...]) -> tuple[Root, list[str]]:
    if not path or "\0" in path:
        problem = "contains a NUL character" if path else "is empty"
        raise ToolError(f"the path {path!r} {problem}; use a path relative to the workspace")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise ToolError(f"the path {path!r} cannot be encoded; use another path") from None
    if length > _MAX_PATH_BYTES:
        raise ToolError(f"the path has {length:,} bytes; use at most {_MAX_PATH_BYTES:,}")
    wanted = os.path.expanduser(path)  # noqa: PTH111 - a Path would drop `.` and `//`
    if not wanted.startswith("/"):
        return roots[0], wanted.split("/")
    for root in roots:
        for base in (root.path, root.alias):
            if (parts := split_below(wanted, base)) is not None:
                return root, parts
    raise outside_error(path, roots[0].path, "is outside the workspace")


def _open_direct(
    root: Root, parts: list[str], open_directory: DirectoryOpener, opened: ExitStack
) -> ResolvedPath | None:
    """Return the target of a path without links in an existing directory; None for other paths."""
    names = tuple(part for part in parts if part not in ("", "."))
    if len(names) < 2 or ".." in names or parts[-1] in ("", "."):
        return None  # there is nothing to open at once
    try:
        parent = open_directory("/".join(names[:-1]), root.descriptor)
        opened.callback(os.close, parent)
        trail = (*root.trail, *_identities_below(root, parent, len(names) - 1))
    except OSError:
        return None
    try:
        status = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return ResolvedPath(root, parent, names, missing=names[-1:], trail=trail)
    if stat.S_ISLNK(status.st_mode):
        return None
    return ResolvedPath(root, parent, names, status=status, trail=(*trail, identity(status)))


def _identities_below(root: Root, descriptor: int, depth: int) -> Iterator[Identity]:
    """Yield the directories from below the root to a directory `depth` levels below it.

    Raises:
        OSError: it is not that far below the root, because a directory was moved meanwhile.
    """
    above = [identity(os.stat("../" * up, dir_fd=descriptor)) for up in range(1, depth + 1)]
    if above[-1] != root.trail[-1]:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    yield from above[-2::-1]
    yield identity(os.fstat(descriptor))


class _Walk:
    """The state of a walk: the names so far, and descriptors of the existing directories."""

    def __init__(
        self, path: str, root: Root, open_directory: DirectoryOpener, opened: ExitStack
    ) -> None:
        self._path = path
        self._root = root
        self._open_directory = open_directory
        self._opened = opened
        self._names: list[str] = []
        self._chain = [root.descriptor]
        self._trail: list[Identity] = []
        self._missing = False
        self._links = 0

    def resolve(self, parts: list[str]) -> ResolvedPath:
        pending = parts[::-1]
        while pending:
            name = pending.pop()
            if name == "..":
                self._go_up()
            elif name not in ("", "."):
                pending += self._go_down(name)[::-1]
        known = len(self._chain) - 1
        names, trail = tuple(self._names), (*self._root.trail, *self._trail)
        if self._missing:
            missing = names[known:]
            return ResolvedPath(self._root, self._chain[-1], names, missing=missing, trail=trail)
        at_directory = known == len(names)
        parent = self._chain[-2] if at_directory and known else self._chain[-1]
        place = ResolvedPath(self._root, parent, names)
        status = os.stat(place.name, dir_fd=parent, follow_symlinks=False)
        trail = trail if at_directory else (*trail, identity(status))
        return ResolvedPath(self._root, parent, names, status=status, trail=trail)

    def _go_up(self) -> None:
        self._require_directory()
        if not self._names:
            raise outside_error(self._path, self._root.path, "leaves the workspace")
        self._names.pop()
        if not self._missing:
            self._chain.pop()
            del self._trail[-1:]
        self._missing = len(self._names) >= len(self._chain)

    def _go_down(self, name: str) -> list[str]:
        """Enter one component; return the components of its target if it is a link."""
        self._require_directory()
        if not self._missing:
            try:
                mode = os.stat(name, dir_fd=self._chain[-1], follow_symlinks=False).st_mode
            except FileNotFoundError:
                self._missing = True
            else:
                if stat.S_ISLNK(mode):
                    return self._follow_link(os.readlink(name, dir_fd=self._chain[-1]))
                if stat.S_ISDIR(mode):
                    descriptor = self._open_directory(name, self._chain[-1])
                    self._opened.callback(os.close, descriptor)
                    self._chain.append(descriptor)
                    self._trail.append(identity(os.fstat(descriptor)))
        self._names.append(name)
        return []

    def _follow_link(self, target: str) -> list[str]:
        if (links := self._links + 1) > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._links = links
        if not target.startswith("/"):
            return target.split("/")
        if (parts := split_below(target, self._root.path)) is None:
            raise outside_error(
                self._path, self._root.path, f"goes through a link to `{target}`, which is outside"
            )
        self._names, self._chain, self._trail = [], [self._root.descriptor], []
        return parts

    def _require_directory(self) -> None:
        if not self._missing and len(self._chain) <= len(self._names):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
