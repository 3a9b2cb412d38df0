"""Full-text index of messages, and queries.

The index splits text into words by Unicode character classes
(https://www.sqlite.org/fts5.html#unicode61_tokenizer). Chinese, Japanese and Korean have no spaces
between words, so each character is indexed as a word and a run of characters is a phrase query.
"""

from collections.abc import Sequence

from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.messages.codec import decode_content

_CJK_RANGES = (  # ranges, since a regular expression of them is slow to compile
    range(0x3041, 0x3100),
    range(0x3400, 0xA000),
    range(0xAC00, 0xD7A4),
    range(0x20000, 0x32000),
)


def searchable_text(content: Sequence[ContentBlock]) -> str:
    """Return the indexed text of a message: its text blocks, without tool outputs."""
    return _separate_cjk("\n".join(block.text for block in content if isinstance(block, TextBlock)))


def stored_words(content_json: str) -> str:
    """Return the indexed text of a stored message; empty if the message cannot be decoded."""
    try:
        return searchable_text(decode_content(content_json, where="a message to be indexed"))
    except ValueError:  # invalid JSON or an unexpected structure
        return ""


def fts_query(terms: Sequence[str]) -> str:
    """Return a full-text query for messages that contain all terms, as words or prefixes of words.

    Terms are quoted, so no part of a term is an operator.
    """
    quoted = (_separate_cjk(term).replace('"', '""') for term in terms)
    return " AND ".join(f'"{phrase}"*' for phrase in quoted)


def _separate_cjk(text: str) -> str:
    if text.isascii():
        return text
    return "".join(f" {char} " if _is_cjk(char) else char for char in text)


def _is_cjk(char: str) -> bool:
    return char >= "\u3041" and any(ord(char) in letters for letters in _CJK_RANGES)
