"""Adjustment of arguments with a clear meaning.

Only the form changes: a number or a boolean as text, a null in place of an omitted field, JSON as
text, the fields of the only item outside of its array. A number beyond a bound becomes that bound,
and the model reads it. Text never changes, and no value of the names in `_EXACT`.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from yourtool.providers.replies.arguments import parse_arguments

_EXACT = frozenset({"command", "content", "path"})
"""Arguments that are validated as the model wrote them."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_BOOLEANS = {"true": True, "false": False}

Schema = Mapping[str, Any]


class AdjustedArguments(Struct, frozen=True):
    """Arguments as the tool gets them."""

    values: dict[str, Any]
    notes: tuple[str, ...] = ()
    """The values that were beyond a bound, for the model."""


def adjust_arguments(schema: Schema, arguments: dict[str, Any]) -> AdjustedArguments:
    """Return the arguments in the form that a schema of `tools.schema` requires.

    What cannot be adjusted is unchanged; validation rejects it.
    """
    notes = list[str]()
    values = _adjust_object(schema, arguments, notes)
    return AdjustedArguments(values, tuple(notes))


def _adjust_object(schema: Schema, value: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    known: dict[str, Schema] = schema.get("properties", {})
    adjusted = dict[str, Any]()
    for name, item in _move_into_array(schema, value).items():
        if item is None and name in known and _is_optional(schema, name):
            continue
        is_exact = name in _EXACT or name not in known
        adjusted[name] = item if is_exact else _adjust(known[name], item, name, notes)
    return adjusted


def _is_optional(schema: Schema, name: str) -> bool:
    """Return whether a field can be omitted, and cannot be null."""
    kind = schema["properties"][name].get("type")
    return name not in schema.get("required", ()) and kind not in (None, "null")


def _move_into_array(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    """Return the object with an array of one item, if its fields are there in place of it."""
    known: dict[str, Schema] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    fields = {name: item for name, item in value.items() if name not in known}
    if len(missing) != 1 or not fields:
        return value
    part = known.get(missing[0], {})
    if fields.keys() - part.get("items", {}).get("properties", {}).keys():
        return value
    others = {name: item for name, item in value.items() if name in known}
    return {**others, missing[0]: [fields]}


def _adjust(schema: Schema, value: Any, name: str, notes: list[str]) -> Any:
    match schema.get("type"):
        case "integer" | "number" as kind:
            return _adjust_number(schema, value, kind, name, notes)
        case "boolean" if isinstance(value, str):
            return _BOOLEANS.get(value.strip().lower(), value)
        case "array" | "object" as kind:
            if isinstance(value, str):
                value = _parse_json(value)
            items = cast("Schema", schema.get("items", {}))
            if kind == "array" and isinstance(value, dict) and items.get("type") == "object":
                value = [cast("dict[str, Any]", value)]
            if kind == "array" and isinstance(value, list):
                parts = cast("list[Any]", value)
                return [
                    _adjust(items, part, f"{name}[{at}]", notes) for at, part in enumerate(parts)
                ]
            if kind == "object" and isinstance(value, dict):
                return _adjust_object(schema, cast("dict[str, Any]", value), notes)
        case _:
            pass
    return cast("Any", value)


def _adjust_number(schema: Schema, value: Any, kind: str, name: str, notes: list[str]) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if kind == "integer" and _INTEGER.fullmatch(text):
            value = int(text.partition(".")[0])
        elif kind == "number" and _NUMBER.fullmatch(text):
            value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    low, high = schema.get("minimum"), schema.get("maximum")
    for bound, is_beyond, which in (
        (low, low is not None and value < low, "least"),
        (high, high is not None and value > high, "most"),
    ):
        if is_beyond:
            notes.append(f"`{name}` can be at {which} {bound}, so {bound} was used.")
            return bound
    return value


def _parse_json(text: str) -> Any:
    """Return the array or object in a text, or the text."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    values, error = parse_arguments(f'{{"value": {text}}}')
    return text if error or values.keys() != {"value"} else values["value"]
