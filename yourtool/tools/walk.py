"""Where a path really leads, found without ever letting the kernel follow a link.

Components are opened one at a time from a descriptor of the root. Links are read and walked here,
so nothing can lead outside, also while somebody swaps directories for links; going up means going
back to the directory that was passed on the way down.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.own_places import Identity, identity

DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a directory as a step of a walk."""

_MOST_LINKS = 40
_LONGEST_PATH = 4096
_KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
)


class Root(Struct, frozen=True):
    """A directory that walks may not leave."""

    path: Path
    """The real path."""
    alias: Path
    """The path as it was given, which may lead through links."""
    descriptor: int
    trail: tuple[Identity, ...]
    """The directories from the top of the file system to this one."""

    @classmethod
    def open(cls, path: Path) -> "Root":
        """Resolve the directory once and hold it open; the caller closes `descriptor`."""
        real = path.resolve(strict=True)
        descriptor = os.open(real, DIRECTORY)
        above = (identity(each.stat()) for each in reversed(real.parents))
        trail = (*above, identity(os.fstat(descriptor)))
        return cls(real, path.absolute(), descriptor, trail)


class ResolvedPath(Struct, frozen=True):
    """Where a path leads; valid while the walk that found it is open."""

    root: Root
    parent: int
    """The last existing directory before the end of the path."""
    parts: tuple[str, ...]
    """Real names from the root to the end."""
    missing: tuple[str, ...] = ()
    """The names at the end of `parts` that do not exist; the first would be in `parent`."""
    mode: int | None = None
    """Type and permissions; None: it does not exist."""
    trail: tuple[Identity, ...] = ()
    """Everything that exists from the top of the file system to the end of the path."""

    @property
    def name(self) -> str:
        """The last name of the path; `.` for the root."""
        return self.parts[-1] if self.parts else "."


@contextmanager
def walk(path: str, roots: tuple[Root, ...]) -> Generator[ResolvedPath, None, None]:
    """Find where `path` leads; a relative one starts at the first root.

    Raises:
        ToolError: it leads out of its root, or cannot be a path.
    """
    root, parts = _enter(path, roots)
    with ExitStack() as opened, explained(path, "reached"):
        yield _Walk(path, root, opened).to(parts)


@contextmanager
def explained(path: str, verb: str) -> Generator[None, None, None]:
    """Turn an operating system's error about `path` into words for the model."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"`{path}` does not exist (or vanished); look with `list_dir`") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = {
            errno.ENOSPC: "; nothing was changed, tell the user that the disk is full",
            errno.ENOTDIR: "; a part of it is not a directory, look with `list_dir`",
            errno.ELOOP: "; it goes through a circle of links",
        }.get(error.errno or 0, "; choose another path or ask the user")
        raise ToolError(f"`{path}` could not be {verb}: {reason}{hint}") from error


def outside(path: str, root: Path, problem: str) -> ToolError:
    """Return the refusal of a path that leaves its root."""
    return ToolError(
        f"`{path}` {problem}. Use a path inside `{root}`; the user can open another directory for"
        " reading by starting with `--add-dir`.",
        ToolFailure.PERMISSION_DENIED,
    )


def kind_of(mode: int) -> str:
    """Name the kind of thing that a mode describes."""
    return next((name for test, name in _KINDS if test(mode)), "device")


def one_line(name: str) -> str:
    """Return a file's name as it can stand in a list of names: quoted if it holds controls."""
    return name if name.isprintable() else ascii(name)


def missing_text(path: str, place: ResolvedPath) -> str:
    """Say that `path` does not exist, and which names there are instead."""
    names = list[str]()
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place.parent)
        try:
            names = os.listdir(descriptor)  # noqa: PTH208 - a descriptor
        finally:
            os.close(descriptor)
    above = place.parts[: len(place.parts) - len(place.missing)]
    by_folded = {name.casefold(): name for name in sorted(names)}
    near = get_close_matches(place.missing[0].casefold(), by_folded, cutoff=0.6)
    if near:
        shown = ", ".join(f"`{'/'.join((*above, by_folded[name]))}`" for name in near)
        return f"`{path}` does not exist; near it: {shown}"
    where = f"`{'/'.join(above) or '.'}`"
    return f"`{path}` does not exist; look in {where} with `list_dir`, or search with `glob`"


def beneath(path: str, base: Path) -> list[str] | None:
    """Split what follows `base` in an absolute path, as written; None: it does not begin so."""
    prefix = [part for part in str(base).split("/") if part]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return parts[len(prefix) :] if parts[: len(prefix)] == prefix else None


def _enter(path: str, roots: tuple[Root, ...]) -> tuple[Root, list[str]]:
    if not path or "\0" in path:
        problem = "holds a NUL character" if path else "is empty"
        raise ToolError(f"the path {path!r} {problem}; give one relative to the workspace")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise ToolError(f"the path {path!r} is not text that a file system can store") from None
    if length > _LONGEST_PATH:
        raise ToolError(f"the path has {length:,} bytes; {_LONGEST_PATH:,} is the most")
    wanted = os.path.expanduser(path)  # noqa: PTH111 - a Path would drop `.` and `//`
    if not wanted.startswith("/"):
        return roots[0], wanted.split("/")
    for root in roots:
        for base in (root.path, root.alias):
            if (parts := beneath(wanted, base)) is not None:
                return root, parts
    raise outside(path, roots[0].path, "is outside the workspace")


class _Walk:
    """One walk: the names passed, and the directories among them that exist."""

    def __init__(self, path: str, root: Root, opened: ExitStack) -> None:
        self._path = path
        self._root = root
        self._opened = opened
        self._names: list[str] = []
        self._chain = [root.descriptor]
        self._trail: list[Identity] = []
        self._missing = False
        self._links = 0

    def to(self, parts: list[str]) -> ResolvedPath:
        pending = parts[::-1]
        while pending:
            name = pending.pop()
            if name == "..":
                self._up()
            elif name not in ("", "."):
                pending += self._down(name)[::-1]
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
        return ResolvedPath(self._root, parent, names, mode=status.st_mode, trail=trail)

    def _up(self) -> None:
        self._demand_directory()
        if not self._names:
            raise outside(self._path, self._root.path, "leads out of the workspace")
        self._names.pop()
        if not self._missing:
            self._chain.pop()
            del self._trail[-1:]
        self._missing = len(self._names) >= len(self._chain)

    def _down(self, name: str) -> list[str]:
        """Take one step; return the steps that a link stands for."""
        self._demand_directory()
        if not self._missing:
            try:
                mode = os.stat(name, dir_fd=self._chain[-1], follow_symlinks=False).st_mode
            except FileNotFoundError:
                self._missing = True
            else:
                if stat.S_ISLNK(mode):
                    return self._link(os.readlink(name, dir_fd=self._chain[-1]))
                if stat.S_ISDIR(mode):
                    descriptor = os.open(name, DIRECTORY, dir_fd=self._chain[-1])
                    self._opened.callback(os.close, descriptor)
                    self._chain.append(descriptor)
                    self._trail.append(identity(os.fstat(descriptor)))
        self._names.append(name)
        return []

    def _link(self, target: str) -> list[str]:
        if (links := self._links + 1) > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._links = links
        if not target.startswith("/"):
            return target.split("/")
        if (parts := beneath(target, self._root.path)) is None:
            raise outside(
                self._path, self._root.path, f"goes through a link to `{target}`, which is outside"
            )
        self._names, self._chain, self._trail = [], [self._root.descriptor], []
        return parts

    def _demand_directory(self) -> None:
        if not self._missing and len(self._chain) <= len(self._names):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
