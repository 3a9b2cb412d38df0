"""Linux process controls that Python does not have; no-ops on other systems.

https://man7.org/linux/man-pages/man2/prctl.2.html
https://man7.org/linux/man-pages/man2/madvise.2.html
https://man7.org/linux/man-pages/man3/malloc_trim.3.html
"""

import ctypes
import sys

from yourtool.early_imports import Iterator, suppress

_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_MADV_DONTNEED = 4


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


def unmap_code() -> None:
    """Unmap the pages of program files from this process, which will wait for a long time.

    The kernel maps them again when they are used. It does not free memory, because other processes
    have the same pages: those of this one are no longer counted.
    """
    if sys.platform == "linux":
        advise = ctypes.CDLL(None).madvise
        unchanged = [(end - start, start) for start, end in _unchanged_mappings()]
        calls = [(ctypes.c_void_p(at), ctypes.c_size_t(size)) for size, at in sorted(unchanged)]
        for at, size in calls:  # the largest is the interpreter, which this loop uses
            advise(at, size, _MADV_DONTNEED)


def _unchanged_mappings() -> Iterator[tuple[int, int]]:
    """Yield start and end of each mapping of a file that this process has never written to.

    https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html
    """
    start, end, is_file = 0, 0, False
    with suppress(OSError), open("/proc/self/smaps", "rb") as lines:  # noqa: PTH123 - slow to import
        for name, *values in map(bytes.split, lines):
            if not name.endswith(b":"):
                start, end = (int(each, 16) for each in name.split(b"-"))
                is_file = values[0].startswith(b"r-") and values[-1].startswith(b"/")
            elif is_file and name == b"Anonymous:" and values[0] == b"0":
                yield start, end


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)
