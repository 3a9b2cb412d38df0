"""The ways to open directories, as parameters of a test."""

import ctypes
import errno
import sys

import pytest

from yourtool.tools.workspace.directory_opening import open_by_components, system_opener

_OPENAT2 = 437


def has_openat2() -> bool:
    """Ask the kernel, not the program: a call without arguments is invalid where it exists."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    result = library.syscall(ctypes.c_long(_OPENAT2), -1, None, None, ctypes.c_size_t(0))
    return result == -1 and ctypes.get_errno() == errno.EINVAL


HAS_OPENAT2 = has_openat2()
needs_openat2 = pytest.mark.skipif(not HAS_OPENAT2, reason="this system has no `openat2`")
OPENERS = [
    pytest.param(open_by_components, id="components"),
    pytest.param(system_opener(), id="kernel", marks=needs_openat2),
]
