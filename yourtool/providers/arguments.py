"""The arguments of a tool call: text that must be a JSON object, or is none at all."""

import json
from typing import Any, cast

import msgspec

from yourtool.text import storable


def parse_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Return the object in `raw`, and why there is none; nothing at all is an empty object.

    Nothing is repaired: half an object is an error, however clear its intention.
    """
    if not raw.strip():
        return {}, None
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    except (msgspec.DecodeError, UnicodeError) as error:
        return _with_lone_surrogates(raw, str(error))
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object but {_kind(value)}"
    return _storable(value), None


def _with_lone_surrogates(raw: str, error: str) -> tuple[dict[str, Any], str | None]:
    """Parse with the tolerant decoder where escapes of half a character are the only trouble."""
    if "\\ud" not in raw.lower():
        return {}, f"the arguments are not JSON: {error}"
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return {}, "the arguments are not a JSON object"
    return _storable(value), None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)  # JSON has no other keys
        return {storable(key): _storable(inner) for key, inner in fields.items()}
    if isinstance(value, list):
        return [_storable(inner) for inner in cast("list[Any]", value)]  # of anything
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {str: "text", int: "a number", float: "a number", list: "an array"}[type(value)]
