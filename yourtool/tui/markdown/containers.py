"""Block quotes and list items.

The module has their row prefixes and the ways in which a line opens them. Follows CommonMark 0.31
(https://spec.commonmark.org/0.31.2/#container-blocks).
"""

import re
from typing import NamedTuple

from yourtool.tui.lines.styled_lines import Span, cell_width
from yourtool.tui.markdown.block_starts import ITEM, QUOTE, is_rule

MAX_NESTING = 16
"""Depth of nested quotes and list items; the markers of deeper ones are shown as text."""

_BULLETS = "•◦▪"
_MIN_WIDTH = 10


class Container(NamedTuple):
    """A block quote or a list item with its row prefix."""

    prefix: Span
    marker: Span | None
    """The prefix of the first row; None after that row is rendered."""
    indent: int = 0
    """Indentation of the following lines of an item; 0 for a quote."""
    kind: str = ">"
    """`>`, or the last character of the item's marker."""
    number: int = 0


Containers = tuple[Container, ...]
"""From the outermost to the innermost."""


def open_containers(
    containers: Containers, rest: str, sibling: Container | None
) -> tuple[Containers, str]:
    """Open the quotes and items at the start of `rest`; return all containers and the text.

    `sibling` is the item before, whose numbering the first item can continue.
    """
    while len(containers) < MAX_NESTING:
        if quote := QUOTE.match(rest):
            rest = rest[quote.end() :]
            containers += (Container(("▎ ", "quote.bar"), None),)
        elif (item := ITEM.match(rest)) and not is_rule(rest):
            containers += (_parse_item(item, sibling, containers),)
            rest = rest[item.end() :]
            if len(item[3]) > 4:
                rest = " " * (len(item[3]) - 1) + rest
        else:
            break
        sibling = None
    return containers, rest


def visible_containers(containers: Containers, width: int) -> Containers:
    """Return the containers, without outer ones if the prefixes do not fit."""
    while containers and width - cell_width(one.prefix for one in containers) < _MIN_WIDTH:
        containers = containers[1:]
    return containers


def _parse_item(match: re.Match[str], sibling: Container | None, parents: Containers) -> Container:
    mark, kind, number = match[2], match[2][-1], 0
    if mark[0].isdigit():
        number = int(mark[:-1])
        if sibling is not None and sibling.kind == kind and number != 0:
            number = max(number, sibling.number + 1)
        shown = f"{number}{kind} "
    else:
        depth = sum(one.kind in "-*+" for one in parents)
        shown = f"{_BULLETS[depth % len(_BULLETS)]} "
    if match[4]:
        shown = "☐ " if match[4][1] == " " else "☑ "
    spaces = len(match[3]) if len(match[3]) <= 4 else 1
    indent = len(match[1]) + len(mark) + max(1, spaces)
    return Container((" " * len(shown), ""), (shown, "bullet"), indent, kind, number)
