"""Texts and attachments of a session.

Functions transform texts, and make titles and the snippets of search results.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from yourtool.errors import BlobError
from yourtool.events.catalog import AnyFact, message_of
from yourtool.foundation.masking import MASK
from yourtool.foundation.text import storable
from yourtool.messages.blobs import is_blob, read_blob
from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    iter_blocks,
)

TextTransform: TypeAlias = Callable[[str], str]

TITLE_LENGTH = 120
EXCERPT_LENGTH = 400
_MAX_KIND = 80
"""Characters of the name of an unknown kind of block that are shown."""
_SNIPPET_LEAD = 40
_SNIPPET_LENGTH = 160


def to_storable(fact: AnyFact) -> AnyFact:
    """Return the fact with every string made storable as UTF-8."""
    return transform_texts(fact, storable)


def transform_texts(fact: AnyFact, transform: TextTransform) -> AnyFact:
    """Return the fact with every string transformed, object keys included."""
    return msgspec.convert(_transform_value(msgspec.to_builtins(fact), transform), type(fact))


def mask_texts(fact: AnyFact, mask: TextTransform) -> AnyFact:
    """Return the fact with `mask` applied to every string, object keys included.

    A secret that starts in one text block and ends in a later one is masked, too.
    """
    message = message_of(fact)
    if message is None:
        return transform_texts(fact, mask)
    masked = replace(message, content=_mask_across_blocks(message.content, mask))
    return transform_texts(replace(fact, message=masked), mask)


def get_attachments(fact: AnyFact) -> Iterator[str]:
    """Yield the references of the attachments in the message of a fact."""
    message = message_of(fact)
    for block in iter_blocks(message.content) if message is not None else ():
        if isinstance(block, MediaBlock) and is_blob(block.source):
            yield block.source.data


def read_shared(blobs: Path, reference: str, mask: TextTransform) -> bytes:
    """Return an attachment for an export; blocks on the file system.

    It is empty if the attachment is missing, or if `mask` would replace something in its bytes.
    """
    try:
        content = read_blob(blobs, reference)
    except BlobError:
        return b""
    text = content.decode("latin-1")
    return content if mask(text) == text else b""


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text as hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def describe_unknown(raw: Mapping[str, Any]) -> str:
    """Return the text in place of a block of an unknown kind."""
    kind = raw.get("type")
    name = storable(kind)[:_MAX_KIND] if isinstance(kind, str) else ""
    return f"[unknown block `{name or 'without a type'}`]"


def message_title(content: Sequence[ContentBlock]) -> str:
    """Return the first non-blank line of a message, truncated; else an empty string."""
    return one_line_title(
        "\n".join(block.text for block in content if isinstance(block, TextBlock))
    )


def one_line_title(text: str) -> str:
    """Return the first non-blank line of a text, truncated; else an empty string."""
    title = next((words for line in text.splitlines() if (words := " ".join(line.split()))), "")
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…"


def excerpt(content: Sequence[ContentBlock]) -> str:
    """Return the start of a message's text as one line; empty if it has no text."""
    texts = (block.text[: 4 * EXCERPT_LENGTH] for block in content if isinstance(block, TextBlock))
    text = " ".join(" ".join(texts).split())
    return text if len(text) <= EXCERPT_LENGTH else f"{text[: EXCERPT_LENGTH - 1]}…"


def search_terms(text: str) -> tuple[str, ...]:
    """Return the words of a search text; words without letters or digits are ignored."""
    return tuple(word for word in storable(text).split() if any(map(str.isalnum, word)))


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


def _mask_across_blocks(
    content: Sequence[ContentBlock], mask: TextTransform
) -> tuple[ContentBlock, ...]:
    """Return blocks; of texts that have a secret only together, the first has the whole text.

    The others remain, because references to blocks are by number.
    """
    done = list[ContentBlock]()
    for _, group in groupby(content, type):
        blocks = [*group]
        texts = [each.text for each in blocks if isinstance(each, TextBlock)]
        if len(texts) > 1 and (whole := mask("".join(texts))) != "".join(map(mask, texts)):
            shown = (whole, *(MASK for _ in texts[1:]))
            blocks = [replace(each, text=text) for each, text in zip(blocks, shown, strict=True)]
        done += (
            replace(each, content=_mask_across_blocks(each.content, mask))
            if isinstance(each, ToolResultBlock)
            else each
            for each in blocks
        )
    return tuple(done)


def _transform_value(value: object, transform: TextTransform) -> object:
    match value:
        case str():
            return transform(value)
        case dict():
            entries = cast("dict[str, object]", value)  # builtins have string keys
            new = {
                transform(key): _transform_value(entry, transform) for key, entry in entries.items()
            }
            if entries.get("type") == "thinking" and new != entries:
                new["signature"] = None  # providers reject a signature of a different text
            return new
        case list() | tuple():
            return [_transform_value(entry, transform) for entry in cast("list[object]", value)]
        case _:
            return value
