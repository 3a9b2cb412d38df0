"""Look into JSON from a server without trusting its shape."""

import json
from typing import Any, cast

import msgspec

from yourtool.errors import NetworkError
from yourtool.text import MAX_JSON_DEPTH, storable_json

DONE = b"[DONE]"
"""The last event of Chat Completions, which proxies put at the end of other streams too."""

MAX_VALUES = 2**18
"""In one document; no other thread runs while it is decoded."""

_decoder = msgspec.json.Decoder()


def decode(data: bytes, *, allow_lone_surrogates: bool = False) -> Any:
    """Decode JSON; bytes that are not UTF-8 are replaced, and so are escapes of half a character.

    `halves`: the latter stay, for their other halves may follow.

    NaN and Infinity, which some servers write among log probabilities, are let through here:
    counters and arguments refuse them. A whole number too long to read becomes Infinity.

    Raises:
        ValueError: it is not JSON, nested deeper than `DEEPEST`, or holds too many values.
    """
    if data.count(b",") > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    try:
        value = _decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:  # msgspec's errors are
        return _decode_leniently(
            data.decode("utf-8", "replace").removeprefix("\ufeff"), allow_lone_surrogates
        )
    if data.count(b"[") + data.count(b"{") > MAX_JSON_DEPTH:
        storable_json(value)  # only to see how deep it is
    return value


def _decode_leniently(text: str, allow_lone_surrogates: bool) -> Any:
    """Decode what servers get away with."""
    try:
        value = json.loads(text, parse_int=_parse_int)
        whole = storable_json(value)
        return value if allow_lone_surrogates else whole
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse_int(digits: str) -> int | float:
    """Read a whole number; Python reads 4,300 digits."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def decode_frame(data: bytes) -> dict[str, Any]:
    """Decode one event of a stream, which is an object; anything else, `DONE` too, is empty.

    Half a character at the end of a text stays: servers cut texts anywhere.

    Raises:
        NetworkError: it is not JSON, so bytes were lost or the server is broken.
    """
    if data.strip() == DONE:
        return {}
    try:
        return mapping(decode(data, allow_lone_surrogates=True))
    except ValueError as error:
        raise NetworkError(f"the stream holds an event that is not JSON: {error}") from error


def mapping(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # JSON keys are text


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in `value` if it is an array, else none."""
    if not isinstance(value, list):
        return []
    items = cast("list[Any]", value)  # of anything
    return [item for item in items if isinstance(item, dict)]


def text(value: Any) -> str:
    """Return `value` if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return `value` if it is a number of tokens, else None: the server did not say."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0, int(value)) if value == value and abs(value) < 2**53 else None
