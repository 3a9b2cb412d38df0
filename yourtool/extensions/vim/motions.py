"""Motions of Vim's normal mode: https://vimhelp.org/motion.txt.html."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct


class Motion(Struct, frozen=True):
    """Where a motion ends, and what an operator takes of it."""

    end: int
    linewise: bool = False
    inclusive: bool = False


def line_start(text: str, at: int) -> int:
    """Return the index of the first character of a line."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return the index after the last character of a line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_nonblank(text: str, at: int) -> int:
    """Return the index of the first character of a line that is not blank."""
    start, end = line_start(text, at), line_end(text, at)
    return start + len(text[start:end]) - len(text[start:end].lstrip())


def get_motion(text: str, at: int, keys: str, count: int | None) -> Motion | None:
    """Return the motion of some keys, None if it is not possible here."""
    if keys[0] in "fFtT":
        return _find(text, at, keys, count or 1)
    if keys in _LINES:
        return _LINES[keys](text, at, count)
    for _ in range(min(count or 1, len(text) + 1)):
        at = _STEPS[keys](text, at)
    return Motion(at, inclusive=keys == "e")


def _class(character: str) -> int:
    """Return the class of a character: blank, part of a word, or punctuation."""
    if character.isspace():
        return 0
    return 1 if character.isalnum() or character == "_" else 2


def _next_word(text: str, at: int) -> int:
    if at < len(text) and (kind := _class(text[at])):
        while at < len(text) and _class(text[at]) == kind:
            at += 1
    elif at < len(text):
        at += 1
    while at < len(text) and _class(text[at]) == 0:
        if text[at] == "\n" and text[at - 1] == "\n":  # an empty line is a word
            break
        at += 1
    return at


def _previous_word(text: str, at: int) -> int:
    at -= 1
    while at > 0 and _class(text[at]) == 0 and not (text[at] == text[at - 1] == "\n"):
        at -= 1
    while at > 0 and _class(text[at]) and _class(text[at - 1]) == _class(text[at]):
        at -= 1
    return max(0, at)


def _word_end(text: str, at: int) -> int:
    at += 1
    while at < len(text) and _class(text[at]) == 0:
        at += 1
    while at + 1 < len(text) and _class(text[at + 1]) == _class(text[at]):
        at += 1
    return max(0, min(at, len(text) - 1))


_STEPS: Mapping[str, Callable[[str, int], int]] = {
    "h": lambda text, at: max(line_start(text, at), at - 1),
    "l": lambda text, at: min(line_end(text, at), at + 1),
    "w": _next_word,
    "b": _previous_word,
    "e": _word_end,
    "0": line_start,
    "^": first_nonblank,
}


def _to_line_end(text: str, at: int, count: int | None) -> Motion | None:
    for _ in range((count or 1) - 1):
        at = line_end(text, at) + 1
        if at > len(text):
            return None
    return Motion(line_end(text, at))


def _vertical(step: int) -> Callable[[str, int, int | None], Motion | None]:
    def move(text: str, at: int, count: int | None) -> Motion | None:
        column, target = at - line_start(text, at), at
        for _ in range(count or 1):
            target = line_end(text, target) + 1 if step > 0 else line_start(text, target) - 1
            if not 0 <= target <= len(text):
                return None
        start = line_start(text, target)
        return Motion(min(start + column, line_end(text, start)), linewise=True)

    return move


def _to_line(default_is_last: bool) -> Callable[[str, int, int | None], Motion | None]:
    def move(text: str, at: int, count: int | None) -> Motion | None:
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        number = len(starts) if count is None and default_is_last else count or 1
        return Motion(first_nonblank(text, starts[min(number, len(starts)) - 1]), linewise=True)

    return move


_LINES: Mapping[str, Callable[[str, int, int | None], Motion | None]] = {
    "$": _to_line_end,
    "j": _vertical(1),
    "k": _vertical(-1),
    "gg": _to_line(default_is_last=False),
    "G": _to_line(default_is_last=True),
}


def _find(text: str, at: int, keys: str, count: int) -> Motion | None:
    """Find a character in the line; `t` and `T` end one character before it."""
    kind, character = keys[0], keys[1]
    start, end, found = line_start(text, at), line_end(text, at), at
    for number in range(count):
        skipped = 1 if kind in "tT" and number == 0 and len(keys) > 2 else 0
        if kind in "ft":
            found = text.find(character, found + 1 + skipped, end)
        else:
            found = text.rfind(character, start, max(start, found - skipped))
        if found < 0:
            return None
    step = {"t": -1, "T": 1}.get(kind, 0)
    return Motion(found + step, inclusive=kind in "ft")
