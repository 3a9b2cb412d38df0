"""Session texts inside a Markdown document.

A reply that was cut can have a code block without its end, and any text can have HTML, which hides
what follows it (`<!--`, `<details>`), images, which a reader loads, and headings, which look like
those of the document. All are found by a parser of https://spec.commonmark.org/.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from yourtool.foundation.text import printable

_TICKS = re.compile("`+")
_NEEDS_PARSER = re.compile("<|```|~~~")
"""Without these, no text has HTML or a code block that needs an end."""
_ROUNDS = 3
"""How often HTML is looked for: there can be more of it once a comment is text."""
_NEXT = "\n\n# next"
_IMAGE, _IMAGE_AS_TEXT = "![", "!\\["
_CODE_OR_IMAGE = re.compile(r"```(?s:.*?)(?:```|\Z)|~~~(?s:.*?)(?:~~~|\Z)|`[^`\n]*`|!\[")
"""Most code, which stays as it is, and the starts of images."""
_MAY_HAVE_HEADINGS = re.compile(r"^ {0,3}(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_LEVELS, _MAX_LEVEL = 2, 6
"""The levels of headings that the document has itself, and the lowest one."""


def contain(text: str) -> Iterator[str]:
    """Yield a text without HTML and images, whose headings are below those of the document.

    It becomes a code block if it would change what follows it.
    """
    shown = _lower_headings(make_inert(text))
    if _NEEDS_PARSER.search(shown) and not _ends(_parse(shown + _NEXT)):
        yield from fence(shown, "markdown")
    else:
        yield shown


def make_inert(text: str) -> str:
    """Return a text in which HTML and images are text, and which has no control characters."""
    return _without_images(_without_html(printable(text)))


def _without_html(text: str) -> str:
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


def _without_images(text: str) -> str:
    """Return a text without images, also without those whose address is in another text."""
    if _IMAGE not in text:
        return text
    shown = _CODE_OR_IMAGE.sub(
        lambda found: _IMAGE_AS_TEXT if found[0] == _IMAGE else found[0], text
    )
    in_code = sum(_count_in_code(token) for token in _parse(shown))
    return shown if shown.count(_IMAGE) == in_code else text.replace(_IMAGE, _IMAGE_AS_TEXT)


def _count_in_code(token: Any) -> int:
    is_code = token.type in ("fence", "code_block", "code_inline")
    own = token.content.count(_IMAGE) if is_code else 0
    return own + sum(map(_count_in_code, token.children or ()))


def _lower_headings(text: str) -> str:
    """Return a text whose headings have lower levels, so that none looks like one of ours."""
    if not _MAY_HAVE_HEADINGS.search(text):
        return text
    lines, tokens = text.split("\n"), _parse(text)
    for token, content in reversed([*pairwise(tokens)]):
        if token.type != "heading_open" or token.level:
            continue
        first, last = token.map
        marks = "#" * min(_MAX_LEVEL, int(token.tag[1:]) + _LEVELS)
        title = " ".join(line.strip() for line in content.content.split("\n"))
        end = f" {marks}" * title.endswith("#")
        lines[first:last] = [f"{marks} {title}{end}".rstrip()]
    return "\n".join(lines)


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
