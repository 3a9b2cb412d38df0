"""Spans from the output of programs.

Select Graphic Rendition (https://ecma-international.org/publications-and-standards/standards/
ecma-48/, 8.3.117) becomes style names; other control characters are shown as visible text.
"""

import re

from yourtool.foundation.text import printable
from yourtool.tui.lines.styled_lines import Span, expand_tabs

_SGR = re.compile(r"\x1b\[([0-9;:]{0,200})m")  # no terminal sends a longer one, so it is text
_LINE_END = re.compile(r"\r\n|\n|\r")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class AnsiParser:
    """Splits output into lines of spans; colours apply until they change, also across lines."""

    def __init__(self) -> None:
        self._attributes: tuple[str, ...] = ()
        self._color = ""
        self._background = ""

    def parse(self, text: str) -> list[list[Span]]:
        """Return the lines of `text`; a carriage return also ends a line."""
        return [self._parse_line(line) for line in _LINE_END.split(text)]

    def _parse_line(self, line: str) -> list[Span]:
        if "\x1b" not in line and not self._style:
            return [(expand_tabs(printable(line)), "")] if line else []
        spans: list[Span] = []
        last = 0
        for match in _SGR.finditer(line):
            self._append(spans, line[last : match.start()])
            self._apply_sgr(match[1])
            last = match.end()
        self._append(spans, line[last:])
        return spans

    def _append(self, spans: list[Span], text: str) -> None:
        if text:
            spans.append((expand_tabs(printable(text)), self._style))

    @property
    def _style(self) -> str:
        words = [*self._attributes]
        if self._color:
            words.append(self._color)
        if self._background:
            words += ["on", self._background]
        return f"sgr:{','.join(words)}" if words else ""

    def _apply_sgr(self, parameters: str) -> None:
        codes = [int(code) if code else 0 for code in re.split("[;:]", parameters)]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                self._set_color(code, _parse_extended_color(codes))
            elif code in _ON:
                self._attributes = tuple(dict.fromkeys((*self._attributes, _ON[code])))
            elif code in _OFF:
                self._attributes = tuple(a for a in self._attributes if a not in _OFF[code])
            elif code == 0:
                self._attributes, self._color, self._background = (), "", ""
            elif code in (39, 49):
                self._set_color(code - 1, "")
            elif code // 10 in (3, 4, 9, 10) and code % 10 < len(_NAMES):
                bright = "bright_" if code >= 90 else ""
                self._set_color(38 if code // 10 in (3, 9) else 48, bright + _NAMES[code % 10])

    def _set_color(self, code: int, color: str) -> None:
        if code == 38:
            self._color = color
        else:
            self._background = color


def _parse_extended_color(codes: list[int]) -> str:
    """Consume and return the rest of a 256-colour or true-colour code."""
    match codes:
        case [5, number, *_]:
            del codes[:2]
            return f"color({number})" if number < 256 else ""
        case [2, red, green, blue, *_]:
            del codes[:4]
            return f"#{red:02x}{green:02x}{blue:02x}" if max(red, green, blue) < 256 else ""
        case _:
            del codes[:1]
            return ""
