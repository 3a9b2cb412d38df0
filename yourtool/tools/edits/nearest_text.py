"""Most similar region of a file.

Rare words of the text vote for the line where it would start; the best few places are compared
word by word. Costs are linear and limited.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from msgspec import Struct

from yourtool.foundation.masking import Mask
from yourtool.tools.edits.plain_forms import to_plain

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_LINES = 200_000
"""Lines of a file that are searched."""
_MAX_LINE_LENGTH = 2_000
"""Characters of a line that are searched and shown."""
_MAX_OLD_LINES = 1_000
_MAX_VOTES_OF_WORD = 400
"""Lines that contain a word; later ones do not count."""
_MAX_PLACES = 8
_MAX_COMPARED_WORDS = 200
_MIN_SIMILARITY = 0.4
_CONTEXT = 3
_MAX_SHOWN_LINES = 40
_MAX_WORD_LENGTH = 60


class _Difference(Struct, frozen=True):
    """The first word in which a region differs from the text."""

    line: int
    """From 0, in the file."""
    start: int
    end: int
    """The word in that line; empty if the text has a word more."""
    expected: str
    """The word of the text; empty if the file has a word more."""


def describe_nearest(text: str, old: str, mask: Mask, *, old_name: str = "`old`") -> str:
    """Return the most similar region with numbered lines and the first different word.

    Returns an empty text if no region is similar. `mask` replaces API keys, which can extend over
    the start or end of a line, for example in base64. `old_name`: what the model calls `old`.
    """
    lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
    wanted = old.strip("\n").split("\n", _MAX_OLD_LINES)[:_MAX_OLD_LINES]
    if (start := _find_region(lines, wanted)) is None:
        return ""
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    difference = _find_difference(lines, start, wanted)
    end = min(start + len(wanted), len(lines))
    first, last = max(0, start - _CONTEXT), min(end + _CONTEXT, len(lines) - (not lines[-1]))
    if last - first > _MAX_SHOWN_LINES:
        center = difference.line if difference else start
        first = max(first, center - _MAX_SHOWN_LINES // 2)
        last = min(last, first + _MAX_SHOWN_LINES)
    shown = "\n".join(
        f"{at + 1:>6}\t{_format_line(text, lines[at], starts[at], mask)}"
        for at in range(first, last)
    )
    words = ""
    if difference:
        words = _describe_difference(text, starts, difference, mask, old_name)
    return f"The most similar text is in line {start + 1}{words}:\n{shown}"


def _find_region(lines: Sequence[str], old: Sequence[str]) -> int | None:
    """Return the line where the most similar region starts."""
    wanted = defaultdict[str, list[int]](list)
    for number, line in enumerate(old):
        for word in set(_words(line)):
            wanted[word].append(number)
    found = defaultdict[str, list[int]](list)
    for number, line in enumerate(lines):
        for word in wanted.keys() & set(_words(line)):
            if len(found[word]) < _MAX_VOTES_OF_WORD:
                found[word].append(number)
    votes = Counter[int]()
    for word, places in found.items():
        weight = 1 / (len(places) * len(wanted[word]))
        for place in places:
            for number in wanted[word][: max(1, _MAX_VOTES_OF_WORD // len(places))]:
                votes[max(0, place - number)] += weight  # type: ignore[assignment] - a weight
    compared = [word for line in old for word in _words(line)][:_MAX_COMPARED_WORDS]
    best = [
        (_similarity(lines, at, len(old), compared), -at)
        for at, _ in votes.most_common(_MAX_PLACES)
    ]
    similarity, at = max(best, default=(0.0, 0))
    return -at if similarity >= _MIN_SIMILARITY else None


def _similarity(lines: Sequence[str], start: int, size: int, compared: list[str]) -> float:
    words = list[str]()
    for line in lines[start : start + size]:
        words += _words(line)
        if len(words) >= _MAX_COMPARED_WORDS:
            break
    return SequenceMatcher(None, words[:_MAX_COMPARED_WORDS], compared, autojunk=False).ratio()


def _words(line: str) -> list[str]:
    return _WORD.findall(line[:_MAX_LINE_LENGTH])


def _find_difference(lines: Sequence[str], start: int, old: Sequence[str]) -> _Difference | None:
    for number, line in enumerate(old):
        if (at := start + number) >= len(lines):
            return None
        ours, theirs = _tokens(lines[at]), _tokens(line)
        if [token for _, token in ours] == [token for _, token in theirs]:
            continue
        for index, (place, token) in enumerate(ours):
            expected = theirs[index][1] if index < len(theirs) else ""
            if token != expected:
                return _Difference(at, place, place + len(token), expected)
        return _Difference(at, len(lines[at]), len(lines[at]), theirs[len(ours)][1])
    return None


def _tokens(line: str) -> list[tuple[int, str]]:
    """Return the words and signs of a line with their positions; spaces within it count."""
    plain = to_plain(line[:_MAX_LINE_LENGTH])
    return list(_iter_tokens(plain.rstrip(), len(plain) - len(plain.lstrip())))


def _iter_tokens(plain: str, start: int) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(plain, start):
        yield match.start(), match.group()


def _describe_difference(
    text: str, starts: Sequence[int], found: _Difference, mask: Mask, old_name: str
) -> str:
    start = starts[found.line]
    size = min(found.end - found.start, _MAX_WORD_LENGTH)
    ours = mask.slice(text, start + found.start, start + found.start + size)
    place = f"; line {found.line + 1} has"
    if ours.isspace() or found.expected.isspace():
        return f"{place} other spaces than {old_name}"
    expected = found.expected[:_MAX_WORD_LENGTH]
    if not ours:
        return f"{place} nothing where {old_name} has `{expected}`"
    return f"{place} `{ours}` where {old_name} " + (f"has `{expected}`" if expected else "ends")


def _format_line(text: str, line: str, start: int, mask: Mask) -> str:
    length = len(line.removesuffix("\r"))
    more = f"… [{length - _MAX_LINE_LENGTH:,} more characters]" if length > _MAX_LINE_LENGTH else ""
    return mask.slice(text, start, start + min(length, _MAX_LINE_LENGTH)) + more
