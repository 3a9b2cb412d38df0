"""Recognises that the system has no more memory for this process, whatever the error is called."""

import errno

SHORTAGE = (
    "there is not enough memory; close other programs, or raise the limit that `ulimit -v` shows"
)
_PHRASES = (
    "failed to map segment",  # the dynamic loader, as an ImportError
    "cannot allocate memory",
    "can't start new thread",
    "out of memory",
)
_MOST_CAUSES = 10


def is_shortage(error: BaseException | None) -> bool:
    """Return whether an exception, or one that led to it, is about a lack of memory."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            return False
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        text = str(error).lower()
        if any(phrase in text for phrase in _PHRASES):
            return True
        error = error.__cause__ or error.__context__
    return False
