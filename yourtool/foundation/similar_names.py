"""Names of files that look the same.

Screenshots of macOS have a narrow no-break space in their names, which models write as a space, and
older ones store accents as separate characters. See also
https://www.unicode.org/reports/tr15/ and https://www.unicode.org/reports/tr39/.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]"
)
_LOOK_ALIKES = str.maketrans(
    "\u2018\u2019\u201a\u201b\u2032\u02bc\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
    "\u03b1\u03bf\u03bd\u03c1",
    '\'\'\'\'\'\'"""""""-------abekmhopctyxijsaovp',
)
"""Quotes, dashes, and letters of the Cyrillic and Greek alphabets, in lower case."""


def find_meant(name: str, names: Iterable[str], *, only_invisible: bool = False) -> str | None:
    """Return the one name that looks like a name that does not exist; None: none, or several.

    Names that differ in invisible characters, in the kind of spaces or in the form of accents only
    go before those that differ in case, quotes, dashes or alphabets. `only_invisible`: only they
    count, because a file of the name may be new.
    """
    known = list(names)
    forms: tuple[Callable[[str], str], ...] = (_to_visible, _to_basic)
    for form in forms[:1] if only_invisible else forms:
        wanted = form(name)
        found = [each for each in known if form(each) == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _to_visible(name: str) -> str:
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    return " ".join(text.split())


def _to_basic(name: str) -> str:
    text = unicodedata.normalize("NFKC", _to_visible(name)).casefold().translate(_LOOK_ALIKES)
    return "".join(text.split()).rstrip(".")


def describe_meant(asked: str, found: str) -> str:
    """Return a sentence with the difference of two paths, with escapes for what cannot be seen."""
    return f"`{_escape(asked)}` does not exist; `{_escape(found)}` was used."


def _escape(path: str) -> str:
    return path.encode("ascii", "backslashreplace").decode() if not path.isascii() else path
