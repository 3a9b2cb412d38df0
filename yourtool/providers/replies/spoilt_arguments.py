"""Arguments of calls with marks around them.

Small models and the servers around them add marks to a complete object. What is cut stays an error.
"""

import json
import re
from typing import Any, cast

from yourtool.providers.replies.arguments import parse_arguments

_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_MARKS = re.compile(r"(?:\s|</?[a-z_]{1,20}>|<\|[a-z_]{1,30}\|>|\[/?TOOL_CALLS\])*", re.IGNORECASE)
"""Text after an object: tags of calls, special tokens, and whitespace."""
_MOST_MARKS = 1_000
"""Characters of them."""


def read_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Return the object in `raw`, also in a fence, before tags, as a string, or with line ends.

    Otherwise the result is that of `parse_arguments`.
    """
    found, error = parse_arguments(raw)
    if error is None or (plain := _find_object(raw)) is None:
        return found, error
    repaired, remaining = parse_arguments(plain)
    return (repaired, None) if remaining is None else (found, error)


def _are_marks(text: str, start: int) -> bool:
    return len(text) - start <= _MOST_MARKS and _MARKS.fullmatch(text, start) is not None


def _find_object(raw: str) -> str | None:
    """Return the JSON of the only object in a text; None for any other text."""
    fenced = _FENCE.fullmatch(raw)
    text = (fenced[1] if fenced else raw).strip()
    decoder = json.JSONDecoder(strict=False)  # line ends in strings
    try:
        value, end = decoder.raw_decode(text)
        if isinstance(value, str) and _are_marks(text, end):  # encoded twice
            text = value.strip()
            value, end = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _are_marks(text, end):
        return None
    return json.dumps(cast("dict[str, Any]", value), ensure_ascii=False)
