"""Text replacements in a file."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.foundation.masking import Mask
from yourtool.tools.edits.file_changes import Edit
from yourtool.tools.edits.matching import MAX_COUNTED, FileText, Match, find_match
from yourtool.tools.edits.nearest_text import describe_nearest
from yourtool.tools.workspace.encoding import Encoding, to_lf


class EditedText(Struct, frozen=True):
    """The text of a file after edits."""

    text: str
    remarks: tuple[str, ...]
    """How the old texts of some edits differ from the file, for the model."""


def apply_edits(
    path: str, text: str, edits: Sequence[Edit], encoding: Encoding, mask: Mask
) -> EditedText:
    """Apply edits in order, each to the result of the previous one.

    Raises:
        ToolError: the old text of an edit does not have exactly one place.
    """
    remarks = list[str]()
    for number, edit in enumerate(edits, 1):
        name = f"edit {number} of {len(edits)}" if len(edits) > 1 else "the edit"
        file = FileText(to_lf(text))
        match = _find_place(f"`old` of {name}", path, file, edit, mask)
        places: Iterable[tuple[int, int]] = match.places
        if edit.replace_all and not match.step:
            size = len(to_lf(edit.old))
            places = ((at, at + size) for at in _iter_starts(file.text, to_lf(edit.old)))
        text = _replace_places(text, places, match.new, encoding)
        if match.step:
            remarks.append(f"`old` of {name} was matched {match.step}.")
    return EditedText(text, tuple(remarks))


def _find_place(what: str, path: str, file: FileText, edit: Edit, mask: Mask) -> Match:
    """Return the place of an edit; several, if it replaces each of them.

    Raises:
        ToolError: there is no place, or more than one.
    """
    old = to_lf(edit.old)
    if (match := find_match(file, old, to_lf(edit.new))) is None:
        problem = f"{what} does not occur in `{path}`, so nothing was changed"
        nearest = describe_nearest(file.text, old, mask)
        if not nearest:
            raise ToolError(
                f"{problem}; read the file again with `read_file` and copy the exact text"
            )
        raise ToolError(f"{problem}. Copy the exact text with its indentation. {nearest}")
    if len(match.places) > 1 and (match.step or not edit.replace_all):
        raise ToolError(_describe_ambiguity(what, path, file, match))
    if match.problem:
        raise ToolError(
            f"{what} was not replaced in `{path}`, so nothing was changed: {match.problem};"
            " copy the exact text with its indentation"
        )
    return match


def _describe_ambiguity(what: str, path: str, file: FileText, match: Match) -> str:
    count = len(match.places)
    times = f"at least {MAX_COUNTED:,}" if count == MAX_COUNTED else count
    lines = ", ".join(str(file.text.count("\n", 0, start) + 1) for start, _ in match.places[:5])
    more = ", …" if count > 5 else ""
    advice = "add surrounding lines until it is unique, or set `replace_all`"
    how = ""
    if match.step:
        how = f" if matched {match.step}"
        advice = "copy the exact text, and add surrounding lines until it is unique"
    return (
        f"{what} occurs {times} times in `{path}` (lines {lines}{more}){how}, so nothing was"
        f" changed; {advice}"
    )


def _replace_places(
    text: str, places: Iterable[tuple[int, int]], new: str, encoding: Encoding
) -> str:
    """Replace ranges, which are those in the text with LF line endings."""
    line_ends = [match.start() for match in re.finditer(r"\r\n", text)]
    # Positions in the text with LF are shifted by one for each preceding CRLF.
    shorter = [end - number for number, end in enumerate(line_ends)]
    parts, done = list[str](), 0
    for start, end in places:
        first, last = start + bisect_left(shorter, start), end + bisect_left(shorter, end)
        parts += (text[done:first], encoding.with_line_endings(new, like=text[first:last]))
        done = last
    return "".join((*parts, text[done:]))


def _iter_starts(text: str, old: str) -> Iterator[int]:
    """Yield the positions of `old` that do not overlap."""
    at = 0
    for part in text.split(old)[:-1]:
        at += len(part)
        yield at
        at += len(old)
