"""The fenced code blocks of a reply, as they are copied.

https://spec.commonmark.org/0.31.2/#fenced-code-blocks; a fence may be in a quote or a list item.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_START = re.compile(r"([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})[ \t]*([^`\n]*)")
_CONTAINER = " \t>"


class CodeBlock(NamedTuple):
    """A code block without its fences."""

    language: str
    text: str


def find_code_blocks(markdown: str) -> list[CodeBlock]:
    """Return the code blocks with content; one without an end continues to the end of the text."""
    return [block for block in _iter_code_blocks(markdown) if block.text.strip()]


def _iter_code_blocks(markdown: str) -> Iterator[CodeBlock]:
    start: re.Match[str] | None = None
    lines = list[str]()
    for line in markdown.split("\n"):
        if start is None:
            start = _START.fullmatch(line.rstrip("\r"))
        elif _is_end(line, start[2]):
            yield _build_block(start, lines)
            start, lines = None, []
        else:
            lines.append(_remove_container(line, start[1]))
    if start is not None:
        yield _build_block(start, lines)


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


def _build_block(start: re.Match[str], lines: list[str]) -> CodeBlock:
    words = start[3].split(maxsplit=1)
    return CodeBlock(words[0] if words else "", "".join(f"{line}\n" for line in lines))
