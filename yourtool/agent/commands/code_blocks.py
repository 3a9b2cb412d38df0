"""Fenced code blocks of a reply, for copying.

https://spec.commonmark.org/0.31.2/#fenced-code-blocks; a fence may be in a quote or a list item.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})")
_CONTAINER = " \t>"


class CodeBlock(NamedTuple):
    """A code block without its fences."""

    language: str
    text: str


class _Start(NamedTuple):
    """The first line of a code block."""

    before: str
    """What is before the fence: indentation, and the marks of quotes and list items."""
    fence: str
    language: str


def find_code_blocks(markdown: str) -> list[CodeBlock]:
    """Return the code blocks with content; one without an end continues to the end of the text."""
    return [block for block in _iter_code_blocks(markdown) if block.text.strip()]


def _iter_code_blocks(markdown: str) -> Iterator[CodeBlock]:
    start: _Start | None = None
    lines = list[str]()
    for line in markdown.split("\n"):
        if start is None:
            start = _parse_start(line)
        elif _is_end(line, start.fence):
            yield _build_block(start, lines)
            start, lines = None, []
        else:
            lines.append(_remove_container(line, start.before))
    if start is not None:
        yield _build_block(start, lines)


def _parse_start(line: str) -> _Start | None:
    """Return the fence that a line opens; None if it opens no fence."""
    if (fence := _FENCE.match(line)) is None or "`" in line[fence.end() :]:
        return None
    words = line[fence.end() :].split(maxsplit=1)
    return _Start(fence[1], fence[2], words[0] if words else "")


def _is_end(line: str, fence: str) -> bool:
    marks = line.strip(f"{_CONTAINER}\r")
    return len(marks) >= len(fence) and not marks.strip(fence[0])


def _remove_container(line: str, before_fence: str) -> str:
    """Return a line without the marks and the indentation that its fence has, too."""
    marks = _CONTAINER if ">" in before_fence else " \t"
    end = 0
    while end < min(len(line), len(before_fence)) and line[end] in marks:
        end += 1
    return line[end:]


def _build_block(start: _Start, lines: list[str]) -> CodeBlock:
    return CodeBlock(start.language, "".join(f"{line}\n" for line in lines))
