"""Identifiers: strictly increasing ULIDs.

A ULID is 48 bits of milliseconds and 80 random bits in 26 characters of Crockford's base 32
(https://github.com/ulid/spec). If the clock has not advanced, a new id is the previous one plus
one, so ids increase across threads and even if the clock steps back.
"""

import secrets
import threading
import time
from collections.abc import Callable

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_LENGTH = 26


class IdFactory:
    """A thread-safe factory of strictly increasing ULIDs."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        """`clock` returns nanoseconds since 1970."""
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """Return a ULID that is greater than all previous ones."""
        fresh = (self._clock() // 1_000_000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        with self._lock:
            self._last = max(fresh, self._last + 1)
            return _encode(self._last)

    def advance(self, past: str) -> None:
        """Make all later ids greater than `past`, which may come from another process."""
        with self._lock:
            self._last = max(self._last, _decode(past))


new_id = IdFactory()
"""The factory of this process."""


def new_session_id() -> str:
    """Return `sess_<ulid>`."""
    return f"sess_{new_id()}"


def new_tool_use_id() -> str:
    """Return `tu_<ulid>`: the canonical id of a tool call, never a provider's."""
    return f"tu_{new_id()}"


def is_ulid(text: str) -> bool:
    """Return whether `text` has the form of our ULIDs."""
    return len(text) == _LENGTH and text[0] <= "7" and all(char in ALPHABET for char in text)


def _encode(value: int) -> str:
    return "".join(ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


def _decode(text: str) -> int:
    value = 0
    for char in text:
        value = value << 5 | ALPHABET.index(char)
    return value
