"""Streaming arguments of a tool call.

A tolerant reader of incomplete JSON (RFC 8259): it accepts any text and never raises. The work for
a piece depends on the length of the piece, and only the end of long texts is stored.
"""

import re
from collections import deque
from collections.abc import Mapping
from itertools import groupby

from yourtool.tui.lines.styled_lines import StyledLine
from yourtool.tui.lines.verbatim import plain_lines

_TAIL_CHARACTERS = 4_000
"""Characters of the texts that are stored."""
_PIECE = 200
"""Characters of a stored piece; smaller ones are joined."""
_MAX_VALUE = 1_000
"""Characters of an argument that are stored for the head of a card."""
_MAX_NAME = 200
_MAX_NAMES = 50
_MAX_DEPTH = 64
_RUN = re.compile(r'(?:[^"\\]++|\\[^u])++', re.DOTALL)
"""Characters inside a string, without `\\u` escapes."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SIMPLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STRUCTURE = re.compile(r'["{}\[\],:]')
_SIGNS: Mapping[str, tuple[str, str]] = {
    "old": ("− ", "diff.removed"),
    "new": ("+ ", "diff.added"),
    "content": ("+ ", "diff.added"),
}
"""Sign and style of the texts of an edit, by the name of the argument."""


class PartialArguments:
    """Reads arguments piece by piece."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self.line_breaks = 0
        """Line breaks in all texts so far."""
        self._names: list[str] = []  # the current name in each open object or array
        self._objects: list[bool] = []  # whether each of them is an object
        self._name = ""
        self._in_string = self._in_name = False
        self._unread = ""  # an incomplete escape sequence
        self._text_number = 0
        self._tail: deque[tuple[int, str, str]] = deque()  # number and name of a text, piece
        self._tail_length = 0
        self._dropped_line_breaks = 0

    @property
    def values(self) -> Mapping[str, str]:
        """The beginnings of the texts by name; nested values are not included."""
        return {_join_surrogates(name): _join_surrogates(it) for name, it in self._values.items()}

    def feed(self, text: str) -> None:
        """Read more."""
        text, self._unread, at = self._unread + text, "", 0
        while at < len(text) and len(self._objects) <= _MAX_DEPTH:
            at = self._read_string(text, at) if self._in_string else self._read_token(text, at)

    def rows(self, width: int) -> tuple[list[StyledLine], int]:
        """Return the rows of the texts that are stored, and the number of lines before them."""
        rows: list[StyledLine] = []
        for (_, name), pieces in groupby(self._tail, key=lambda piece: piece[:2]):
            text = _join_surrogates("".join(piece for _, _, piece in pieces))
            if name in _SIGNS:
                sign, style = _SIGNS[name]
                lines = plain_lines(text, style, max(1, width - len(sign)))
                rows += [line.with_prefix((sign, style)) for line in lines]
            elif "\n" in text:
                rows += plain_lines(text, "", width)
        return rows, self._dropped_line_breaks

    def _read_string(self, text: str, at: int) -> int:
        """Read a part of a string; return the position after it."""
        if (run := _RUN.match(text, at)) is not None:
            self._add(_unescape(run[0]))
            return run.end()
        if text[at] == '"':
            self._in_string = False
            return at + 1
        end = at + (6 if text.startswith("\\u", at) else 2)
        if end > len(text):
            self._unread = text[at:]
            return len(text)
        digits = text[at + 2 : end]
        is_valid = all(digit in "0123456789abcdefABCDEF" for digit in digits)
        self._add(chr(int(digits, 16)) if is_valid else "\ufffd")
        return end

    def _read_token(self, text: str, at: int) -> int:
        """Read up to the next bracket, separator or string; return the position after it."""
        if (token := _STRUCTURE.search(text, at)) is None:
            return len(text)
        is_object = bool(self._objects) and self._objects[-1]
        match token[0]:
            case '"':
                self._in_string = True
                self._text_number += 1
                if self._in_name:
                    self._name = ""
            case "{" | "[":
                self._names.append(self._name)
                self._objects.append(token[0] == "{")
                self._in_name = token[0] == "{"
            case "}" | "]":
                self._in_name = False
                if self._objects:
                    self._objects.pop()
                    self._name = self._names.pop()
            case ":":
                self._in_name = False
            case _:
                self._in_name = is_object
        return token.end()

    def _add(self, text: str) -> None:
        """Add a part of the current name or text."""
        if self._in_name:
            self._name = (self._name + text)[:_MAX_NAME]
            return
        values, name = self._values, self._name
        if len(self._objects) == 1 and (name in values or len(values) < _MAX_NAMES):
            value = values.get(name, "")
            if len(value) < _MAX_VALUE:
                values[name] = value + text[: _MAX_VALUE - len(value)]
        self.line_breaks += text.count("\n")
        if len(text) > _TAIL_CHARACTERS:
            self._dropped_line_breaks += text.count("\n", 0, len(text) - _TAIL_CHARACTERS)
            text = text[-_TAIL_CHARACTERS:]
        self._tail_length += len(text)
        last = self._tail[-1] if self._tail else (0, "", "")
        if last[0] == self._text_number and len(last[2]) < _PIECE:
            text = self._tail.pop()[2] + text
        self._tail.append((self._text_number, name, text))
        while self._tail_length > _TAIL_CHARACTERS and len(self._tail) > 1:
            dropped = self._tail.popleft()[2]
            self._tail_length -= len(dropped)
            self._dropped_line_breaks += dropped.count("\n")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _SIMPLE_ESCAPES.get(match[1], match[1]), text)


def _join_surrogates(text: str) -> str:
    """Return a text whose characters beyond the basic plane are one character each."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
