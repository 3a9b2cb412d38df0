"""Lines of styled text before painting.

A line is independent of colours, widgets and the terminal; `themes.Palette` resolves the style
names when a line is painted. The text of a span is already printable.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len, split_graphemes

Span: TypeAlias = tuple[str, str]
"""Text and its style: names separated by spaces, of which later ones take precedence."""

TARGET = "target:"
"""Start of the style name with the address that the text opens; `parse_link` returns it."""
TAB = 4
"""Columns from one tab stop to the next."""

_SLICE = 2_000
"""Characters of a paragraph that are wrapped at once; more than the longest row."""

_MAX_GRAPHEME = 16
"""Largest number of characters of a grapheme; real emoji and syllables have fewer."""

_NARROW = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0588\u2010-\u2027\u2030-\u205e"
    "\u2190-\u2199\u2500-\u259f]*"
)


class Source:
    """The source text of a block of lines; copying the entire block returns it."""

    __slots__ = ("_parts",)

    def __init__(self, text: str = "") -> None:
        self._parts = [text]

    @property
    def text(self) -> str:
        """The current source text."""
        return "".join(self._parts)

    def append(self, text: str) -> None:
        """Append text; a long block is built in slices."""
        self._parts.append(text)


class StyledLine(NamedTuple):
    """One row of the screen, at most as wide as the width it was built for."""

    spans: tuple[Span, ...]
    source: Source | None = None
    """Shared by all rows of a block; None for decoration that is never copied."""
    fill: str = ""
    """The style of the cells to the right of the text."""
    separator: str = "\n"
    """The source text between the previous row and this one: a line feed, a space or nothing."""
    restyle: "Callable[[], Sequence[Span]] | None" = None
    """Returns the spans with more styles, computed when the row is painted."""

    @property
    def text(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.spans)

    @property
    def painted_spans(self) -> Sequence[Span]:
        """The same text with all styles."""
        return self.spans if self.restyle is None else self.restyle()

    def with_prefix(self, prefix: Span) -> "StyledLine":
        """Return the line with a span in front of it."""
        restyle = self.restyle
        return self._replace(
            spans=(prefix, *self.spans),
            restyle=None if restyle is None else lambda: (prefix, *restyle()),
        )


BLANK = StyledLine(())


class Highlighter(Protocol):
    """Highlights code line by line, with state from the lines before."""

    def highlight(self, text: str) -> list[Span]:
        """Return the spans of the next line."""
        ...

    def fork(self) -> "Highlighter":
        """Return a copy with the same state."""
        ...


class HighlighterFactory(Protocol):
    """Creates the highlighter of a language."""

    def __call__(self, language: str) -> Highlighter | None:
        """Return a new highlighter for a language or a file name; None if it is unknown."""
        ...


def cell_width(spans: Iterable[Span]) -> int:
    """Return the width of the spans in cells."""
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in spans)


def expand_tabs(text: str) -> str:
    """Replace tabs by spaces up to the next tab stop."""
    return text.expandtabs(TAB) if "\t" in text else text


def iter_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text like `text.split("\\n")`."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def truncate(text: str, width: int) -> str:
    """Return `text`, cut to `width` with an ellipsis if it does not fit."""
    if (len(text) if text.isascii() else cell_len(text)) <= width:
        return text
    end = find_breaks(text, max(1, width - 1), words=False)[0][1]
    return text[:end] + "…"


def find_breaks(text: str, width: int, *, words: bool = True) -> list[tuple[int, int]]:
    """Return the pieces of a paragraph, as offsets, that fit into `width` cells each.

    A width below one counts as one, so that no piece is empty. A grapheme of more than
    `_MAX_GRAPHEME` characters counts as several, so that a narrow piece is never very long.
    Breaks are at spaces, which are dropped, and next to wide characters; a longer word breaks
    between graphemes. With `words=False` every break is at the last cell, nothing is dropped, and
    combining marks count for the largest width that any terminal gives them.
    """
    width = max(1, width)
    if _NARROW.fullmatch(text):
        return _narrow_breaks(text, width, words)
    pieces: list[tuple[int, int]] = []
    start = used = 0
    chance: tuple[int, int, int] | None = None  # end of piece, start of next, cells up to there
    for begin, end, least in _graphemes(text):
        cells = (
            least
            if words or end - begin == 1
            else least + _count_spacing_marks(text[begin + 1 : end])
        )
        if text[begin] == " " and words:
            chance = (begin, end, used + cells)
            if used + cells > width + 1:
                used += cells
                continue
        elif cells > 1 and begin > start and used <= width:
            chance = (begin, begin, used)
        if used + cells > width and begin > start and not (words and text[begin] == " "):
            cut, following, passed = chance if chance and words else (begin, begin, used)
            pieces.append((start, _strip_end(text, start, cut) if words else cut))
            start, used, chance = following, used - passed, None
        used += cells
    end = len(text)
    return [*pieces, (start, _strip_end(text, start, end) if words and used > width else end)]


def wrap_pieces(pieces: Iterable[str], width: int) -> Iterator[str]:
    """Yield the rows of a paragraph that arrives in pieces, broken with `words=False`.

    A row is final when the next one starts, so a long paragraph is not wrapped at once.
    """
    rest = ""
    for piece in pieces:
        for at in range(0, len(piece), _SLICE):
            rest += piece[at : at + _SLICE]
            if len(rest) >= _SLICE:
                *rows, last = find_breaks(rest, width, words=False)
                yield from (rest[begin:end] for begin, end in rows)
                rest = rest[last[0] :]
    yield from (rest[begin:end] for begin, end in find_breaks(rest, width, words=False))


def _graphemes(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and width in cells of the graphemes."""
    for begin, end, cells in split_graphemes(text)[0]:
        yield begin, min(end, begin + _MAX_GRAPHEME), cells
        for at in range(begin + _MAX_GRAPHEME, end, _MAX_GRAPHEME):
            yield at, min(end, at + _MAX_GRAPHEME), 2  # like an emoji at the start of a row


def max_cell_width(text: str) -> int:
    """Return the largest number of cells that any terminal gives to a text."""
    if text.isascii():
        return len(text)
    return cell_len(text) + _count_spacing_marks(text)


def _count_spacing_marks(marks: str) -> int:
    """Return how many marks take a separate cell on some terminals."""
    return sum(unicodedata.category(mark) == "Mc" for mark in marks)


def _strip_end(text: str, start: int, end: int) -> int:
    """Return the end of a piece without its trailing spaces."""
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
    """Break spans into rows of at most `width` cells; a line feed always starts a new row."""
    return [row for row, _ in wrap_with_separators(spans, width, words=words)]


def wrap_with_separators(
    spans: Sequence[Span], width: int, *, words: bool = True
) -> list[tuple[tuple[Span, ...], str]]:
    """Return the rows of `wrap`, each with the text that separates it from the previous row."""
    text = "".join(part for part, _ in spans)
    if "\n" not in text and len(text) <= width and text.isascii():
        return [(tuple(span for span in spans if span[0]), "\n")]
    cuts: list[tuple[int, int]] = []
    separators: list[str] = []
    offset = 0
    for paragraph in text.split("\n"):
        pieces = find_breaks(paragraph, width, words=words)
        cuts += [(offset + start, offset + end) for start, end in pieces]
        ends = itertools.pairwise(pieces)
        separators += ["\n", *(" " if before[1] < after[0] else "" for before, after in ends)]
        offset += len(paragraph) + 1
    return list(zip(cut_spans(spans, cuts), separators, strict=True))


def cut_spans(spans: Sequence[Span], cuts: Sequence[tuple[int, int]]) -> list[tuple[Span, ...]]:
    """Return the spans of each range of characters; the ranges are in order."""
    rows: list[tuple[Span, ...]] = []
    index = offset = 0  # the current span and its start
    for start, end in cuts:
        row: list[Span] = []
        while index < len(spans):
            text, style = spans[index]
            stop = offset + len(text)
            if stop > start and offset < end:
                row.append((text[max(0, start - offset) : end - offset], style))
            if stop > end:
                break
            index, offset = index + 1, stop
        rows.append(tuple(row))
    return rows
