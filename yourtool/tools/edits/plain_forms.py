"""Plain characters for typographic ones.

Every character has exactly one plain character, so positions in a text do not change.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_FORMS = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u02bc",
    '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    " ": "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000",
}
_PLAIN = {form: plain for plain, forms in _FORMS.items() for form in forms}
_STRAY = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, for which a model reads U+FFFD; see `Encoding.errors`."""
_ANY = re.compile(f"[{''.join(_PLAIN)}]|{_STRAY.pattern}")
_TOKEN = re.compile(r"\w+|[^\S\n]+|.", re.DOTALL)
_MAX_PAIRS = 40_000
"""Pairs of items that a comparison considers; more are compared at both ends only."""


class Span(NamedTuple):
    """Equal or different parts of two sequences, as in `difflib`."""

    kind: Literal["equal", "other"]
    start: int
    end: int
    new_start: int
    new_end: int


def to_plain(text: str) -> str:
    """Return a text with plain characters; positions do not change."""
    if text.isascii():
        return text
    for form, plain in _PLAIN.items():  # much faster than `translate` in a long text
        if form in text:
            text = text.replace(form, plain)
    return _STRAY.sub("\ufffd", text)


def carry_characters(found: str, old: str, new: str) -> str:
    """Return `new` with the characters of `found` where it repeats `old`.

    `found` and `old` have the same plain form. If only `old` has typographic characters, they are
    a habit of the model, so `new` gets plain ones everywhere.
    """
    if found == old:
        return new
    if _ANY.search(old) and not _ANY.search(found):
        return to_plain(new)
    ours, theirs = _TOKEN.findall(old), _TOKEN.findall(new)
    starts = [0]
    for token in ours:
        starts.append(starts[-1] + len(token))
    return "".join(
        found[starts[span.start] : starts[span.end]]
        if span.kind == "equal"
        else "".join(theirs[span.new_start : span.new_end])
        for span in iter_spans(ours, theirs)
    )


def iter_spans(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """Yield the equal and the different parts of two sequences in limited time."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    most = shorter - start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    old_end, new_end = len(old) - end, len(new) - end
    if start:
        yield Span("equal", 0, start, 0, start)
    if (old_end - start) * (new_end - start) <= _MAX_PAIRS:
        matcher = SequenceMatcher(None, old[start:old_end], new[start:new_end], autojunk=False)
        for tag, *ends in matcher.get_opcodes():
            yield Span("equal" if tag == "equal" else "other", *(start + at for at in ends))
    else:
        yield Span("other", start, old_end, start, new_end)
    if end:
        yield Span("equal", old_end, len(old), new_end, len(new))
