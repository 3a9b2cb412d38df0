"""Words of messages: those that are indexed, a query of them, a snippet, and a title.

The index breaks text into words as Unicode does
(https://www.sqlite.org/fts5.html#unicode61_tokenizer). East Asian writing has no spaces between
words, so each of its characters is a word there, and a run of them is searched as a phrase.
"""

from collections.abc import Sequence

from yourtool.messages import ContentBlock, TextBlock
from yourtool.notation import decode_content
from yourtool.text import storable

TITLE_LENGTH = 120
_BEFORE = 40
_LENGTH = 160
_UNSPACED = (  # no pattern: one of such ranges takes long to compile
    range(0x3041, 0x3100),
    range(0x3400, 0xA000),
    range(0xAC00, 0xD7A4),
    range(0x20000, 0x32000),
)


def words_of(content: Sequence[ContentBlock]) -> str:
    """Return what is indexed of a message: its text, but nothing that tools printed."""
    return _spaced("\n".join(block.text for block in content if isinstance(block, TextBlock)))


def title_of(content: Sequence[ContentBlock]) -> str:
    """Return the first line of a message that says something, cut to a length; else nothing."""
    text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    title = next((words for line in text.splitlines() if (words := " ".join(line.split()))), "")
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…"


def stored_words(content_json: str) -> str:
    """Return the same of a stored message; nothing if it cannot be read."""
    try:
        return words_of(decode_content(content_json, where="a message to be indexed"))
    except ValueError:  # of JSON, and of shapes
        return ""


def terms_of(text: str) -> tuple[str, ...]:
    """Return the words that are looked for; signs that stand alone are none."""
    return tuple(word for word in storable(text).split() if any(map(str.isalnum, word)))


def query_of(terms: Sequence[str]) -> str:
    """Return the full-text query for messages that hold all terms, or words beginning like them.

    Nothing in a term is taken for an operator.
    """
    quoted = (_spaced(term).replace('"', '""') for term in terms)
    return " AND ".join(f'"{phrase}"*' for phrase in quoted)


def snippet(content: Sequence[ContentBlock], terms: Sequence[str]) -> str:
    """Return one line of a message's text, from a little before the first term that is found."""
    text = " ".join(
        " ".join(block.text.split()) for block in content if isinstance(block, TextBlock)
    )
    lowered = text.lower()
    places = [at for term in terms if (at := lowered.find(term.lower())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    passage = text[start : start + _LENGTH]
    before, after = "…" if start else "", "…" if start + _LENGTH < len(text) else ""
    return f"{before}{passage}{after}"


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    return "".join(f" {char} " if _is_unspaced(char) else char for char in text)


def _is_unspaced(char: str) -> bool:
    return char >= "\u3041" and any(ord(char) in letters for letters in _UNSPACED)
