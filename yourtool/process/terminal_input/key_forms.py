"""Forms of keys in the input of terminals.

Sources: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (PC-style function keys,
`modifyOtherKeys`), https://sw.kovidgoyal.net/kitty/keyboard-protocol/, and the manuals of rxvt and
of the Linux console.
"""

from yourtool.process.terminal_input.items import Key

_SHIFT, _ALT, _CTRL, _CAPS_LOCK = 1, 2, 4, 64
_MODIFIERS = (("alt", 2), ("ctrl", 4), ("hyper", 16), ("meta", 32), ("shift", 1), ("super", 8))
_CHORD = 2 | 4 | 8 | 16 | 32
"""Modifiers with which a key types nothing."""

_LETTERS = {
    "A": "up", "B": "down", "C": "right", "D": "left", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip
_NUMBERS = {
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end",
    11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9",
    21: "f10", 23: "f11", 24: "f12", 25: "f13", 26: "f14", 28: "f15", 29: "f16", 31: "f17",
    32: "f18", 33: "f19", 34: "f20",
}  # fmt: skip
_CODES = {
    8: "backspace", 9: "tab", 13: "enter", 27: "escape", 127: "backspace", 57414: "enter",
    57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup", 57422: "pagedown",
    57423: "home", 57424: "end", 57425: "insert", 57426: "delete",
    **{57363 + number: f"f{number}" for number in range(13, 25)},
}  # fmt: skip
_KEYPAD = {57399 + at: character for at, character in enumerate("0123456789./*-+")} | {
    57415: "=",
    57416: ",",
}
_TYPED = {"backspace": "\x7f", "enter": "\r", "escape": "\x1b", "tab": "\t"}
_SS3_TEXT = dict(zip("XjklmnopqrstuvwxyI", "=*+,-./0123456789\t", strict=True))
_ARROWS = dict(zip("abcd", ("up", "down", "right", "left"), strict=True))
_RXVT = {"^": _CTRL, "@": _CTRL | _SHIFT, "$": _SHIFT}
_PRIVATE_USE = range(57344, 63744)
"""Code points of keys that have no character, such as modifiers and those of players."""

_SAME = {"alt+b": "ctrl+left", "alt+f": "ctrl+right", "alt+backspace": "ctrl+w"}
"""What iTerm sends for words, and what shells do with these keys."""

_LATIN = "qwertyuiop[]asdfghjkl;'zxcvbnm,."
_LAYOUTS = ("йцукенгшщзхъфывапролджэячсмитьбю", ";ςερτυθιοπ[]ασδφγηξκλ;'ζχψωβνμ,.",
            "/'קראטוןםפ[]שדגכעיחלךף,זסבהנמצתץ")  # fmt: skip
_LATIN_LETTERS = {
    other: latin
    for layout in _LAYOUTS
    for other, latin in zip(layout, _LATIN, strict=True)
    if other > "\x7f"
} | {"і": "s", "ї": "]", "є": "'", "ў": "o"}


def get_latin_letter(character: str) -> str:
    """Return what the key of a Russian, Greek or Hebrew letter types in a US layout.

    Any other character is returned as it is.
    """
    latin = _LATIN_LETTERS.get(character.lower(), character)
    return latin.upper() if latin != character and character.isupper() else latin


def read_control(character: str, modifiers: int = 0) -> Key:
    """Return the key of a control character."""
    number = ord(character)
    if number in _CODES:
        return _build(_CODES[number], modifiers)
    letter = chr(number + 64).lower()
    return Key(_add_modifiers(letter, modifiers | _CTRL), "" if modifiers else character)


def read_alt(character: str) -> Key:
    """Return the key of a character after Esc."""
    if character == "\t":  # the Linux console
        return Key("shift+tab")
    if character < " " or character == "\x7f":
        return read_control(character, _ALT)
    return _build(character.lower(), _ALT | (_SHIFT if character.isupper() else 0))


def read_ss3(parameters: str, final: str) -> Key | None:
    """Return the key of `ESC O`, parameters and a final character."""
    if text := _SS3_TEXT.get(final, ""):
        return _build("tab", 0) if text == "\t" else Key(text, text)
    if final == "M":
        return _build("enter", 0)
    if final in _ARROWS:
        return Key(f"ctrl+{_ARROWS[final]}")
    name, fields = _LETTERS.get(final), parameters.split(";")
    return _build(name, _parse_modifiers(fields[-1])) if name else None


def read_csi(parameters: str, final: str) -> Key | None:
    """Return the key of `ESC [`, parameters and a final character; None if it has no effect."""
    fields = [field.split(":") for field in parameters.split(";")]
    if len(fields) > 1 and fields[1][1:2] == ["3"]:  # released
        return None
    modifiers = _parse_modifiers(fields[1][0]) if len(fields) > 1 else 0
    number = parse_number(fields[0][0])
    if final == "u":
        return _read_code(fields, modifiers)
    if final == "~" and number == 27:
        return _read_code([*fields[2:3], [""]][:1], modifiers)
    if final == "Z":
        return _build("tab", modifiers | _SHIFT)
    if final in _ARROWS and not parameters:
        return Key(f"shift+{_ARROWS[final]}")
    if final in "~^@$" and (name := _NUMBERS.get(number)):
        return _build(name, modifiers | _RXVT.get(final, 0))
    if name := _LETTERS.get(final):
        if len(fields) == 1:  # old forms have the modifiers only
            modifiers = _parse_modifiers(fields[0][0])
        return _build(name, modifiers)
    return None


def parse_keyboard_flags(reply: str) -> int | None:
    """Return what the terminal does of the keyboard protocol; None for another reply."""
    is_about_keys = reply.startswith("\x1b[?") and reply.endswith("u")
    return max(0, parse_number(reply[3:-1], 0)) if is_about_keys else None


def parse_number(text: str, default: int = -1) -> int:
    """Return a number; `default` if the text is empty, -1 if it is not a usable number."""
    if not text:
        return default
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else -1


def _parse_modifiers(text: str) -> int:
    return max(0, parse_number(text, 1) - 1) & 0xFF


def _read_code(fields: list[list[str]], modifiers: int) -> Key | None:
    """Return the key of a code point, with those of Shift and of a US layout, and its text."""
    codes = [parse_number(code) for code in fields[0]]
    code, shifted, base = (*codes, -1, -1)[:3]
    text = "".join(_to_character(parse_number(each)) for each in (*fields, [], [])[2])
    if code in _CODES:
        return _build(_CODES[code], modifiers)
    character = _KEYPAD.get(code) or ("" if code in _PRIVATE_USE else _to_character(code))
    chord = modifiers & _CHORD
    if not text and (not chord or (chord == _CTRL | _ALT and not _is_plain(character))):
        text = _get_text(character, _to_character(shifted), modifiers)
    elif chord not in (0, _ALT, _CTRL | _ALT):  # AltGr of some terminals is Ctrl+Alt
        text = ""
    if text:
        return Key(text, text)
    if not character:
        return None
    if not character.isascii():
        character = _to_character(base) or get_latin_letter(character)
    return _build(character.lower(), modifiers)


def _get_text(character: str, shifted: str, modifiers: int) -> str:
    is_shifted = bool(modifiers & _SHIFT)
    if is_shifted and shifted:
        character, is_shifted = shifted, False
    is_upper = is_shifted != bool(modifiers & _CAPS_LOCK)
    upper = character.upper() if is_upper else character
    return upper if len(upper) == 1 else character


def _is_plain(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == " ")


def _to_character(code: int) -> str:
    """Return the character of a code point, or an empty string if it is not printable."""
    if not 0 <= code < 0x110000:
        return ""
    return character if (character := chr(code)).isprintable() else ""


def _build(base: str, modifiers: int) -> Key:
    modifiers &= _SHIFT | _CHORD
    name = _add_modifiers(base, modifiers)
    return Key(_SAME.get(name, name), "" if modifiers else _TYPED.get(base, ""))


def _add_modifiers(base: str, modifiers: int) -> str:
    return "+".join([*(name for name, bit in _MODIFIERS if modifiers & bit), base])
