"""Block quotes and list items: what they put before their rows, and how a line opens them.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#container-blocks).
"""

import re
from typing import NamedTuple

from yourtool.tui.markdown.block_starts import ITEM, QUOTE, is_rule
from yourtool.tui.styled_lines import Span, width_of

MAX_NESTING = 16
"""Quotes and list items inside one another; the marks of deeper ones are shown as text."""

_BULLETS = "•◦▪"
_LEAST_WIDTH = 10


class Container(NamedTuple):
    """A block quote or a list item, and what it puts before its lines."""

    rest: Span
    marker: Span | None
    """What stands before the first row, until that row was drawn."""
    indent: int = 0
    """Columns that further lines of an item are indented by; 0 for a quote."""
    kind: str = ">"
    """`>`, or the character that ends the marker of an item."""
    number: int = 0


Containers = tuple[Container, ...]
"""From the outermost to the innermost."""


def open_containers(
    containers: Containers, rest: str, sibling: Container | None
) -> tuple[Containers, str]:
    """Open the quotes and items at the beginning of `rest`; return all, and the text in them.

    `sibling` is the item before, which the first item may continue the numbers of.
    """
    while len(containers) < MAX_NESTING:
        if quote := QUOTE.match(rest):
            rest = rest[quote.end() :]
            containers += (Container(("▎ ", "quote.bar"), None),)
        elif (item := ITEM.match(rest)) and not is_rule(rest):
            containers += (_item(item, sibling, containers),)
            rest = rest[item.end() :]
            if len(item[3]) > 4:
                rest = " " * (len(item[3]) - 1) + rest
        else:
            break
        sibling = None
    return containers, rest


def visible_containers(containers: Containers, width: int) -> Containers:
    """Return the containers, without outer ones where there is no room for all their marks."""
    while containers and width - width_of(one.rest for one in containers) < _LEAST_WIDTH:
        containers = containers[1:]
    return containers


def _item(match: re.Match[str], sibling: Container | None, around: Containers) -> Container:
    mark, kind, number = match[2], match[2][-1], 0
    if mark[0].isdigit():
        number = int(mark[:-1])
        if sibling is not None and sibling.kind == kind and number != 0:
            number = max(number, sibling.number + 1)
        shown = f"{number}{kind} "
    else:
        depth = sum(one.kind in "-*+" for one in around)
        shown = f"{_BULLETS[depth % len(_BULLETS)]} "
    if match[4]:
        shown = "☐ " if match[4][1] == " " else "☑ "
    spaces = len(match[3]) if len(match[3]) <= 4 else 1
    indent = len(match[1]) + len(mark) + max(1, spaces)
    return Container((" " * len(shown), ""), (shown, "bullet"), indent, kind, number)
