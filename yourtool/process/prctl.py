"""Linux process controls missing in Python.

https://man7.org/linux/man-pages/man2/prctl.2.html
https://man7.org/linux/man-pages/man3/malloc_trim.3.html
"""

import ctypes
import sys

_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36


def forbid_inspection() -> None:
    """Deny other processes of this user access to our memory; also disables core files."""
    _prctl(_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant; not inherited by a fork."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def signal_when_parent_ends(number: int) -> None:
    """Receive signal `number` when the parent ends; not inherited by a fork."""
    _prctl(_SET_PDEATHSIG, number)


def return_free_memory() -> None:
    """Return free memory of the C library to the system; only the GNU one keeps much."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(ctypes.c_size_t(0))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)
