"""Names of keys in settings and interface.

A name is a character, or modifiers and a key, such as `ctrl+shift+f5`. Inside the program a key has
the name that Textual gives it: https://textual.textualize.io/guide/input/
"""

from collections.abc import Mapping
from types import MappingProxyType

from yourtool.foundation.suggestions import find_closest

_CHARACTERS: Mapping[str, str] = MappingProxyType(
    {
        " ": "space", "!": "exclamation_mark", '"': "quotation_mark", "#": "number_sign",
        "$": "dollar_sign", "%": "percent_sign", "&": "ampersand", "'": "apostrophe",
        "(": "left_parenthesis", ")": "right_parenthesis", "*": "asterisk", "+": "plus",
        ",": "comma", "-": "minus", ".": "full_stop", "/": "slash", ":": "colon",
        ";": "semicolon", "<": "less_than_sign", "=": "equals_sign", ">": "greater_than_sign",
        "?": "question_mark", "@": "at", "[": "left_square_bracket", "\\": "backslash",
        "]": "right_square_bracket", "^": "circumflex_accent", "_": "underscore",
        "`": "grave_accent", "{": "left_curly_bracket", "|": "vertical_line",
        "}": "right_curly_bracket", "~": "tilde",
    }
)  # fmt: skip
_CHARACTERS_BY_NAME = {name: character for character, name in _CHARACTERS.items()}
_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "enter": "Enter", "tab": "Tab", "space": "Space", "escape": "Esc",
        "backspace": "Backspace", "delete": "Delete", "insert": "Insert", "home": "Home",
        "end": "End", "pageup": "Page Up", "pagedown": "Page Down", "up": "Up", "down": "Down",
        "left": "Left", "right": "Right", **{f"f{number}": f"F{number}" for number in range(1, 25)},
    }
)  # fmt: skip
_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "esc": "escape", "return": "enter", "del": "delete", "ins": "insert", "bs": "backspace",
        "pgup": "pageup", "page_up": "pageup", "page-up": "pageup", "pgdn": "pagedown",
        "pgdown": "pagedown", "page_down": "pagedown", "page-down": "pagedown",
    }
)  # fmt: skip
_MODIFIERS: Mapping[str, str] = MappingProxyType(
    {
        "ctrl": "ctrl", "control": "ctrl", "alt": "alt", "option": "alt", "meta": "alt",
        "shift": "shift", "super": "super", "cmd": "super",
    }
)  # fmt: skip
_SAME_BYTES: Mapping[str, str] = MappingProxyType(
    {
        "ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace",
        "ctrl+left_square_bracket": "escape",
    }
)  # fmt: skip
"""Keys that most terminals do not distinguish: both send the same control character (ECMA-48)."""
_TEXTUAL_NAMES = {"ctrl+space": "ctrl+@", "ctrl+at": "ctrl+@"}


class KeyNameError(ValueError):
    """A name that is not the name of a key; `nearest` was probably meant."""

    def __init__(self, message: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest


def parse_key(text: str) -> str:
    """Return Textual's name of a key, such as `question_mark` for `?`.

    Raises:
        KeyNameError: there is no such key, or terminals send another key for it.
    """
    *names, base = _split(text.strip())
    modifiers: set[str] = set()
    for name in names:
        if (modifier := _MODIFIERS.get(name.lower())) is None:
            raise KeyNameError(f"`{name}` is no modifier", find_closest(name.lower(), _MODIFIERS))
        modifiers.add(modifier)
    key = _parse_base(base)
    if "shift" in modifiers and key not in _LABELS:
        if modifiers != {"shift"} or not key.isalpha() or len(key) > 1:
            character = _CHARACTERS_BY_NAME.get(key, key)
            raise KeyNameError(f"`{character}` is typed with its own Shift; leave `shift+` out")
        return key.upper()
    if modifiers and len(key) == 1:
        key = key.lower()
    full = "+".join([*sorted(modifiers), key])
    if (same := _SAME_BYTES.get(full)) is not None:
        raise KeyNameError(f"most terminals send `{same}` for `{text.strip()}`", same)
    return _TEXTUAL_NAMES.get(full, full)


def _split(text: str) -> list[str]:
    """Return the modifiers and the key; the key can be `+`."""
    if text.endswith("+"):
        return [*filter(None, text[:-1].removesuffix("+").split("+")), "+"]
    return text.split("+")


def _parse_base(name: str) -> str:
    if len(name) == 1 and (name in _CHARACTERS or name.isalnum()):
        return _CHARACTERS.get(name, name)
    if len(name) == 1:
        raise KeyNameError(f"`{name}` cannot be a key; use a letter, a digit or a sign in ASCII")
    lower = name.lower()
    lower = _SYNONYMS.get(lower, lower)
    if lower in _LABELS or lower in _CHARACTERS_BY_NAME:
        return lower
    nearest = find_closest(lower, [*_LABELS, *_SYNONYMS, *_CHARACTERS_BY_NAME])
    raise KeyNameError(
        f"`{name}` is not the name of a key" if name else "a key is missing", nearest
    )


def get_textual_name(name: str) -> str:
    """Return Textual's name of a key that ends with its character, such as `ctrl+;`."""
    modifiers, base = name[:-1], name[-1:]
    if modifiers and not modifiers.endswith("+"):
        return name
    full = modifiers + _CHARACTERS.get(base, base)
    return _TEXTUAL_NAMES.get(full, full)


def is_character(key: str) -> bool:
    """Return whether a key types a character, given Textual's name."""
    return len(key) == 1 or key in _CHARACTERS_BY_NAME


def get_character(key: str) -> str:
    """Return the character that a key types; empty if it types none."""
    return _CHARACTERS_BY_NAME.get(key, key if len(key) == 1 else "")


def format_key_name(key: str) -> str:
    """Return the name of a key for the settings, given Textual's name."""
    *modifiers, base = key.split("+")
    if base == "@":
        base = "space"
    named = base if base == "space" else _CHARACTERS_BY_NAME.get(base, base)
    return "+".join([*modifiers, named])


def get_key_label(key: str) -> str:
    """Return how the interface shows a key, such as `Ctrl+C`, given Textual's name."""
    *modifiers, base = format_key_name(key).replace("++", "+plus").split("+")
    shown = _LABELS.get(base, _CHARACTERS_BY_NAME.get(base, base))
    if modifiers and len(shown) == 1:
        shown = shown.upper()
    return "+".join([*(modifier.capitalize() for modifier in modifiers), shown])


def get_same_input(key: str) -> tuple[str, ...]:
    """Return the keys that most terminals do not distinguish from a key, by Textual's names."""
    return tuple(other for other, sent in _SAME_BYTES.items() if sent == key)
