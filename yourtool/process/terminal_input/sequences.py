"""Escape sequences in the input of a terminal.

Grammar: ECMA-48 (CSI, SS3 and strings), and the forms of mice in
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Mouse-Tracking.
"""

from yourtool.process.terminal_input.items import Focus, Item, Key, Mouse, Reply, Unknown
from yourtool.process.terminal_input.key_forms import (
    parse_number,
    read_alt,
    read_csi,
    read_ss3,
)

ESCAPE, _BELL, _STRING_END = "\x1b", "\x07", "\x9c"
_EIGHT_BITS = {0x8F: "O", 0x90: "P", 0x98: "X", 0x9B: "[", 0x9D: "]", 0x9E: "^", 0x9F: "_"}
INTRODUCERS = {
    chr(first + code): ESCAPE + letter
    for code, letter in _EIGHT_BITS.items()
    for first in (0, 0xDC00)  # a character, or a byte that is not UTF-8
}
"""Single characters for Esc and another one."""
_STRINGS = ("P", "]", "X", "^", "_")
_DIGITS = frozenset("0123456789;:")
_REPLIES = "cnRtxy"
"""Final characters of replies that have numbers."""


def find_sequence_end(text: str, at: int) -> int:
    """Return where the sequence that starts with Esc ends; 0 if it is not complete.

    A character that cannot be part of it ends it.
    """
    match text[at + 1 : at + 2]:
        case "":
            return 0
        case "[":
            return _find_csi_end(text, at + 2)
        case "O":
            end = at + 2
            while text[end : end + 1] in _DIGITS:
                end += 1
            if end == len(text):
                return 0
            return end + 1 if " " < text[end] <= "~" else end
        case second if second in _STRINGS:
            return _find_string_end(text, at + 2)
        case second:
            return at + (1 if second == ESCAPE else 2)


def _find_csi_end(text: str, start: int) -> int:
    end = start
    if text[end : end + 1] == "M":  # three bytes of the mouse follow
        return _find_bytes_end(text, end + 1, 3)
    if text[end : end + 1] == "[":  # a function key of the Linux console
        end += 1
    while " " <= text[end : end + 1] <= "?":  # parameters, and the minus of some mice
        end += 1
        if text[end - 1] == "$" and text[start : end - 1].isdecimal():  # rxvt
            return end
    if end == len(text):
        return 0
    return end + 1 if "@" <= text[end] <= "~" else end


def _find_bytes_end(text: str, at: int, count: int) -> int:
    """Return where so many bytes end, which may have been decoded as UTF-8; 0 if some miss."""
    for end in range(at, min(at + count, len(text))):
        count -= len(text[end].encode("utf-8", "surrogateescape"))
        if count <= 0:
            return end + 1
    return 0


def _find_string_end(text: str, at: int) -> int:
    for end in range(at, len(text)):
        c = text[end]
        if c in (_BELL, _STRING_END):
            return end + 1
        if c == ESCAPE:
            if end + 1 == len(text):
                return 0
            return end + 2 if text[end + 1] == "\\" else end
        if c < " ":
            return end
    return 0


def read_sequence(source: str) -> Item:
    """Return the item of a sequence that starts with Esc, or of Esc alone."""
    second, rest = source[1:2], source[2:]
    key: Key | None = None
    if not second:
        key = Key("escape", ESCAPE)
    elif not rest:
        key = read_alt(second) if second.isascii() or second.isprintable() else None
    elif second in _STRINGS:
        return Reply(source) if source[-1] in (_BELL, _STRING_END, "\\") else Unknown(source)
    elif second == "O":
        key = read_ss3(rest[:-1], rest[-1])
    elif not "@" <= rest[-1] <= "~" and rest[-1] != "$" and rest[0] != "M":
        return Unknown(source)
    elif rest in ("I", "O"):
        return Focus(source)
    elif rest[0] in "M<" or (rest[-1] == "M" and ";" in rest):
        return _read_mouse(rest, source)
    elif rest[0] in "=>?" or _is_reply(rest):
        return Reply(source)
    elif rest[0] == "[":
        key = Key(f"f{ord(rest[1]) - 64}") if rest[1:] in tuple("ABCDE") else None
    elif min(rest[:-1], default="0") >= "0":
        key = read_csi(rest[:-1], rest[-1])
    return Unknown(source) if key is None else key.with_source(source)


def _is_reply(rest: str) -> bool:
    """Whether it is the report of a cursor or a size; F3 with a modifier looks like the former."""
    is_key = rest[-1] == "R" and rest.startswith("1;")
    return rest[-1] in _REPLIES and rest[0].isdecimal() and not is_key


def _read_mouse(rest: str, source: str) -> Item:
    if rest[0] == "M":
        encoded = rest[1:].encode("utf-8", "surrogateescape")
        if len(encoded) < 3:
            return Unknown(source)
        numbers = [byte - 32 for byte in encoded[:3]]
    else:
        numbers = [parse_number(each) for each in rest.strip("<Mm").split(";")]
        if rest[0] != "<":
            numbers[0] -= 32
    if len(numbers) != 3 or min(numbers[1:]) < 1 or numbers[0] < 0:
        return Unknown(source)
    buttons, x, y = numbers
    return Mouse(buttons, x, y, source)
