r"""Sanitizing of external text.

`storable` removes what UTF-8 and SQLite cannot store; `printable` replaces what could control the
terminal; `escaped` also escapes what could be mistaken for something else. Invisible characters are
shown as `\u{200b}`; classes follow the Unicode properties `Default_Ignorable_Code_Point` and
`Bidi_Control` (https://www.unicode.org/reports/tr44/).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

MAX_JSON_DEPTH = 100
"""Maximum depth of external JSON."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_PIECE = re.compile(r"[^\W_]+|[ !-/:-@\[\]^_`{-~]+|.", re.DOTALL)
"""A word, ASCII punctuation except the backslash, or any other character."""

_MAX_CACHED_WORD = 64
"""Maximum length of a cached word; longer ones rarely repeat."""

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Controls, surrogates, Default_Ignorable_Code_Point (DerivedCoreProperties.txt, Unicode 16.0)."""

_JOINERS = "\u200c\u200d"
_KEYCAP = "\u20e3"

_BLANK = frozenset("\u2800\ufffc\ufffd\U00013441\U00013442\U00016fe4\U0001d159")
"""Characters that are drawn blank, or like an unknown character."""
_DRAWN = (
    *(range(0x2400, 0x2440), range(0x2500, 0x25A0)),
    *(range(0x1100, 0x1200), range(0xA960, 0xA980), range(0xD7B0, 0xD800)),
)
"""Control pictures, lines and blocks, and parts of Hangul syllables: easily confused."""

_JOINED = (range(0x1F1E6, 0x1F200), range(0x1F3FB, 0x1F400))
"""Regional indicators and skin tones, which combine with the character before them.

Terminals disagree on how many cells they take, so the end of a row could be cut off.
"""

_SCRIPTS = frozenset(
    {
        "ARABIC", "ARMENIAN", "BENGALI", "BOPOMOFO", "CJK", "CYRILLIC", "DEVANAGARI", "ETHIOPIC",
        "GEORGIAN", "GREEK", "GUJARATI", "GURMUKHI", "HANGUL", "HEBREW", "HIRAGANA", "KANNADA",
        "KATAKANA", "KATAKANA-HIRAGANA", "KHMER", "LAO", "LATIN", "MALAYALAM", "MYANMAR", "ORIYA",
        "SINHALA", "TAMIL", "TELUGU", "THAANA", "THAI", "TIBETAN",
    }
)  # fmt: skip
"""Recommended scripts, https://www.unicode.org/reports/tr31/ table 5: first words of names."""
_EAST_ASIAN = frozenset(["CJK", "BOPOMOFO", "HANGUL", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"])
"""Scripts that may be mixed in one word, also with Latin."""
_ALPHABETS = {
    "LATIN": re.compile("[À-ÖØ-öø-İĲ-ķĹ-ſḀ-ỿƠơƯưȘșȚțƏə]"),
    "GREEK": re.compile("[Ά-ώἀ-\u1fff]"),
    "CYRILLIC": re.compile("[Ѐ-џҊ-ӿ]"),
}
"""Letters of living languages; other letters of these scripts look like them."""
_RARE = frozenset("ĔĕŢţẜẝẟỺỻỼỽỾỿЍѝӋӌ\u0e4d\u0ecd")
"""The rarer one of two letters of a script that look the same."""
_COMPOSED = frozenset("\u0e33\u0eb3")
"""Vowels that languages need, although compatibility normalisation splits them."""
_DOUBLE_VOWELS = frozenset(
    {
        "अा",
        "अॆ",
        "अॉ",
        "एॅ",
        "एॆ",
        "एे",
        "অা",
        "ঋৃ",
        "ਅਾ",
        "ਅੈ",
        "ਅੌ",
        "ੲਿ",
        "ੲੀ",
        "ੲੇ",
        "ੳੁ",
        "ੳੂ",
        "અા",
        "અૅ",
        "અે",
        "અૈ",
        "ଅା",
        "ஈு",
        "ఋా",
        "ఌా",
        "ಌಾ",
        "ഇൗ",
        "എെ",
        "ഒാ",
        "ഒൗ",
    }
)
"""A vowel with a vowel sign that looks like another vowel."""
_KATAKANA = re.compile("[ァ-ヿ]+")
_LIKE_HAN = frozenset("ーヘニイハカトロタエノ")
_LIKE_KATAKANA = frozenset("一へ二亻八力卜口囗夕工丿丶丨")
_MARKS = 3
"""Marks on one letter that are shown; more would be drawn over one another."""

# From confusables.txt of Unicode 15.1, https://www.unicode.org/reports/tr39/#Confusable_Detection:
# letters of the alphabets above that look like ASCII or like a letter of another of them, and signs
# that look like ASCII, like such a letter, or like a simpler sign.
_LOOK_ALIKE_LETTERS = frozenset(
    "\u00c6\u00df\u00e6\u0152\u0153\u018f\u01a0\u01a1\u0391\u0392\u0393\u0395\u0396\u0397\u0399"
    "\u039a\u039c\u039d\u039f\u03a0\u03a1\u03a4\u03a5\u03a6\u03a7\u03b1\u03b2\u03b3\u03b4\u03b9"
    "\u03ba\u03bd\u03bf\u03c0\u03c1\u03c3\u03c5\u03c7\u0405\u0406\u0408\u0410\u0412\u0413\u0415"
    "\u0417\u041a\u041c\u041d\u041e\u041f\u0420\u0421\u0422\u0423\u0424\u0425\u042b\u042c\u042e"
    "\u0430\u0431\u0433\u0435\u043e\u043f\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0491\u04ae"
    "\u04af\u04ba\u04bb\u04bd\u04c0\u04cf\u04d4\u04d5\u04d8\u04e0\u053b\u053c\u0544\u0548\u054a"
    "\u054c\u054d\u054f\u0553\u0555\u0561\u0563\u0566\u056e\u0570\u0571\u0575\u0578\u057c\u057d"
    "\u0581\u0584\u0585\u093d\u0966\u0968\u0969\u096a\u096e\u0971\u097d\u09e6\u09ea\u09ed\u0a66"
    "\u0a67\u0a6a\u0abd\u0ae6\u0ae8\u0ae9\u0aea\u0aee\u0b20\u0b66\u0b68\u0b89\u0b90\u0ba3\u0bb4"
    "\u0bb6\u0be6\u0c05\u0c06\u0c07\u0c12\u0c1c\u0c1e\u0c23\u0c2f\u0c31\u0c32\u0c66\u0c67\u0c68"
    "\u0c6f\u0c85\u0c86\u0c87\u0c92\u0c9c\u0c9e\u0ca3\u0caf\u0cb1\u0cb2\u0ce6\u0ce7\u0ce8\u0cef"
    "\u0d09\u0d1c\u0d20\u0d23\u0d34\u0d36\u0d4e\u0d66\u0d6d\u0e08\u0e1a\u0e1b\u0e1d\u0e1e\u0e1f"
    "\u0e22\u0e50\u0e88\u0e8d\u0e9a\u0e9b\u0e9d\u0e9e\u0e9f\u0ed0\u101d\u1040\u10e7\u10ff\u1200"
    "\u1206\u1240\u1260\u1261\u1294\u12ae\u12d0\u1323\u1e9d\u1e9f\u1eff\u30ce\u30fc\u4e00\u4e36"
    "\u4e3f"
)
_LOOK_ALIKE_SIGNS = frozenset(
    "\u00b4\u00d7\u01c0\u01c3\u02b9\u02bb\u02bc\u02bd\u02c2\u02c3\u02c4\u02c8\u02ca\u02cb\u02d0"
    "\u02d3\u02d7\u02f4\u02f6\u02f8\u02fb\u055a\u055d\u0589\u05be\u05c3\u05f3\u0660\u06d4\u0701"
    "\u0702\u0703\u0af0\u0bf5\u0bf8\u0fd5\u0fd6\u1400\u166d\u166e\u16eb\u16ec\u16ed\u1735\u17d4"
    "\u17d5\u17d9\u17da\u1803\u1809\u1cd3\u2010\u2011\u2012\u2013\u2014\u2015\u2016\u2018\u2019"
    "\u201a\u201b\u201c\u201d\u201e\u201f\u2022\u2027\u2032\u2035\u2038\u2039\u203a\u2041\u2043"
    "\u2044\u204e\u2052\u2053\u205a\u20a4\u20b6\u20bd\u2108\u212e\u21b5\u21e5\u2206\u220f\u2212"
    "\u2215\u2216\u2217\u2218\u2219\u221e\u2223\u2225\u2227\u2228\u2229\u222a\u2236\u223c\u2263"
    "\u226a\u226b\u22a4\u22c0\u22c1\u22c2\u22c3\u22c5\u22d8\u22d9\u22ff\u2300\u2303\u2325\u235f"
    "\u2373\u2374\u2375\u237a\u239c\u239f\u23a2\u23a5\u23aa\u23ae\u23c1\u23c2\u23c3\u23c6\u23fc"
    "\u23fd\u244a\u25a0\u25b1\u25b3\u25b7\u25b8\u25ba\u25c1\u25cb\u25ce\u25e0\u25e6\u2610\u2638"
    "\u263e\u264e\u26ac\u2758\u2768\u2769\u276c\u276e\u276f\u2772\u2773\u2774\u2775\u2795\u2796"
    "\u2797\u27cb\u27cd\u27d9\u27e8\u27e9\u292b\u292c\u29b0\u29be\u29c5\u29c7\u29d9\u29f5\u29f8"
    "\u29f9\u2a02\u2a03\u2a04\u2a05\u2a06\u2a20\u2a2f\u2a3d\u2a3e\u2a3f\u2aa5\u2afb\u2afd\u2bec"
    "\u2bed\u2bee\u2bef\u2ce9\u2cf9\u2cfa\u2e28\u2e29\u2e2a\u2e2b\u2e2c\u2e30\u2e31\u2e32\u2e39"
    "\u2e3f\u2e40\u2e82\u2e83\u2e85\u2e89\u2e8b\u2e8e\u2e8f\u2e90\u2e92\u2e93\u2e94\u2e96\u2e97"
    "\u2e98\u2e99\u2e9b\u2e9e\u2ea0\u2ea1\u2ea2\u2ea3\u2ea4\u2ea6\u2ea8\u2eab\u2ead\u2eaf\u2eb1"
    "\u2eb2\u2eb9\u2eba\u2ebe\u2ebf\u2ec0\u2ec1\u2ec2\u2ec3\u2ec4\u2ec5\u2ec8\u2ec9\u2ecb\u2ecc"
    "\u2ecd\u2ecf\u2ed0\u2ed1\u2ed2\u2ed3\u2ed4\u2ed6\u2ed8\u2ed9\u2eda\u2edb\u2edc\u2edd\u2edf"
    "\u2ee0\u2ee2\u2ee4\u2ee5\u2ee8\u2ee9\u2eeb\u2eec\u2eed\u2eee\u2eef\u2ef0\u2ef2\u3003\u3008"
    "\u3009\u3012\u3014\u3015\u301a\u301b\u30a0\u30fb\u31d0\u31d1\u31d3\u31d4\u31d6\u31da\u31db"
    "\u31df\u31e0\ua4fa\ua4fd\ua4fe\ua4ff\ua60e\ua714\ua716\ua789\ua78c\ufd3e\ufd3f\U00010101"
    "\U000101a0\U000110bb\U000111c7\U000111db\U000111de\U0001d114\U0001d202\U0001d206\U0001d20b"
    "\U0001d20d\U0001d20f\U0001d212\U0001d213\U0001d216\U0001d21b\U0001d22a\U0001d236\U0001d237"
    "\U0001d238\U0001d239\U0001d23a\U0001d23b\U0001d245\U0001f10e\U0001f312\U0001f318\U0001f319"
    "\U0001f700\U0001f702\U0001f707\U0001f70a\U0001f73a\U0001f74c\U0001f755\U0001f75c\U0001f75e"
    "\U0001f768\U0001f76b\U0001f76c\U0001f771"
)


def storable(text: str) -> str:
    """Return `text` for UTF-8 and SQLite: without NUL, with U+FFFD for lone surrogates."""
    return encodable(text.replace("\0", ""))


def encodable(text: str) -> str:
    """Return `text` for UTF-8: with U+FFFD for lone surrogates. NUL is not removed.

    For text that is stored only inside JSON, where NUL is an escape, and must not change.
    """
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """Return decoded JSON with all strings and names made encodable.

    Raises:
        ValueError: it is nested deeper than `DEEPEST`, which encoders may refuse.
    """
    return _storable_json(value, 0)


def _storable_json(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == MAX_JSON_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)  # JSON has no other keys
        return {encodable(name): _storable_json(inner, depth + 1) for name, inner in fields.items()}
    return [_storable_json(inner, depth + 1) for inner in cast("list[Any]", value)]  # of anything


def printable(text: str) -> str:
    r"""Return `text` without characters that a terminal would interpret or hide.

    Line feeds and tabs stay. Other C0 controls become control pictures (`␛` for ESC), C1 controls
    `\x9b`, lone surrogates U+FFFD; bidirectional controls and invisible characters `\u{202e}`.
    Joiners and variation selectors stay if scripts and emoji need them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_to_visible, text)


def count_hidden_characters(text: str) -> int:
    """Return how many characters `printable` replaces, without carriage returns."""
    found = _UNSAFE.finditer(text)
    return sum(each[0] != "\r" and _to_visible(each) != each[0] for each in found)


def escape(text: str) -> str:
    r"""Return `text` for an approval prompt, in which different texts look different.

    Ambiguous characters are written as `\u{hex}`: controls except the line feed, all spaces except
    U+0020, invisible and bidirectional characters, variation selectors, compatibility forms,
    confusable letters and punctuation, and marks that are not part of a script's orthography. A
    backslash is escaped only before what would be such an escape, so the result is unambiguous.
    """
    return "".join(escape_pieces(text))


def escape_pieces(text: str) -> Iterator[str]:
    """Yield the result of `escaped` in pieces, for long texts."""
    if text.isascii() and text.isprintable() and "\\u{" not in text:
        yield text
        return
    is_letter_plain = False  # whether the last letter is unescaped, so that its marks can be too
    for match in _PIECE.finditer(text):
        piece, at = match.group(), match.start()
        if piece[0].isalnum():
            is_short = len(piece) <= _MAX_CACHED_WORD
            shown = _cached_escape_word(piece) if is_short else _escape_word(piece)
            is_letter_plain = shown[-1] == piece[-1]
            yield shown
        elif piece.isascii():
            plain = (piece.isprintable() or piece == "\n") and not text.startswith("\\u{", at)
            yield piece if plain else _codepoint(piece)
        elif _is_mark(piece):
            is_letter_plain = is_letter_plain and _is_plain_mark(text, at)
            yield piece if is_letter_plain else _codepoint(piece)
        else:
            yield piece if _is_plain(piece) else _codepoint(piece)


def escape_line(text: str) -> str:
    """Return `text` as one line of an approval prompt, with line feeds and final spaces escaped."""
    return "".join(escape_line_pieces(text))


def escape_line_pieces(text: str) -> Iterator[str]:
    """Yield the result of `escaped_line` in pieces."""
    bare = text.rstrip(" ")
    for piece in escape_pieces(bare):
        yield piece.replace("\n", _codepoint("\n"))
    yield _codepoint(" ") * (len(text) - len(bare))


def _codepoint(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _to_visible(match: re.Match[str]) -> str:
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
    if char in _JOINERS and _changes_form(before) and _changes_form(after):
        return char
    if "\ufe00" <= char <= "\ufe0f" and (_changes_form(before) or after == _KEYCAP):
        return char
    return _codepoint(char)


def _changes_form(neighbour: str) -> bool:
    """Return whether a joiner or variation selector next to this character changes its form."""
    if not neighbour or neighbour.isascii():
        return False
    return neighbour == "\ufe0f" or not _UNSAFE.match(neighbour)


@lru_cache(32_768)
def _is_plain(char: str) -> bool:
    """Return whether a non-ASCII character, not a mark, cannot be mistaken for another."""
    if not char.isprintable() or char in _BLANK or char in _LOOK_ALIKE_SIGNS or char in _RARE:
        return False
    if _UNSAFE.match(char) or any(ord(char) in each for each in (*_DRAWN, *_JOINED)):
        return False
    if unicodedata.normalize("NFKC", char) != char and char not in _COMPOSED:
        return False
    if not char.isalnum():
        return True
    script = _script(char)
    alphabet = _ALPHABETS.get(script)
    return script in _SCRIPTS and (alphabet is None or alphabet.match(char) is not None)


@lru_cache(32_768)
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


@lru_cache(4_096)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_plain_mark(text: str, at: int) -> bool:
    """Return whether a mark belongs to the letter before it, and the pair is unambiguous.

    Letters with case have composed forms for the pairs that languages need.
    """
    base = at - 1
    while base > at - _MARKS and base >= 0 and _is_mark(text[base]):
        base -= 1
    if base < 0 or unicodedata.category(text[base]) != "Lo":
        return False
    mark, cluster = text[at], text[base : at + 1]
    return (
        mark.isprintable()
        and mark not in _RARE
        and not _UNSAFE.match(mark)
        and _script(mark) == _script(text[base])
        and cluster.count(mark) == 1
        and cluster[:2] not in _DOUBLE_VOWELS
        and unicodedata.normalize("NFKC", cluster) == cluster
    )


def _escape_word(word: str) -> str:
    """Return a word with its confusable letters escaped."""
    if word.isascii():
        return word
    letters = frozenset(word)
    suspects = _suspects(letters)
    replacements = {
        ord(char): _codepoint(char)
        for char in letters
        if not char.isascii() and (char in suspects or not _is_plain(char))
    }
    if places := _katakana_suspects(word):
        word = "".join(_codepoint(char) if at in places else char for at, char in enumerate(word))
    return word.translate(replacements) if replacements else word


_cached_escape_word = lru_cache(4_096)(_escape_word)


def _suspects(letters: frozenset[str]) -> frozenset[str]:
    """Return the letters of a word that look like others at any position."""
    foreign = frozenset(char for char in letters if not char.isascii())
    if any(char.isascii() and char.isalpha() for char in letters):
        return frozenset(
            char
            for char in foreign
            if _family(char) != "LATIN"
            and (_family(char) != "EAST ASIAN" or char in _LOOK_ALIKE_LETTERS)
        )
    families = {_family(char) for char in foreign if not char.isdigit()}
    if len(families) > 1 or foreign <= _LOOK_ALIKE_LETTERS:
        return foreign
    return frozenset()


def _katakana_suspects(word: str) -> set[int]:
    """Return the positions of katakana that look like Han characters, or vice versa."""
    suspects: set[int] = set()
    for run in _KATAKANA.finditer(word):
        if _LIKE_HAN.issuperset(run.group()):
            suspects.update(range(*run.span()))
        else:
            neighbours = (run.start() - 1, run.end())
            suspects.update(
                at for at in neighbours if at >= 0 and word[at : at + 1] in _LIKE_KATAKANA
            )
    return suspects


def _family(char: str) -> str:
    script = _script(char)
    return "EAST ASIAN" if script in _EAST_ASIAN else script
