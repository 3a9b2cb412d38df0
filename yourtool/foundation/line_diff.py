"""Line differences in limited time.

The limit holds for any content of the two lists of lines. `difflib` takes cubic time for lines that
occur many times. So lines that occur once on both sides split the texts first (patience diff,
https://bramcohen.livejournal.com/73318.html), and a part between them that would take too long is
one replacement.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

_MAX_WORK = 150_000_000
"""Pairs of equal lines times lines, summed over the parts that are compared: 0.5 s."""
_MAX_WHOLE = 200
"""Lines that are compared without a split."""

Line = TypeVar("Line", bound=Hashable)
Match: TypeAlias = tuple[int, int, int]
"""Where equal lines start on both sides, and how many they are."""
Opcode: TypeAlias = tuple[str, int, int, int, int]
"""`equal`, `replace`, `delete` or `insert` with both ranges, as in `difflib`."""


def compare_lines(old: Sequence[Line], new: Sequence[Line]) -> list[Opcode]:
    """Return how `old` becomes `new`."""
    matches = list[Match]()
    budget = _MAX_WORK
    for start, end, new_start, new_end in _split(old, new):
        part, other = old[start:end], new[new_start:new_end]
        head = _count_equal(part, other)
        tail = _count_equal(part[head:][::-1], other[head:][::-1])
        matches.append((start, new_start, head))
        inner, inner_new = part[head : len(part) - tail], other[head : len(other) - tail]
        work = _estimate_work(inner, inner_new)
        if work <= budget:
            budget -= work
            found = _build_matcher(inner, inner_new).get_matching_blocks()
            matches += ((start + head + a, new_start + head + b, size) for a, b, size in found)
        matches.append((end - tail, new_end - tail, tail))
    return list(_to_opcodes(_merge(matches), len(old), len(new)))


def format_unified(
    names: tuple[str, str], old: Sequence[str], new: Sequence[str], around: int = 3
) -> list[str]:
    """Return the lines of a unified diff, empty without a difference.

    https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
    """
    lines = list[str]()
    matcher = _build_matcher()
    matcher.opcodes = compare_lines(old, new)
    for group in matcher.get_grouped_opcodes(around):
        ranges = _format_range(group[0][1], group[-1][2]), _format_range(group[0][3], group[-1][4])
        lines.append(f"@@ -{ranges[0]} +{ranges[1]} @@")
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                lines += (f" {line}" for line in old[start:end])
            else:
                lines += (f"-{line}" for line in old[start:end])
                lines += (f"+{line}" for line in new[new_start:new_end])
    return [f"--- {names[0]}", f"+++ {names[1]}", *lines] if lines else []


def _build_matcher(old: Sequence[Any] = (), new: Sequence[Any] = ()) -> Any:
    """Return a `SequenceMatcher`, whose module most runs of one prompt do not need."""
    return import_module("difflib").SequenceMatcher(None, old, new)


def _split(old: Sequence[Line], new: Sequence[Line]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges between lines that occur once on both sides, each from such a line on."""
    if max(len(old), len(new)) <= _MAX_WHOLE:
        yield 0, len(old), 0, len(new)
        return
    counts, new_counts = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if new_counts[line] == 1}
    pairs = [
        (at, places[line]) for at, line in enumerate(old) if counts[line] == 1 and line in places
    ]
    anchors = [(0, 0), *_find_increasing(pairs), (len(old), len(new))]
    for (start, new_start), (end, new_end) in pairwise(anchors):
        yield start, end, new_start, new_end


def _find_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs whose second numbers increase; the first ones do."""
    tops, ends, before = list[int](), list[int](), list[int]()
    for at, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(place)
            ends.append(at)
        else:
            tops[pile], ends[pile] = place, at
    chain, at = list[tuple[int, int]](), ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _count_equal(old: Sequence[Line], new: Sequence[Line]) -> int:
    shorter = min(len(old), len(new))
    return next((at for at in range(shorter) if old[at] != new[at]), shorter)


def _estimate_work(old: Sequence[Line], new: Sequence[Line]) -> int:
    """Return pairs of equal lines times lines; `difflib` skips lines that fill a hundredth."""
    counts, most = Counter(new), len(new) // 100 + 1 if len(new) >= 200 else len(new)
    pairs = sum(counts[line] for line in old if counts[line] <= most)
    return pairs * min(len(old), len(new))


def _merge(matches: Iterable[Match]) -> list[Match]:
    """Return the matches that are not empty, those that touch each other as one."""
    merged = list[Match]()
    for start, new_start, size in matches:
        before = merged[-1] if merged else (0, 0, 0)
        if merged and (before[0] + before[2], before[1] + before[2]) == (start, new_start):
            merged[-1] = (before[0], before[1], before[2] + size)
        elif size:
            merged.append((start, new_start, size))
    return merged


def _to_opcodes(matches: Sequence[Match], end: int, new_end: int) -> Iterator[Opcode]:
    """Yield the ranges that match, and those between them."""
    at = new_at = 0
    for start, new_start, size in [*matches, (end, new_end, 0)]:
        if at < start or new_at < new_start:
            kind = "insert" if at == start else "delete" if new_at == new_start else "replace"
            yield kind, at, start, new_at, new_start
        at, new_at = start + size, new_start + size
        if size:
            yield "equal", start, at, new_start, new_at


def _format_range(start: int, end: int) -> str:
    """Return a range as a line and a length; an empty one names the line before it."""
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
