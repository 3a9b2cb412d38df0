"""Excerpts of long texts."""

import itertools
import json

from yourtool.tui.keys.active_keys import get_label
from yourtool.tui.lines.ansi import AnsiParser
from yourtool.tui.lines.styled_lines import (
    Source,
    StyledLine,
    cell_width,
    truncate,
    wrap_with_separators,
)

MAX_ROWS = 5000
"""Rows of an expanded item."""
MAX_CHARACTERS = 50_000
"""Characters of the arguments, a diff or the output that are laid out."""


def output_rows(text: str, width: int) -> list[StyledLine]:
    """Return the rows of an output with the styles of its escape sequences."""
    lines: list[StyledLine] = []
    for spans in AnsiParser().parse(text.rstrip("\r\n")) if text.strip() else []:
        source = Source("".join(part for part, _ in spans))
        shown = [(part, f"muted {style}".strip()) for part, style in spans]
        for row, separator in wrap_with_separators(shown, width):
            lines.append(StyledLine(row, source, separator=separator))
    return lines


def format_json(value: object) -> str:
    """Return a value as JSON, cut after more than is laid out."""
    pieces = json.JSONEncoder(ensure_ascii=False).iterencode(value)
    return "".join(itertools.islice(pieces, MAX_CHARACTERS))


def excerpt(
    text: str, room: int = MAX_CHARACTERS, *, end: bool = False, line_breaks: int | None = None
) -> tuple[str, int]:
    """Return the part of a text that is laid out and the least number of omitted lines.

    `line_breaks` of the text are counted if not given.
    """
    part = (text[-room:] if end else text[:room]) if len(text) > room else text
    if part.count("\n") >= MAX_ROWS:
        lines = part.rsplit("\n", MAX_ROWS)[1:] if end else part.split("\n", MAX_ROWS)[:-1]
        part = "\n".join(lines)
    if len(part) == len(text):
        return text, 0
    breaks = text.count("\n") if line_breaks is None else line_breaks
    return part, max(1, breaks - part.count("\n"))


def limit_rows(
    lines: list[StyledLine],
    limit: int,
    width: int,
    *,
    keep_end: bool = False,
    omitted: int = 0,
    hint: str | None = None,
) -> list[StyledLine]:
    """Return at most `limit` rows, with a note about the omitted lines.

    `omitted` counts lines that are already missing; `hint` names where to find them, by default the
    key that expands folded items.
    """
    if len(lines) <= limit + 1 and not omitted:
        return lines
    hidden = lines[: len(lines) - limit] if keep_end else lines[limit:]
    count = sum(line.separator == "\n" for line in hidden) + omitted
    note = fold_note(max(1, count), width, hint)
    return [note, *lines[len(lines) - limit :]] if keep_end else [*lines[:limit], note]


def add_fold_hint(line: StyledLine, width: int) -> StyledLine:
    """Return a line with the key that expands folded items, if it fits."""
    hint = get_fold_hint()
    if cell_width(line.spans) + len(hint) > width:
        return line
    return line._replace(spans=(*line.spans, (hint, "muted")))


def fold_note(lines: int, width: int, hint: str | None = None) -> StyledLine:
    """Return the row that counts hidden lines."""
    words = truncate(f"… {lines:,} more {'line' if lines == 1 else 'lines'}", width)
    if (room := width - len(words)) < 2:
        return StyledLine(((words, "muted"),))
    where = get_fold_hint() if hint is None else hint
    return StyledLine(((words, "muted"), (truncate(where, room), "muted")))


def get_original_hint() -> str:
    """Return the key that lists what a summary replaced; empty if there is none."""
    label = get_label("chat.originals")
    return f" ({label} original)" if label else ""


def get_fold_hint() -> str:
    """Return the key that expands folded items; empty if there is none."""
    label = get_label("chat.folds")
    return f" ({label})" if label else ""
