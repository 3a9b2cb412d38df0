"""Unified diffs as pairs of texts."""

import re
from collections.abc import Iterator
from pathlib import Path

from acp.schema import FileEditToolCallContent

from yourtool.foundation.text import printable

_ABSENT = "/dev/null"
_HUNK = re.compile(r"@@ -[0-9]+(?:,(?P<old>[0-9]+))? \+[0-9]+(?:,(?P<new>[0-9]+))? @@")
_NO_LINE_FEED = "\\"
"""The start of the line that follows a line without a line feed."""


def to_diffs(diff: str, workspace: Path) -> Iterator[FileEditToolCallContent]:
    """Yield the old and the new text of each hunk of a diff, which can be of several files."""
    lines, at = diff.split("\n"), 0
    while at + 1 < len(lines):
        if not (lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")):
            at += 1
            continue
        source, target = _get_name(lines[at]), _get_name(lines[at + 1])
        path = printable(str(workspace / (source if target == _ABSENT else target)))
        at += 2
        if source == _ABSENT and not _HUNK.match("".join(lines[at : at + 1])):
            yield FileEditToolCallContent(type="diff", path=path, new_text="")
        while at < len(lines) and (hunk := _HUNK.match(lines[at])):
            sizes = int(hunk["old"] or 1), int(hunk["new"] or 1)
            old, new, at = _read_hunk(lines, at + 1, *sizes)
            yield FileEditToolCallContent(
                type="diff",
                path=path,
                old_text=None if source == _ABSENT else printable(old),
                new_text=printable(new),
            )


def _read_hunk(lines: list[str], at: int, left: int, right: int) -> tuple[str, str, int]:
    """Return the texts of a hunk from a line, and the index of the line after it.

    The sizes decide where it ends: a changed line can look like the header of a file.
    """
    old, new = list[str](), list[str]()
    changed: tuple[list[str], ...] = ()
    while at < len(lines) and (left or right or lines[at].startswith(_NO_LINE_FEED)):
        mark, text = lines[at][:1], lines[at][1:]
        at += 1
        if mark == _NO_LINE_FEED:
            for each in changed:
                each[-1] = each[-1].removesuffix("\n")
            continue
        changed = (old,) if mark == "-" else (new,) if mark == "+" else (old, new)
        for each in changed:
            each.append(f"{text}\n")
        left -= mark != "+"
        right -= mark != "-"
    return "".join(old), "".join(new), at


def _get_name(header: str) -> str:
    """Return the path in a line of a header, without `a/` or `b/`."""
    name = header[4:]
    return name if name == _ABSENT else name[2:]
