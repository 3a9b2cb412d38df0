"""Text from outside, made fit to be stored, to be shown, and to be approved.

Three questions, three functions: `storable` keeps what UTF-8 and SQLite can hold; `printable`
keeps what a terminal can show without obeying it; `escaped` leaves nothing that could be taken for
something else. Invisible characters are shown as `\\u{200b}`; classes follow the Unicode properties
`Default_Ignorable_Code_Point` and `Bidi_Control` (https://www.unicode.org/reports/tr44/).
"""

import re
import unicodedata
from typing import Any, cast

DEEPEST = 100
"""Levels of arrays and objects in JSON from outside."""

_SURROGATES = re.compile("[\ud800-\udfff]")

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_JOINERS = "\u200c\u200d"
_KEYCAP = "\u20e3"
_IGNORABLE = re.compile(
    "[\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f]"
)

_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-İĲ-ķĹ-ſḀ-ỿ]")
_EAST_ASIAN = (  # no pattern: one of such ranges takes 5 ms of every start to compile
    range(0x3041, 0x30FB),
    range(0x3400, 0x4DC0),
    range(0x4E01, 0xA000),
    range(0xAC00, 0xD7A4),
)
_LOOK_ALIKE_LETTERS = frozenset(
    "АВЕЅІЈКМНОРСТУХѴҮԌԚԜҺаеѕіјорсухѵүԁԛԝһӏӀԍԏ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϜαγικνορυχϲϳ"  # Greek
    "ՍՏՕօսցոքհյզԼ"  # Armenian
    "ıĸɑɡɩʀʏᴄᴏᴠᴡᴢꞌǀǃƖ"  # Latin beyond the alphabets of languages
)
_LOOK_ALIKE_SIGNS = frozenset(
    "\u00b4\u01c0\u01c3\u02b9\u02bb\u02bc\u02bd\u02c8\u02ca\u02cb\u02d0\u02d7\u02f8\u0589\u05be\u05c3"
    "\u05f3\u0660\u06d4\u0701\u0702\u0703\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201a\u201b"
    "\u201c\u201d\u201e\u201f\u2032\u2035\u2038\u2039\u203a\u2041\u2043\u2044\u204e\u2052\u2053\u2215"
    "\u2216\u2217\u2212\u2223\u2227\u2236\u223c\u226a\u226b\u2303\u2758\u2768\u2769\u2774\u2775\u27cb"
    "\u27cd\u29f5\u29f8\u29f9\u2cfa\u2e29\u3003\u3008\u3009\u3014\u3015\u30a0\u30fb\u30fc\u4e00\ua4fa"
    "\ua4fd\ua789\ua78c"
)


def storable(text: str) -> str:
    """Return `text` as UTF-8 and SQLite can hold it: no NUL, U+FFFD for lone surrogates."""
    return _SURROGATES.sub("\ufffd", text.replace("\0", ""))


def encodable(text: str) -> str:
    """Return `text` as UTF-8 can hold it: U+FFFD for lone surrogates. NUL stays.

    For text that is stored inside JSON only, where NUL is an escape, and that must not change.
    """
    return _SURROGATES.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """Return decoded JSON with every text in it made encodable, names included.

    Raises:
        ValueError: it is nested deeper than `DEEPEST`, which encoders on a full stack refuse.
    """
    return _storable_json(value, 0)


def _storable_json(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)  # JSON has no other keys
        return {encodable(name): _storable_json(inner, depth + 1) for name, inner in fields.items()}
    return [_storable_json(inner, depth + 1) for inner in cast("list[Any]", value)]  # of anything


def printable(text: str) -> str:
    r"""Return `text` with nothing in it that a terminal would obey or hide.

    Line feeds and tabs stay. Other C0 controls become their pictures (`␛` for ESC), C1 controls
    `\x9b`, lone surrogates U+FFFD; bidirectional controls and invisible characters `\u{202e}`.
    Joiners and variation selectors stay where scripts and emoji need them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_picture, text)


def escaped(text: str, *, lines: bool = True) -> str:
    r"""Return `text` for a question the user answers: different texts look different.

    Whatever is not plainly itself is written as `\u{hex}`: controls except the line feed, all
    spaces but U+0020, invisible and bidirectional characters, compatibility forms, combining marks
    on ASCII, and letters and signs that pass for ASCII ones. A backslash is escaped only where it
    would begin such an escape, so the original can be told from the result.
    """
    if not lines:
        return escaped(text).replace("\n", _codepoint("\n"))
    if text.isascii() and text.isprintable() and "\\u{" not in text:
        return text
    suspects = {
        match.start() + offset
        for match in _WORD.finditer(text)
        for offset in _suspects(match.group())
    }
    return "".join(
        char if _plain(char, text, at) and at not in suspects else _codepoint(char)
        for at, char in enumerate(text)
    )


def _codepoint(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _picture(match: re.Match[str]) -> str:
    char, at = match.group(), match.start()
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0:
        return f"\\x{code:x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    text = match.string
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if char in _JOINERS and _shapes(before) and _shapes(after):
        return char
    if "\ufe00" <= char <= "\ufe0f" and (_shapes(before) or after == _KEYCAP):
        return char
    return _codepoint(char)


def _shapes(neighbour: str) -> bool:
    """Whether a joiner or a variation selector beside this character changes how it looks."""
    if not neighbour or neighbour.isascii():
        return False
    return neighbour == "\ufe0f" or not _UNSAFE.match(neighbour)


def _plain(char: str, text: str, at: int) -> bool:
    if char.isascii():
        return (char.isprintable() or char == "\n") and not text.startswith("\\u{", at)
    if not char.isprintable() or char in _LOOK_ALIKE_SIGNS or _IGNORABLE.match(char):
        return False
    if unicodedata.combining(char) and (at == 0 or text[at - 1].isascii()):
        return False
    return unicodedata.normalize("NFKC", char) == char


def _suspects(word: str) -> list[int]:
    """Return where a word holds letters that are there to pass for ASCII ones."""
    if word.isascii():
        return []
    foreign = [at for at, char in enumerate(word) if not _LATIN.match(char)]
    if any(char.isascii() for char in word):
        return [at for at in foreign if not word[at].isascii() and not _is_east_asian(word[at])]
    return foreign if all(char in _LOOK_ALIKE_LETTERS for char in word) else []


def _is_east_asian(char: str) -> bool:
    return any(ord(char) in letters for letters in _EAST_ASIAN)
