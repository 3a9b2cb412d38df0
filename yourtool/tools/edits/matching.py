"""Tolerant search for the text to replace.

Texts have LF line endings. The steps are in the order of `Match.step`, and the first that finds
the text decides; if it finds several places, the edit is ambiguous. All steps but the first compare
whole lines, or a single range of characters. The replacement has the characters, the indentation
and the trailing space of the file where the new text repeats the old one. Costs are linear.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.tools.edits.indentation import Shift, ShiftError, find_shift, indentation
from yourtool.tools.edits.plain_forms import carry_characters, iter_spans, to_plain

MAX_COUNTED = 100
"""Maximum occurrences of an ambiguous text that are counted."""
MAX_LINES = 500_000
"""In files with more lines, only the exact text is found."""

_NUMBER_AND_TEXT = re.compile(r" {0,20}(\d{1,12})[\t\u2192]")
_NUMBER = re.compile(r" {0,20}(\d{1,12})(?:[\t\u2192]|$)")
"""The number of a line as `read_file` shows it, or with the arrow of other programs."""
_MAX_COMPARED_LINES = 200_000
"""Lines of possible places whose indentation is compared."""
_MAX_COMPARED_CHARACTERS = 20_000_000
_TRAILING_SPACE = "without regard to trailing space"
_PLAIN_FORMS = "with typographic characters taken as plain ones"
_NUMBERLESS = "without copied line numbers"


class Match(Struct, frozen=True):
    """The places where the old text of an edit occurs."""

    places: tuple[tuple[int, int], ...]
    """Ranges in the text, which can overlap; at most `MAX_COUNTED`."""
    new: str = ""
    """What replaces the text, if there is one place."""
    step: str = ""
    """How the old text was matched, as part of a sentence; empty if it is exact."""
    problem: str = ""
    """Why the one place cannot be replaced."""


class LineMatch(Struct, frozen=True):
    """The places where whole lines occur."""

    places: tuple[int, ...]
    """The first line of each, from 0; at most `MAX_COUNTED`."""
    lines: tuple[str, ...] = ()
    """What replaces the lines, if there is one place."""
    step: str = ""
    """As in `Match`."""
    problem: str = ""
    """As in `Match`."""


Windows: TypeAlias = Sequence[range]
"""Ranges of lines in which a place can start; in order, without overlaps."""


class _Piece(Struct, frozen=True):
    """The texts of an edit as lines, without a line end that both have at the start or end."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    has_final_newline: bool
    """Whether the old text ends with a line end that the new one does not have."""
    adds_newline: bool
    """Whether the new text ends with a line end that the old one does not have."""


class FileText:
    """The text of a file, with its lines in the forms that the steps compare."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """The position of each line."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def plain(self) -> "FileText":
        """The text with plain characters, at the same positions."""
        plain = to_plain(self.text)
        return self if plain == self.text else FileText(plain)

    @cached_property
    def _exact(self) -> "_SearchedLines":
        return _SearchedLines(self.lines, str)

    @cached_property
    def _right_stripped(self) -> "_SearchedLines":
        return _SearchedLines(self.lines, str.rstrip)

    @cached_property
    def _stripped(self) -> "_SearchedLines":
        return _SearchedLines(self.lines, str.strip)

    def find_exactly(self, old: Sequence[str], within: Windows) -> list[int]:
        """Return the first lines of the places that do not differ."""
        return self._exact.find(old, MAX_COUNTED, within)

    def find_without_trailing_space(
        self, old: Sequence[str], within: Windows | None = None
    ) -> list[int]:
        """Return the first lines of the places that differ in trailing space only."""
        return self._right_stripped.find(old, MAX_COUNTED, within)

    def find_shifted(
        self, old: Sequence[str], within: Windows | None = None
    ) -> list[tuple[int, Shift]]:
        """Return the first lines of the places that are indented differently."""
        size = len(old)
        length = sum(map(len, old)) + 1
        most = max(2, min(_MAX_COMPARED_LINES // size, _MAX_COMPARED_CHARACTERS // length))
        if len(places := self._stripped.find(old, most + 1, within)) > most:
            return []
        shifts = ((at, find_shift(self.lines[at : at + size], old)) for at in places)
        return [(at, shift) for at, shift in shifts if shift is not None]


class _SearchedLines:
    """Lines in a normal form, joined so that a sequence of them is found in linear time."""

    def __init__(self, lines: Sequence[str], form: Callable[[str], str]) -> None:
        self._form = form
        forms = [form(line) for line in lines]
        self._joined = "\n" + "\n".join(forms) + "\n"
        self._starts = list(accumulate((len(line) + 1 for line in forms), initial=0))

    def find(self, lines: Sequence[str], most: int, within: Windows | None = None) -> list[int]:
        """Return up to `most` numbers of lines, from 0, where this sequence starts."""
        wanted = "\n" + "\n".join(map(self._form, lines)) + "\n"
        found = list[int]()
        for window in within or (range(len(self._starts) - 1),):
            begin, end = self._starts[window.start], self._starts[window.stop] - 1
            places = _iter_places(self._joined, wanted, most - len(found), begin, end + len(wanted))
            found += (bisect_left(self._starts, at) for at in places)
        return found


def find_match(file: FileText, old: str, new: str) -> Match | None:
    """Return where the old text of an edit occurs, and what replaces it; None if nowhere."""
    if places := find_places(file.text, old):
        return Match(tuple((at, at + len(old)) for at in places), new)
    if (match := _find_tolerantly(file, old, new)) is not None:
        return match
    if (numberless := _strip_numbers(old)) is None:
        return None
    new = _strip_given_numbers(new)
    if places := find_places(file.text, numberless):
        return Match(tuple((at, at + len(numberless)) for at in places), new, _NUMBERLESS)
    if (match := _find_tolerantly(file, numberless, new)) is None:
        return None
    return replace(match, step=f"{_NUMBERLESS}, {match.step}")


def find_places(text: str, old: str) -> list[int]:
    """Return up to `MAX_COUNTED` positions of `old`, overlapping ones included."""
    return list(_iter_places(text, old, MAX_COUNTED))


def _iter_places(
    text: str, old: str, most: int, begin: int = 0, end: int | None = None
) -> Iterator[int]:
    at = text.find(old, begin, end)
    while at >= 0 and most:
        yield at
        most -= 1
        at = text.find(old, at + 1, end)


def find_lines(
    file: FileText, old: Sequence[str], new: Sequence[str], within: Windows
) -> LineMatch | None:
    """Return where lines occur that start in one of the windows, and what replaces them.

    None if nowhere. The file has at most `MAX_LINES`.
    """
    if (match := _find_lines_in_forms(file, old, new, within)) is not None:
        return match
    if (numberless := _strip_numbers("\n".join(old))) is None:
        return None
    new = _strip_given_numbers("\n".join(new)).split("\n") if new else ()
    if (match := _find_lines_in_forms(file, numberless.split("\n"), new, within)) is None:
        return None
    return replace(match, step=", ".join(filter(None, (_NUMBERLESS, match.step))))


def _find_lines_in_forms(
    file: FileText, old: Sequence[str], new: Sequence[str], within: Windows
) -> LineMatch | None:
    if places := file.find_exactly(old, within):
        return LineMatch(tuple(places), tuple(new))
    if not any(line.strip() for line in old):
        return None
    piece = _Piece(tuple(old), tuple(new), has_final_newline=False, adds_newline=False)
    if (match := _find_in_form(file, piece, within, is_plain=False)) is not None:
        return match
    if file.plain is file and all(to_plain(line) == line for line in old):
        return None
    return _find_in_form(file, piece, within, is_plain=True)


def _find_tolerantly(file: FileText, old: str, new: str) -> Match | None:
    piece = _build_piece(old, new)
    is_blank = not any(line.strip() for line in piece.old)
    if is_blank or file.text.count("\n") > MAX_LINES:
        return None
    if (match := _find_in_form(file, piece, None, is_plain=False)) is not None:
        return _to_match(file, piece, match)
    plain_old, plain = to_plain(old), file.plain
    if plain is file and plain_old == old:
        return None
    if places := find_places(plain.text, plain_old):
        ranges = tuple((at, at + len(old)) for at in places)
        found = file.text[slice(*ranges[0])]
        return Match(ranges, carry_characters(found, old, new), _PLAIN_FORMS)
    match = _find_in_form(file, piece, None, is_plain=True)
    return None if match is None else _to_match(file, piece, match)


def _find_in_form(
    file: FileText, piece: _Piece, within: Windows | None, *, is_plain: bool
) -> LineMatch | None:
    form, old, step = file, piece.old, ""
    if is_plain:
        form, old, step = file.plain, tuple(map(to_plain, old)), _PLAIN_FORMS
    if places := form.find_without_trailing_space(old, within):
        found = [(at, None) for at in places]
        return _match_lines(file, piece, found, step or _TRAILING_SPACE)
    if shifted := form.find_shifted(old, within):
        return _match_lines(file, piece, shifted, step)
    return None


def _build_piece(old: str, new: str) -> _Piece:
    if old.startswith("\n") and new.startswith("\n"):
        old, new = old[1:], new[1:]
    ends = old.endswith("\n"), new.endswith("\n")
    lines = old.removesuffix("\n").split("\n"), new.removesuffix("\n").split("\n")
    new_lines = lines[1] if new else []
    has_final, adds = ends[0] and not ends[1], ends[1] and not ends[0]
    return _Piece(tuple(lines[0]), tuple(new_lines), has_final, adds)


def _match_lines(
    file: FileText, piece: _Piece, found: Sequence[tuple[int, Shift | None]], step: str
) -> LineMatch:
    """Return the match of whole lines at one place, or at several."""
    places = tuple(at for at, _ in found[:MAX_COUNTED])
    at, shift = found[0]
    text = ", ".join(filter(None, (shift.describe() if shift else "", step)))
    if len(found) > 1:
        return LineMatch(places, step=text)
    lines = file.lines[at : at + len(piece.old)]
    try:
        new = tuple(_carry_lines(lines, piece, shift))
    except ShiftError:
        problem = (
            f"the text is in the file {text}, but a line of `new` has less indentation than that"
            " removes"
        )
        return LineMatch(places, step=text, problem=problem)
    return LineMatch(places, new, text)


def _to_match(file: FileText, piece: _Piece, match: LineMatch) -> Match:
    """Return the match of lines as ranges of characters."""
    ranges = tuple(_range(file, piece, at) for at in match.places)
    is_replaced = len(ranges) == 1 and not match.problem
    new = "\n".join(match.lines) + "\n" * piece.adds_newline if is_replaced else ""
    return Match(ranges, new, match.step, match.problem)


def _range(file: FileText, piece: _Piece, at: int) -> tuple[int, int]:
    """Return the range of the lines; without their last line end, unless `old` has one more."""
    end = file.starts[at + len(piece.old)] - (not piece.has_final_newline)
    return file.starts[at], min(end, len(file.text))


def _carry_lines(found: Sequence[str], piece: _Piece, shift: Shift | None) -> Iterator[str]:
    """Yield the new lines in the form of the file.

    Lines that `new` repeats from `old` are the lines of the file.

    Raises:
        ShiftError: a new line has less indentation than the shift removes.
    """
    old, new = [line.rstrip() for line in piece.old], [line.rstrip() for line in piece.new]
    contents = _carry_contents(found, old, new)
    for span in iter_spans(old, new):
        if span.kind == "equal":
            yield from found[span.start : span.end]
            continue
        is_paired = span.end - span.start == span.new_end - span.new_start
        for number in range(span.new_start, span.new_end):
            line = piece.new[number]
            end = line[len(new[number]) :]
            if is_paired:
                pair = span.start + number - span.new_start
                if piece.old[pair][len(old[pair]) :] == end:
                    end = found[pair][len(found[pair].rstrip()) :]
            if not new[number]:
                yield end if shift is None else ""
                continue
            space = to_plain(indentation(line)) if shift else indentation(line)
            yield (shift.apply(space) if shift else space) + contents[number] + end


def _carry_contents(found: Sequence[str], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the new lines without surrounding space, with the characters of the file."""
    ours, theirs, texts = ("\n".join(line.strip() for line in lines) for lines in (found, old, new))
    return carry_characters(ours, theirs, texts).split("\n")


def _strip_numbers(text: str) -> str | None:
    """Return a text without the numbers before its lines; None if not all lines have the next."""
    lines = text.removesuffix("\n").split("\n")
    found = [_NUMBER.match(line) for line in lines]
    numbers = [int(match[1][:9]) if match else -1 for match in found]
    if numbers[0] < 0 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    stripped = _strip_given_numbers(text)
    return stripped if stripped.strip() else None


def _strip_given_numbers(text: str) -> str:
    """Return a text without the numbers before its lines, which only some lines can have."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    number = _NUMBER if all(map(_NUMBER.match, lines)) else _NUMBER_AND_TEXT
    return "\n".join(number.sub("", line, count=1) for line in lines) + text[len(body) :]
