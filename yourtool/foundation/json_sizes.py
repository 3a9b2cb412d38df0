"""Number of values in untrusted JSON.

A decoder blocks all threads of the process, and what reads its result blocks the event loop. The
time depends on the number of values, not of bytes: 8 MiB of empty lists take seconds.
"""

import re

MAX_PARTS = 100_000
"""Brackets, commas and strings of a message; all that is done with it takes under 0.2 s."""
_MARKS = (b",", b"[", b"{")
_QUOTE = b'"'
_MAX_SEARCHED = 8 * 2**20
"""Bytes in which strings are found; in longer JSON, what is in them counts, too."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
"""A string, or the rest of the text if it has no end; takes linear time."""


def has_too_many_parts(data: bytes) -> bool:
    """Return whether JSON has more than `MAX_PARTS`, which need not be valid.

    Commas and brackets in strings do not count unless the JSON is huge.
    """
    if _count(data, 0, len(data)) + data.count(_QUOTE) // 2 <= MAX_PARTS:
        return False
    if len(data) > _MAX_SEARCHED:
        return True
    parts = position = 0
    for string in _STRING.finditer(data):
        parts += 1 + _count(data, position, string.start())
        if parts > MAX_PARTS:
            return True
        position = string.end()
    return parts + _count(data, position, len(data)) > MAX_PARTS


def _count(data: bytes, start: int, end: int) -> int:
    return sum(data.count(mark, start, end) for mark in _MARKS)
