"""Lenient access to JSON from servers."""

import json
from typing import Any, cast

import msgspec

from yourtool.errors import NetworkError
from yourtool.foundation.text import MAX_JSON_DEPTH, storable_json

DONE = b"[DONE]"
"""The last event of Chat Completions, which proxies put at the end of other streams too."""

MAX_VALUES = 2**18
"""Limit per document: decoding blocks all other threads."""

_decoder = msgspec.json.Decoder()


def decode(data: bytes, *, allow_lone_surrogates: bool = False) -> Any:
    """Decode JSON; replace invalid UTF-8 and lone surrogates.

    `allow_lone_surrogates`: leave them, because the next chunk can contain the other half.

    NaN and Infinity, which some servers write among log probabilities, are accepted here and
    rejected in counters and arguments. An integer that is too long becomes Infinity.

    Raises:
        ValueError: it is not JSON, nested deeper than `MAX_JSON_DEPTH`, or has too many values.
    """
    if len(data) > MAX_VALUES and max(data.count(b","), _count_containers(data)) > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    try:
        value = _decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:  # includes msgspec's errors
        return _decode_leniently(
            data.decode("utf-8", "replace").removeprefix("\ufeff"), allow_lone_surrogates
        )
    if len(data) > MAX_JSON_DEPTH and _count_containers(data) > MAX_JSON_DEPTH:
        storable_json(value)  # checks the depth
    return value


def _count_containers(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


def _decode_leniently(text: str, allow_lone_surrogates: bool) -> Any:
    """Decode JSON with the errors that servers are known to make."""
    try:
        value = json.loads(text, parse_int=_parse_int)
        whole = storable_json(value)
        return value if allow_lone_surrogates else whole
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse_int(digits: str) -> int | float:
    """Parse an integer; Python parses at most 4,300 digits."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def decode_frame(data: bytes) -> dict[str, Any]:
    """Decode one stream event as an object; return `{}` for any other value and for `DONE`.

    Lone surrogates are left in place: servers split text anywhere.

    Raises:
        NetworkError: it is not JSON, so bytes were lost or the server is faulty.
    """
    if data.strip() == DONE:
        return {}
    try:
        return mapping(decode(data, allow_lone_surrogates=True))
    except ValueError as error:
        raise NetworkError(f"the stream contains an event that is not JSON: {error}") from error


def mapping(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else `{}`."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # JSON keys are text


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in `value` if it is an array, else `[]`."""
    if not isinstance(value, list):
        return []
    items = cast("list[Any]", value)  # of anything
    return [item for item in items if isinstance(item, dict)]


def text(value: Any) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return `value` if it is a valid token count, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0, int(value)) if value == value and abs(value) < 2**53 else None
