"""Text objects of Vim.

Examples are `iw` and `a(`: https://vimhelp.org/motion.txt.html#text-objects.
"""

import re
from collections.abc import Mapping

from yourtool.extensions.vim.motions import line_end, line_start

_BRACKETS: Mapping[str, str] = {
    **dict.fromkeys("()b", "()"),
    **dict.fromkeys("[]", "[]"),
    **dict.fromkeys("{}B", "{}"),
    **dict.fromkeys("<>", "<>"),
}
_WORD = re.compile(r"[^\S\n]+|\w+|[^\w\s]+")


def find_text_object(text: str, at: int, keys: str) -> tuple[int, int] | None:
    """Return start and end of a text object at an index, None without one."""
    around, kind = keys[0] == "a", keys[1]
    if kind == "w":
        return _find_word(text, at, around=around)
    if kind in _BRACKETS:
        found = _find_brackets(text, at, _BRACKETS[kind])
    else:
        found = _find_quotes(text, at, kind)
    if found is None:
        return None
    start, end = found
    return (start, end + 1) if around else (start + 1, end)


def _find_word(text: str, at: int, *, around: bool) -> tuple[int, int] | None:
    start, end = line_start(text, at), line_end(text, at)
    pieces = [found.span() for found in _WORD.finditer(text, start, end)]
    number = next((n for n, (_, stop) in enumerate(pieces) if at < stop), None)
    if number is None:
        return None
    begin, stop = pieces[number]
    if around:
        is_blank = text[begin].isspace()
        after = pieces[number + 1] if number + 1 < len(pieces) else None
        if after is not None and (is_blank or text[after[0]].isspace()):
            stop = after[1]
        elif number > 0 and text[pieces[number - 1][0]].isspace():
            begin = pieces[number - 1][0]
    return begin, stop


def _find_quotes(text: str, at: int, quote: str) -> tuple[int, int] | None:
    """Return the pair of quotes in the line around an index, or else the next one."""
    start, end = line_start(text, at), line_end(text, at)
    places = [n for n in range(start, end) if text[n] == quote]
    pairs = zip(places[::2], places[1::2], strict=False)
    return next(((first, last) for first, last in pairs if at <= last), None)


def _find_brackets(text: str, at: int, pair: str) -> tuple[int, int] | None:
    opening, closing = pair
    depth, start = 0, at
    while start >= 0:
        if start < len(text) and text[start] == closing and start != at:
            depth += 1
        elif start < len(text) and text[start] == opening:
            if depth == 0:
                break
            depth -= 1
        start -= 1
    if start < 0:
        return None
    depth = 0
    for end in range(start, len(text)):
        depth += (text[end] == opening) - (text[end] == closing)
        if depth == 0:
            return start, end
    return None
