"""Full-text search: the indexed text of messages, queries, snippets and titles.

The index splits text into words by Unicode character classes
(https://www.sqlite.org/fts5.html#unicode61_tokenizer). Chinese, Japanese and Korean have no spaces
between words, so each character is indexed as a word and a run of characters is a phrase query.
"""

from collections.abc import Sequence

from yourtool.message_codec import decode_content
from yourtool.messages import ContentBlock, TextBlock
from yourtool.text import storable

TITLE_LENGTH = 120
_SNIPPET_LEAD = 40
_SNIPPET_LENGTH = 160
_CJK_RANGES = (  # ranges, since a regular expression of them is slow to compile
    range(0x3041, 0x3100),
    range(0x3400, 0xA000),
    range(0xAC00, 0xD7A4),
    range(0x20000, 0x32000),
)


def searchable_text(content: Sequence[ContentBlock]) -> str:
    """Return the indexed text of a message: its text blocks, without tool outputs."""
    return _separate_cjk("\n".join(block.text for block in content if isinstance(block, TextBlock)))


def message_title(content: Sequence[ContentBlock]) -> str:
    """Return the first non-blank line of a message, truncated; else an empty string."""
    text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    title = next((words for line in text.splitlines() if (words := " ".join(line.split()))), "")
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…"


def stored_words(content_json: str) -> str:
    """Return the indexed text of a stored message; empty if the message cannot be decoded."""
    try:
        return searchable_text(decode_content(content_json, where="a message to be indexed"))
    except ValueError:  # invalid JSON or an unexpected structure
        return ""


def search_terms(text: str) -> tuple[str, ...]:
    """Return the words of a search text; words without letters or digits are ignored."""
    return tuple(word for word in storable(text).split() if any(map(str.isalnum, word)))


def fts_query(terms: Sequence[str]) -> str:
    """Return a full-text query for messages that contain all terms, as words or prefixes of words.

    Terms are quoted, so no part of a term is an operator.
    """
    quoted = (_separate_cjk(term).replace('"', '""') for term in terms)
    return " AND ".join(f'"{phrase}"*' for phrase in quoted)


def snippet(content: Sequence[ContentBlock], terms: Sequence[str]) -> str:
    """Return one line of a message's text, starting shortly before the first match."""
    text = " ".join(
        " ".join(block.text.split()) for block in content if isinstance(block, TextBlock)
    )
    lowered = text.lower()
    places = [at for term in terms if (at := lowered.find(term.lower())) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET_LEAD)
    passage = text[start : start + _SNIPPET_LENGTH]
    before, after = "…" if start else "", "…" if start + _SNIPPET_LENGTH < len(text) else ""
    return f"{before}{passage}{after}"


def _separate_cjk(text: str) -> str:
    if text.isascii():
        return text
    return "".join(f" {char} " if _is_cjk(char) else char for char in text)


def _is_cjk(char: str) -> bool:
    return char >= "\u3041" and any(ord(char) in letters for letters in _CJK_RANGES)
