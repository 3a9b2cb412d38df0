"""Parses unified diffs, lazily.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from yourtool.tui.lines.styled_lines import iter_lines

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_NEXT_HUNK = re.compile(r"\n@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_OLD_FILE = re.compile(r"--- (?:a/)?(.*?)(?:\t.*)?")
_FILE = re.compile(r"\+\+\+ (?:b/)?(.*?)(?:\t.*)?")
_NO_FILE = "/dev/null"
_MAX_REMOVED = 1_000
"""Maximum number of removed lines that are buffered until their replacements follow."""


class DiffSize(NamedTuple):
    """The numbers of added and removed lines."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} −{self.removed}"


class DiffRow(NamedTuple):
    """A line of a diff without its sign."""

    kind: str
    """` `, `+`, `-`, `@` (gap between hunks), `f` (file name) or `\\` (comment of `diff`)."""
    number: int
    """Number in the new file, or in the old file if the line is removed; 0 for other rows."""
    text: str
    old_number: int = 0
    """Number of an unchanged line in the old file."""


class Change(NamedTuple):
    """Adjacent lines that were removed and added; each replaces the one at the same index."""

    removed: tuple[DiffRow, ...]
    added: tuple[DiffRow, ...]


DiffPart: TypeAlias = DiffRow | Change


class DiffSummary(NamedTuple):
    """Facts about a diff, computed without parsing all of its lines."""

    size: DiffSize
    highest_number: int
    """Upper bound of the line numbers."""
    needs_names: bool
    """Whether several lines look like file names, or a file is moved."""
    is_one_sided: bool
    """Whether a file is created or deleted."""


def summarize_diff(diff: str) -> DiffSummary:
    """Return the summary of a diff, from the headers of its hunks."""
    first = _HUNK.match(diff)
    found = [first.groups()[:4]] if first else []
    found += _NEXT_HUNK.findall(diff)
    ranges = [tuple(int(number or 1) for number in each) for each in found]
    unchanged = diff.count("\n ")
    added = sum(each[3] for each in ranges) - unchanged
    removed = sum(each[1] for each in ranges) - unchanged
    highest = max((max(each[0] + each[1], each[2] + each[3]) for each in ranges), default=1) - 1
    several = diff.startswith("+++ ") + diff.count("\n+++ ") > 1
    names = diff[:2_000].split("\n", 2)[:2]
    one_sided = names[0] == f"--- {_NO_FILE}" or names[-1] == f"+++ {_NO_FILE}"
    moved = not one_sided and names[0].removeprefix("--- a/") != names[-1].removeprefix("+++ b/")
    size = DiffSize(max(0, added), max(0, removed))
    return DiffSummary(size, highest, several or moved, one_sided)


def parse_diff(diff: str) -> Iterator[DiffPart]:
    """Yield the rows of a diff; changed lines together with those that they replace."""
    removed, added = list[DiffRow](), list[DiffRow]()
    for row in _parse_rows(diff):
        is_change = row.kind in "+-" or (row.kind == "\\" and bool(removed or added))
        if (removed or added) and (not is_change or (row.kind == "-" and added)):
            yield Change(tuple(removed), tuple(added))
            removed.clear()
            added.clear()
        if not is_change:
            yield row
            continue
        (added if row.kind == "+" or added else removed).append(row)
        if len(added) >= len(removed) or len(removed) >= _MAX_REMOVED > len(added):
            yield Change(tuple(removed), tuple(added))
            removed.clear()
            added.clear()
    if removed or added:
        yield Change(tuple(removed), tuple(added))


def _describe_names(old: str, new: str) -> str:
    """Return the path of a file; of a moved one, both."""
    if new == _NO_FILE:
        return f"deleted: {old}"
    return new if old in (new, _NO_FILE) else f"moved: {old} → {new}"


def _parse_rows(diff: str) -> Iterator[DiffRow]:
    old = new = remaining_old = remaining_new = 0
    old_name = ""
    for line in iter_lines(diff):
        if remaining_old <= 0 and remaining_new <= 0:
            if hunk := _HUNK.fullmatch(line):
                old, new = int(hunk[1]), int(hunk[3])
                remaining_old, remaining_new = int(hunk[2] or 1), int(hunk[4] or 1)
                yield DiffRow("@", 0, hunk[5])
            elif file := _OLD_FILE.fullmatch(line):
                old_name = file[1]
            elif file := _FILE.fullmatch(line):
                yield DiffRow("f", 0, _describe_names(old_name or file[1], file[1]))
                old_name = ""
            elif line.startswith("\\"):
                yield DiffRow("\\", 0, line[2:])
            continue
        sign, text = line[:1], line[1:]
        if sign == "\\":
            yield DiffRow("\\", 0, line[2:])
        elif sign == "+":
            yield DiffRow("+", new, text)
            new, remaining_new = new + 1, remaining_new - 1
        elif sign == "-":
            yield DiffRow("-", old, text)
            old, remaining_old = old + 1, remaining_old - 1
        else:
            yield DiffRow(" ", new, text, old)
            old, new = old + 1, new + 1
            remaining_old, remaining_new = remaining_old - 1, remaining_new - 1
