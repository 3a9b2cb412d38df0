"""Lines of styled text before they are painted: spans of words and the names of their styles.

A line knows nothing of colours, widgets or the terminal; `themes.Palette` turns the names (inks)
into styles when a line is painted. Text that goes into a span is already printable.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes

Span: TypeAlias = tuple[str, str]
"""Text and its ink: names of styles, separated by spaces; later ones win."""

TAB = 4
"""Columns from one tab stop to the next."""

_PART = 2_000
"""Characters of a paragraph that are cut into rows at once; more than any row has."""

_GRAPHEME = 16
"""Characters of a grapheme; the longest emoji and syllables have fewer."""

_NARROW = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0588\u2010-\u2027\u2030-\u205e"
    "\u2190-\u2199\u2500-\u259f]*"
)


class Source:
    """The text that a block of lines was made from; what copying the whole block gives."""

    __slots__ = ("_parts",)

    def __init__(self, text: str = "") -> None:
        self._parts = [text]

    @property
    def text(self) -> str:
        """All of it, as of now."""
        return "".join(self._parts)

    def add(self, text: str) -> None:
        """Take more: a long block is made in parts."""
        self._parts.append(text)


class StyledLine(NamedTuple):
    """One row of the screen, not wider than the width it was made for."""

    spans: tuple[Span, ...]
    source: Source | None = None
    """Shared by all rows of a block; None: decoration that is never copied."""
    fill: str = ""
    """The ink of the cells right of the text."""
    joint: str = "\n"
    """What stood between the row before and this one: a space or nothing where a line was cut."""

    @property
    def text(self) -> str:
        """The words alone."""
        return "".join(text for text, _ in self.spans)


BLANK = StyledLine(())


def width_of(spans: Iterable[Span]) -> int:
    """Return how many cells the spans take."""
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in spans)


def expand_tabs(text: str) -> str:
    """Replace tabs by spaces up to the next tab stop."""
    return text.expandtabs(TAB) if "\t" in text else text


def lines_of(text: str) -> Iterator[str]:
    """Return the lines of a text as `split` does, each when it is asked for."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def clip(text: str, width: int) -> str:
    """Return as much of `text` as fits, with an ellipsis where it was cut."""
    if (len(text) if text.isascii() else cell_len(text)) <= width:
        return text
    end = breaks(text, max(1, width - 1), words=False)[0][1]
    return text[:end] + "…"


def breaks(text: str, width: int, *, words: bool = True) -> list[tuple[int, int]]:
    """Return the pieces of one paragraph, as offsets, that fit into `width` cells each.

    A width below one cell counts as one, so that every piece takes something. A grapheme of more
    than `_GRAPHEME` characters counts as several, so that no piece is long without being wide.
    Cuts at spaces, which are dropped there, and beside wide characters; a longer word is cut
    between graphemes. With `words=False` every cut is made at the last cell and nothing dropped,
    and marks count for as many cells as any terminal gives them.
    """
    width = max(1, width)
    if _NARROW.fullmatch(text):
        return _narrow_breaks(text, width, words)
    pieces: list[tuple[int, int]] = []
    start = used = 0
    chance: tuple[int, int, int] | None = None  # end of piece, start of next, cells up to there
    for begin, end, least in _graphemes(text):
        cells = least if words or end - begin == 1 else least + _spacing(text[begin + 1 : end])
        if text[begin] == " " and words:
            chance = (begin, end, used + cells)
            if used + cells > width + 1:
                used += cells
                continue
        elif cells > 1 and begin > start and used <= width:
            chance = (begin, begin, used)
        if used + cells > width and begin > start and not (words and text[begin] == " "):
            cut, following, passed = chance if chance and words else (begin, begin, used)
            pieces.append((start, _without_spaces(text, start, cut) if words else cut))
            start, used, chance = following, used - passed, None
        used += cells
    end = len(text)
    return [*pieces, (start, _without_spaces(text, start, end) if words and used > width else end)]


def cut_pieces(pieces: Iterable[str], width: int) -> Iterator[str]:
    """Return the rows of a paragraph that comes in pieces, as `breaks` without `words` cuts it.

    A row is final as soon as another one begins, so a long paragraph need not be cut at once.
    """
    rest = ""
    for piece in pieces:
        for at in range(0, len(piece), _PART):
            rest += piece[at : at + _PART]
            if len(rest) >= _PART:
                *rows, last = breaks(rest, width, words=False)
                yield from (rest[begin:end] for begin, end in rows)
                rest = rest[last[0] :]
    yield from (rest[begin:end] for begin, end in breaks(rest, width, words=False))


def _graphemes(text: str) -> Iterator[tuple[int, int, int]]:
    """Return where graphemes begin and end, and how many cells they take."""
    for begin, end, cells in split_graphemes(text)[0]:
        yield begin, min(end, begin + _GRAPHEME), cells
        for at in range(begin + _GRAPHEME, end, _GRAPHEME):
            yield at, min(end, at + _GRAPHEME), 2  # as an emoji at the beginning of a row


def _spacing(marks: str) -> int:
    """Return how many marks have a cell of their own on some terminals."""
    return sum(unicodedata.category(mark) == "Mc" for mark in marks)


def _without_spaces(text: str, start: int, end: int) -> int:
    """Return where a piece ends when the spaces at its end are dropped."""
    return start + len(text[start:end].rstrip(" "))


def _narrow_breaks(text: str, width: int, words: bool) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    start, length = 0, len(text)
    while length - start > width:
        cut = text.rfind(" ", start, start + width + 1) if words else -1
        if cut <= start or not text[start:cut].strip():
            pieces.append((start, start + width))
            start += width
            continue
        following = cut + 1
        while following < length and text[following] == " ":
            following += 1
        while cut > start and text[cut - 1] == " ":
            cut -= 1
        pieces.append((start, cut))
        start = following
    return pieces if pieces and start == length else [*pieces, (start, length)]


def wrap(spans: Sequence[Span], width: int, *, words: bool = True) -> list[tuple[Span, ...]]:
    """Break spans into rows of at most `width` cells; a line feed always begins a new row."""
    return [row for row, _ in wrap_lines(spans, width, words=words)]


def wrap_lines(
    spans: Sequence[Span], width: int, *, words: bool = True
) -> list[tuple[tuple[Span, ...], str]]:
    """Return the rows of `wrap`, each with what stood in the text before it."""
    text = "".join(part for part, _ in spans)
    if "\n" not in text and len(text) <= width and text.isascii():
        return [(tuple(span for span in spans if span[0]), "\n")]
    cuts: list[tuple[int, int]] = []
    joints: list[str] = []
    offset = 0
    for paragraph in text.split("\n"):
        pieces = breaks(paragraph, width, words=words)
        cuts += [(offset + start, offset + end) for start, end in pieces]
        ends = itertools.pairwise(pieces)
        joints += ["\n", *(" " if before[1] < after[0] else "" for before, after in ends)]
        offset += len(paragraph) + 1
    return list(zip(_cut(spans, cuts), joints, strict=True))


def _cut(spans: Sequence[Span], cuts: Sequence[tuple[int, int]]) -> list[tuple[Span, ...]]:
    rows: list[tuple[Span, ...]] = []
    index = offset = 0  # the current span and where it begins
    for start, end in cuts:
        row: list[Span] = []
        while index < len(spans):
            text, ink = spans[index]
            stop = offset + len(text)
            if stop > start and offset < end:
                row.append((text[max(0, start - offset) : end - offset], ink))
            if stop > end:
                break
            index, offset = index + 1, stop
        rows.append(tuple(row))
    return rows
