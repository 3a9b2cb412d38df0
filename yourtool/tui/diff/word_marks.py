"""Differing words of a line and its replacement.

The words that both lines start and end with are skipped. The words between them are compared by
their longest common subsequence (https://en.wikipedia.org/wiki/Longest_common_subsequence) if they
are few, so that the cost has a limit that does not depend on the lines.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]
"""The first character and the one after the last."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_COMPARISONS = 4_000
"""Pairs of words that are compared; otherwise everything in between counts as changed."""
_MIN_SHARED = 0.3
"""Minimum share of equal characters; lines with fewer have no marks."""


def find_changed_words(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Return the ranges of both lines that differ; none if the lines have little in common."""
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    shortest = min(len(old_words), len(new_words))
    start = next((at for at in range(shortest) if old_words[at] != new_words[at]), shortest)
    end = 0
    while end < shortest - start and old_words[-1 - end] == new_words[-1 - end]:
        end += 1
    old_same, new_same = _shared_words(
        old_words[start : len(old_words) - end], new_words[start : len(new_words) - end]
    )
    old_flags = [True] * start + old_same + [True] * end
    new_flags = [True] * start + new_same + [True] * end
    shared = sum(len(word.strip()) for word, same in zip(old_words, old_flags, strict=True) if same)
    longest = max(sum(map(len, map(str.strip, words))) for words in (old_words, new_words))
    if shared < _MIN_SHARED * longest:
        return [], []
    return _changed_ranges(old_words, old_flags), _changed_ranges(new_words, new_flags)


def _shared_words(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return for each word whether it belongs to the longest common subsequence."""
    old_same, new_same = [False] * len(old), [False] * len(new)
    if len(old) * len(new) > _MAX_COMPARISONS:
        return old_same, new_same
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for at in reversed(range(len(old))):
        row, below = lengths[at], lengths[at + 1]
        for other in reversed(range(len(new))):
            if old[at] == new[other]:
                row[other] = below[other + 1] + 1
            else:
                row[other] = max(below[other], row[other + 1])
    at = other = 0
    while at < len(old) and other < len(new):
        if old[at] == new[other]:
            old_same[at] = new_same[other] = True
            at, other = at + 1, other + 1
        elif lengths[at + 1][other] >= lengths[at][other + 1]:
            at += 1
        else:
            other += 1
    return old_same, new_same


def _changed_ranges(words: Sequence[str], flags: Sequence[bool]) -> list[Range]:
    """Return the ranges of words without a flag; spaces between two of them are included."""
    ranges: list[Range] = []
    position = 0
    space_since = -1  # where a range ended before spaces only
    for word, same in zip(words, flags, strict=True):
        following = position + len(word)
        if not same:
            begin = ranges.pop()[0] if ranges and space_since == ranges[-1][1] else position
            ranges.append((begin, following))
            space_since = following
        elif word.strip():
            space_since = -1
        position = following
    return ranges
