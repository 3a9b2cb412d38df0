"""Texts of a session as parts of a Markdown document, which end where they end.

A reply that was cut can have a code block without its end, and any text can have HTML, which hides
what follows it (`<!--`, `<details>`). Both are found by a parser of https://spec.commonmark.org/.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from yourtool.text import printable

_TICKS = re.compile("`+")
_NEEDS_PARSER = re.compile("<|```|~~~")
"""Without these, no text has HTML or a code block that needs an end."""
_ROUNDS = 3
"""How often HTML is looked for: there can be more of it once a comment is text."""
_NEXT = "\n\n# next"


def contain(text: str) -> Iterator[str]:
    """Yield a text without HTML; it becomes a code block if it would change what follows it."""
    shown = without_html(text)
    if _NEEDS_PARSER.search(shown) and not _ends(_parse(shown + _NEXT)):
        yield from fence(shown, "markdown")
    else:
        yield shown


def without_html(text: str) -> str:
    """Return a text in which HTML is text, and which has no control characters."""
    text = printable(text)
    for _ in range(_ROUNDS):
        tokens = _parse(text) if "<" in text else ()
        if not any(map(_has_html, tokens)):
            return text
        lines = text.split("\n")
        for token in filter(_has_html, tokens):
            first, last = token.map
            lines[first:last] = _escape(token, "\n".join(lines[first:last])).split("\n")
        text = "\n".join(lines)
    return text.replace("<", "&lt;")


def fence(text: str, language: str = "") -> Iterator[str]:
    """Yield a code block, fenced with more backticks than any run in the text."""
    text = printable(text)
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    marks = "`" * max(3, longest + 1)
    yield marks + language
    yield text
    yield marks


def _has_html(token: Any) -> bool:
    return token.type.startswith("html") or any(map(_has_html, token.children or ()))


def _escape(token: Any, part: str) -> str:
    """Return the lines of a token with its HTML as text, and with its code unchanged."""
    if token.type == "html_block":
        return part.replace("<", "&lt;")
    done = 0
    for child in token.children:
        if (
            child.type in ("html_inline", "code_inline")
            and (at := part.find(child.content, done)) >= 0
        ):
            done = at + len(child.content)
            if child.type == "html_inline":
                part = f"{part[:at]}&lt;{part[at + 1 :]}"
                done += len("&lt;") - 1
    return part


def _ends(tokens: Sequence[Any]) -> bool:
    """Return whether the heading after a text is one."""
    return [(each.type, each.level) for each in tokens[-3:-2]] == [("heading_open", 0)]


def _parse(text: str) -> Sequence[Any]:
    return _get_parser()(text)


@functools.cache
def _get_parser() -> Callable[[str], Sequence[Any]]:
    library = import_module("markdown_it")  # only exports need it
    return library.MarkdownIt("commonmark").parse
