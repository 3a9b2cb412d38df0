"""Detection of memory shortage errors."""

import errno
import resource
from collections.abc import Iterator

_PHRASES = (
    "failed to map segment",  # the dynamic loader, as an ImportError
    "cannot allocate memory",
    "can't start new thread",
    "cannot join thread before it is started",  # follows from a thread that could not start
    "out of memory",
    "error return without exception set",  # the interpreter could not allocate its error
    "returned null without setting an exception",
)
_MAX_ERRORS = 100
_LEAST_BYTES = 90_000 * 1024
"""The imports of a session alone take more address space."""


def memory_limit() -> str:
    """Return the memory limit of this process (`ulimit -v`), or an empty text without one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return "" if limit == resource.RLIM_INFINITY else f"{limit // 1024:,} KB"


def require_memory() -> None:
    """Refuse a limit below which no session can start.

    An interpreter without memory for its own errors may also run in a circle for ever.

    Raises:
        MemoryError: the limit is too low.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_BYTES:
        raise MemoryError


def _shortage() -> str:
    if limit := memory_limit():
        return f"there is not enough memory; raise the limit of {limit} (`ulimit -v`)"
    return "there is not enough memory; close other programs"


SHORTAGE = _shortage()
"""Built in advance, because there is no memory for it when it is needed."""


def is_shortage(error: BaseException | None) -> bool:
    """Return whether an exception, or one of its causes, is a lack of memory."""
    return any(_is_about_memory(each) for each in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, its causes, and the members of groups."""
    pending, seen = [error], list[BaseException]()
    while pending and len(seen) < _MAX_ERRORS:
        each = pending.pop(0)
        if each is None or any(each is other for other in seen):
            continue
        seen.append(each)
        yield each
        pending += (each.__cause__, each.__context__)
        if isinstance(each, BaseExceptionGroup):
            pending += each.exceptions


def _is_about_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    text = str(error).lower()
    return any(phrase in text for phrase in _PHRASES)
