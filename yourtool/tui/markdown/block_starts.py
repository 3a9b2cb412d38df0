"""Starts of Markdown blocks.

They are headings, rules, fences, quotes and list items. Follows CommonMark 0.31
(https://spec.commonmark.org/0.31.2/#leaf-blocks). Every function takes time linear in the length of
the line, for any content.
"""

import re
from typing import NamedTuple

QUOTE = re.compile(r" {0,3}> ?")
ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])( +|$)(\[[ xX]\] )?")
SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*")
_HASHES = re.compile(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})")
_UNDECIDED = re.compile(r" {0,3}(?:#{1,6}|[-=*_+~`> ]+|\d{1,9}[.)]?|[|:][-|: ]*|\[[ xX]?\]?)")
_WHITESPACE = " \t"


class Heading(NamedTuple):
    """An ATX heading."""

    level: int
    text: str


class FenceStart(NamedTuple):
    """The first line of a fenced code block."""

    indent: int
    mark: str
    language: str


def parse_heading(line: str) -> Heading | None:
    """Return the ATX heading in a line; None if there is no heading."""
    if (hashes := _HASHES.match(line)) is None:
        return None
    text = line[hashes.end() :].strip(_WHITESPACE)
    words = text.rstrip("#")
    if not words or words[-1] in _WHITESPACE:
        text = words.rstrip(_WHITESPACE)
    return Heading(len(hashes[1]), text)


def parse_fence_start(line: str) -> FenceStart | None:
    """Return the fence that a line opens; None if it opens no fence."""
    if (fence := _FENCE.match(line)) is None:
        return None
    info = line[fence.end() :]
    if "`" in info:
        return None
    words = info.split(maxsplit=1)
    return FenceStart(len(fence[1]), fence[2], words[0] if words else "")


def is_rule(line: str) -> bool:
    """Return whether a line is a thematic break."""
    text = line.lstrip(" ")
    if len(line) - len(text) > 3 or not text.startswith(("*", "-", "_")):
        return False
    marks = text.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and not marks.strip(marks[0])


def is_undecided(line: str) -> bool:
    """Return whether the start of a line can still become any kind of block."""
    start = line.rstrip(_WHITESPACE)
    return bool(line) and (not start or _UNDECIDED.fullmatch(start) is not None)
