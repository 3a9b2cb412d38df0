"""Application of patch hunks to a text.

Each hunk replaces whole lines, as they are in the file before the patch. Its place is searched in
windows of lines, from the narrowest to the whole file, and the first window with a place decides;
if it has several, the hunk is ambiguous.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.foundation.masking import Mask
from yourtool.tools.edits.anchors import AnchorLines
from yourtool.tools.edits.matching import (
    MAX_COUNTED,
    MAX_LINES,
    FileText,
    LineMatch,
    Windows,
    find_lines,
)
from yourtool.tools.edits.nearest_text import describe_nearest
from yourtool.tools.edits.patch_format import PatchHunk
from yourtool.tools.edits.plain_forms import iter_spans
from yourtool.tools.edits.text_edits import EditedText
from yourtool.tools.workspace.encoding import Encoding, to_lf

_MAX_SEARCHED = 2_000_000_000
"""Characters of a file times hunks; each hunk is searched in all of the file."""


class _Change(Struct, frozen=True):
    """Lines of the file, from 0, and what replaces them."""

    start: int
    end: int
    lines: tuple[str, ...]
    name: str
    """The hunk, for an error."""


def apply_hunks(
    path: str, text: str, hunks: Sequence[PatchHunk], encoding: Encoding, mask: Mask
) -> EditedText:
    """Apply hunks in order.

    Raises:
        ToolError: the lines of a hunk do not have exactly one place.
    """
    end = _get_final_line_end(text)
    file = FileText(to_lf(text.removesuffix(end)))
    if file.text.count("\n") > MAX_LINES:
        raise ToolError(
            f"`{path}` has more than {MAX_LINES:,} lines, the limit for a patch; use `shell`"
        )
    if len(text) * len(hunks) > _MAX_SEARCHED:
        raise ToolError(
            f"`{path}` is too large for {len(hunks):,} hunks in one patch, so nothing was changed;"
            " send several smaller patches"
        )
    anchors, remarks, found = AnchorLines(file.lines), list[str](), list[_Change]()
    after = 0
    for number, hunk in enumerate(hunks, 1):
        if hunk.old == hunk.new:
            continue
        name = f"hunk {number} of `{path}` (line {hunk.line} of the patch)"
        match = _find_match(name, path, file, hunk, _Search(anchors, after, mask))
        start = match.places[0]
        lines = file.lines[start : start + len(hunk.old)]
        changes = [
            _Change(
                start + span.start,
                start + span.end,
                match.lines[span.new_start : span.new_end],
                name,
            )
            for span in iter_spans(lines, match.lines)
            if span.kind == "other"
        ]
        found += changes
        after = max((change.end for change in changes), default=after)
        if match.step:
            remarks.append(f"The text of {name} was matched {match.step}.")
    found.sort(key=lambda change: (change.start, change.end))
    _require_separate(found)
    return EditedText(_replace_lines(text, found, encoding), tuple(remarks))


def _require_separate(changes: Sequence[_Change]) -> None:
    """Check that no line is changed twice.

    Raises:
        ToolError: two hunks change it.
    """
    for one, other in pairwise(changes):
        if other.start < one.end:
            raise ToolError(
                f"{other.name} changes lines that another hunk changes, so nothing was changed; put"
                " all changes of these lines into one hunk"
            )


class _Search(Struct, frozen=True):
    """What narrows the place of a hunk."""

    anchors: AnchorLines
    after: int
    """The line after the changes of the hunk before."""
    mask: Mask


def _find_match(
    name: str, path: str, file: FileText, hunk: PatchHunk, search: _Search
) -> LineMatch:
    """Return the place of a hunk.

    Raises:
        ToolError: there is none, or more than one.
    """
    if not hunk.old:
        if file.lines == [""]:
            return LineMatch((0,), hunk.new)
        if hunk.is_at_end:
            return LineMatch((len(file.lines),), hunk.new)
        raise ToolError(
            f"{name} has added lines only, so its place is not clear, and nothing was changed; add"
            " the unchanged lines around them, or `*** End of File` after them to append them"
        )
    for windows in _iter_windows(len(file.lines), hunk, search):
        if (match := find_lines(file, hunk.old, hunk.new, windows)) is None:
            continue
        if len(match.places) > 1:
            raise ToolError(_describe_ambiguity(name, match))
        if match.problem:
            raise ToolError(
                f"{name} was not applied, so nothing was changed: {match.problem}; copy the exact"
                " lines with their indentation"
            )
        return match
    old = "\n".join(hunk.old)
    nearest = describe_nearest(file.text, old, search.mask, old_name="the patch")
    advice = (
        f"Copy the exact lines with their indentation. {nearest}"
        if nearest
        else f"Read `{path}` again with `read_file` and copy the exact lines."
    )
    raise ToolError(f"The lines of {name} do not occur in it, so nothing was changed. {advice}")


def _iter_windows(count: int, hunk: PatchHunk, search: _Search) -> Iterator[Windows]:
    """Yield ranges of lines in which a hunk can start, the narrowest first."""
    if hunk.is_at_end:
        yield (range(max(0, count - len(hunk.old) - 1), count),)
    if hunk.anchors:
        blocks = search.anchors.find_blocks(hunk.anchors, search.after)
        if blocks := blocks or search.anchors.find_blocks(hunk.anchors, 0):
            yield blocks
            yield (range(blocks[0].start, count),)
    if search.after:
        yield (range(search.after, count),)
    yield (range(count),)


def _describe_ambiguity(name: str, match: LineMatch) -> str:
    count = len(match.places)
    times = f"at least {MAX_COUNTED:,}" if count == MAX_COUNTED else count
    lines = ", ".join(str(at + 1) for at in match.places[:5]) + (", …" if count > 5 else "")
    how = f" if matched {match.step}" if match.step else ""
    return (
        f"The lines of {name} occur {times} times (lines {lines}){how}, so nothing was changed; add"
        " unchanged lines around them, or put `@@` and the head of their function or class before"
        " them"
    )


def _get_final_line_end(text: str) -> str:
    if text.endswith("\r\n"):
        return "\r\n"
    return "\n" * text.endswith("\n")


def _replace_lines(text: str, changes: Sequence[_Change], encoding: Encoding) -> str:
    """Replace lines of a text; new ones have the line end of those in their place.

    A text without a final line end gets none.
    """
    end = _get_final_line_end(text)
    lines = text.removesuffix(end).split("\n")
    last, carriage = len(lines) - 1, "\r" * ((end or encoding.newline) == "\r\n")
    parts, done = list[str](), 0
    for change in changes:
        parts += lines[done : change.start]
        if done <= last < change.start:
            parts[-1] += carriage  # it was the last line
        for number, line in enumerate(change.lines):
            like = min(change.start + number, max(change.start, change.end - 1))
            ends_like = "\r" * lines[like].endswith("\r") if like < last else carriage
            parts.append(line + ends_like)
        done = change.end
    if rest := lines[done:]:
        return "\n".join((*parts, *rest)) + end
    if not parts:
        return ""
    if end:
        return "\n".join(parts) + "\n"
    return "\n".join(parts).removesuffix("\r")
