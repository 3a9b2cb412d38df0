"""Directory opening without symbolic links.

On Linux, one call of `openat2` opens a path of any length, and the kernel itself guarantees that it
stays below the start. Elsewhere, and where a filter of system calls forbids it, components are
opened one at a time.

https://man7.org/linux/man-pages/man2/openat2.2.html
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a directory as a place, which need not be readable."""
LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags that open a file; no pipe is waited for."""
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2 = 437
_AT_FDCWD = -100
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_HOW = struct.Struct("@QQQ")
_ATTEMPTS = 16
"""Maximum attempts while another process renames directories of the path."""

SystemCall = Callable[[int, bytes, bytes], int]
"""Opens a path below a directory, with a `struct open_how`: a descriptor, or a negative errno."""


class DirectoryOpener(Protocol):
    """One of the ways to open a directory."""

    def __call__(self, path: str, directory: int) -> int:
        """Open a relative path without `..`; the caller closes the descriptor.

        Raises:
            OSError: it does not exist, or a component is a link or not a directory.
        """
        ...


def open_by_components(path: str, directory: int) -> int:
    """Open one component after the other; see `DirectoryOpener`."""
    first, *below = path.split("/")
    opened = os.open(first, DIRECTORY, dir_fd=directory)
    for name in below:
        above = opened
        try:
            opened = os.open(name, DIRECTORY, dir_fd=above)
        finally:
            os.close(above)
    return opened


class KernelOpener:
    """Opens a path with `openat2`; a `DirectoryOpener`."""

    def __init__(self, call: SystemCall) -> None:
        self._call = call

    def __call__(self, path: str, directory: int) -> int:
        name = os.fsencode(path)
        how = _HOW.pack(DIRECTORY, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
        result = -errno.EAGAIN
        for _ in range(_ATTEMPTS):
            if (result := self._call(directory, name, how)) >= 0:
                return result
            if result != -errno.EAGAIN:
                break
        if result in (-errno.EAGAIN, -errno.ENOSYS, -errno.EPERM):
            return open_by_components(path, directory)
        raise OSError(-result, os.strerror(-result), path)


def get_opener(call: SystemCall | None) -> DirectoryOpener:
    """Return the opener for a system; `call`: its `openat2`, which is tried once."""
    if call is None:
        return open_by_components
    descriptor = call(_AT_FDCWD, b"/", _HOW.pack(DIRECTORY, 0, _NO_MAGICLINKS | _NO_SYMLINKS))
    if descriptor < 0:
        return open_by_components
    os.close(descriptor)
    return KernelOpener(call)


@cache
def system_opener() -> DirectoryOpener:
    """Return the opener for this system."""
    return get_opener(_find_system_call())


@contextmanager
def open_real_directory(path: str) -> Generator[int, None, None]:
    """Open a directory by its real path; yield the descriptor.

    Raises:
        OSError: it does not exist, or a part of its path is a link.
    """
    top = os.open("/", DIRECTORY)
    try:
        below = path.lstrip("/")
        descriptor = system_opener()(below, top) if below else os.dup(top)
    finally:
        os.close(top)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def child_directory(descriptor: int, path: Path) -> str:
    """Return the path by which a new process enters a directory that is open here as `descriptor`.

    On Linux it leads to that directory even if another one is at `path` now; elsewhere to `path`.
    """
    at = f"/proc/self/fd/{descriptor}"
    return at if sys.platform == "linux" and os.path.isdir(at) else str(path)  # noqa: PTH112


def _find_system_call() -> SystemCall | None:
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_long
    text, size = ctypes.c_char_p, ctypes.c_size_t
    function.argtypes = (ctypes.c_long, ctypes.c_int, text, text, size)

    def call(directory: int, path: bytes, how: bytes) -> int:
        result: int = function(_OPENAT2, directory, path, how, len(how))
        return result if result >= 0 else -ctypes.get_errno()

    return call
