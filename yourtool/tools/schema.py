"""JSON Schema subset of every provider.

The subset is the intersection of what the major providers accept: the seven basic types, objects
with `properties`, arrays with a single `items` schema, and simple bounds. `subset_problems` rejects
references and combinations of schemas, and patterns, which can take forever to match. Keywords have
their meaning in Draft 7 (https://json-schema.org/draft-07/json-schema-validation); `format` is an
annotation only.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from yourtool.foundation.json_schema import map_parts, resolve_schema
from yourtool.foundation.suggestions import find_closest

_MAX_FIELDS = 20
"""Fields in the description of an object."""

_CHECKED = frozenset({"minLength", "minItems", "maxItems"})
_EMPTY: Mapping[str, tuple[Any, ...]] = {
    "additionalProperties": (False,),
    "required": ([],),
    "default": (False, "", [], (), {}),
    "minimum": (0, 1),
}
"""What a model assumes in any case."""

Schema: TypeAlias = Mapping[str, Any]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return _is_number(value) and (isinstance(value, int) or cast("float", value).is_integer())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_name_list(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(name, str) for name in cast("list[object]", value)
    )


_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}

Keywords: TypeAlias = Mapping[str, tuple[str, Callable[[object], bool]]]
"""The form of each keyword, and the test for it."""

_KEYWORDS: Keywords = {
    "type": (
        f"must be one of {', '.join(_TYPES)}",
        lambda value: isinstance(value, str) and value in _TYPES,
    ),
    "enum": ("must be a list of values", lambda value: isinstance(value, list) and value != []),
    "required": ("must be a list of names", _is_name_list),
    "properties": ("must be an object of schemas", lambda value: isinstance(value, dict)),
    "items": ("must be one schema", lambda value: isinstance(value, dict)),
    "additionalProperties": (
        "must be true or false, not a schema",
        lambda value: isinstance(value, bool),
    ),
    "description": ("must be text", lambda value: isinstance(value, str)),
    "title": ("must be text", lambda value: isinstance(value, str)),
    "format": ("must be text", lambda value: isinstance(value, str)),
    "const": ("", lambda value: True),
    "default": ("", lambda value: True),
    "examples": ("must be a list", lambda value: isinstance(value, list)),
    "minimum": ("must be a number", _is_number),
    "maximum": ("must be a number", _is_number),
    "minLength": ("must be a count", _is_count),
    "maxLength": ("must be a count", _is_count),
    "minItems": ("must be a count", _is_count),
    "maxItems": ("must be a count", _is_count),
}


_REPLY_KEYWORDS: Keywords = {
    **_KEYWORDS,
    "anyOf": ("must be a list of schemas", lambda value: isinstance(value, list) and value != []),
    "exclusiveMinimum": ("must be a number", _is_number),
    "exclusiveMaximum": ("must be a number", _is_number),
}
"""The keywords of a reply, which is validated here: other programs write more than we do."""


def read_reply_schema(schema: object) -> tuple[dict[str, Any], list[str]]:
    """Return the schema of a reply with its references inlined, and what is not supported in it."""
    resolved = resolve_schema(schema)
    simple = _simplify(resolved.schema)
    problems = [*resolved.losses]
    return simple, problems or subset_problems(simple, known=_REPLY_KEYWORDS)


def _simplify(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with `anyOf` for a list of types, and without an `allOf` of one schema."""
    mapped = map_parts(schema, _simplify)
    match mapped:
        case {"allOf": [{**only}], **rest} if not only.keys() & rest.keys():
            return {**rest, **_simplify(only)}
        case {"type": [*names], **rest} if len(names) > 1:
            return {"anyOf": [{**rest, "type": name} for name in names]}
        case {"type": [name], **rest}:
            return {**rest, "type": name}
        case _:
            return mapped


def subset_problems(
    schema: object,
    path: str = "$",
    known: Keywords = _KEYWORDS,
) -> list[str]:
    """Return the parts of `schema` outside the subset, each as `JSON path: problem`."""
    if not isinstance(schema, dict):
        return [f"{path}: must be an object"]
    problems: list[str] = []
    for keyword, value in cast("dict[str, Any]", schema).items():
        if (rule := known.get(keyword)) is None:
            problems.append(f"{path}.{keyword}: `{keyword}` is not supported")
            continue
        requirement, is_valid = rule
        if not is_valid(value):
            problems.append(f"{path}.{keyword}: {requirement}")
        elif keyword == "properties":
            for name, part in value.items():
                problems += subset_problems(part, f"{path}.properties.{name}", known)
        elif keyword == "items":
            problems += subset_problems(value, f"{path}.items", known)
        elif keyword == "anyOf":
            for at, part in enumerate(value):
                problems += subset_problems(part, f"{path}.anyOf[{at}]", known)
    if path == "$" and cast("dict[str, Any]", schema).get("type") != "object":
        problems.append("$.type: the root must be an `object`")
    return problems


def suggest_field(name: str, known: Schema) -> str:
    """Return which field was probably meant, and the names of all fields."""
    plain = {re.sub(r"[-_]", "", each).lower(): each for each in known}
    wanted = re.sub(r"[-_]", "", name[:100]).lower()
    nearest = find_closest(wanted, plain)
    names = f"use one of {format_value(sorted(known))}"
    return f"did you mean `{plain[nearest]}`? Otherwise {names}" if nearest else names


def describe_fields(schema: Any) -> str:
    """Return the names of the fields of an object, and of those of the objects in its arrays.

    `schema` can have any content, and no field at all.
    """
    match schema:
        case {"properties": {**fields}}:
            shown = islice(fields.items(), _MAX_FIELDS)
            return ", ".join(f"`{name}`{describe_items(part)}" for name, part in shown)
        case _:
            return ""


def describe_items(schema: Any) -> str:
    """Return the fields of the objects in an array; nothing for other values."""
    match schema:
        case {"items": {"properties": {**fields}}} if fields:
            names = ", ".join(f"`{name}`" for name in islice(fields, _MAX_FIELDS))
            return f" (an array of objects with {names})"
        case _:
            return ""


def json_type(value: object) -> str:
    """Return the narrowest type of a JSON value."""
    order = ("null", "boolean", "string", "integer", "number", "array", "object")
    return next((name for name in order if _TYPES[name](value)), type(value).__name__)


def format_input(value: object) -> str:
    """Return a value completely or not at all: part of an API key could not be masked."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 100 else f"this {json_type(value)} of {len(text):,} characters"


def format_value(value: object) -> str:
    """Return a value of a schema, truncated."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 100 else f"{text[:100]}…"


def derive_schema(arguments: type[Struct]) -> dict[str, Any]:
    """Return the schema of a Struct, with references inlined and optional fields not required.

    Recursive Structs are not supported.
    """
    [root], definitions = msgspec.json.schema_components((arguments,), ref_template="{name}")
    flat = _inline_references(root, definitions)
    flat.pop("description", None)
    return flat


def omit_checked(schema: Schema) -> dict[str, Any]:
    """Return a schema without what a model need not read, because every call is checked for it."""
    return {
        keyword: value
        for keyword, value in map_parts(schema, omit_checked).items()
        if keyword in ("properties", "items")
        or not (keyword in _CHECKED or value in _EMPTY.get(keyword, ()))
    }


def _inline_references(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline_references(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    if (name := schema.get("$ref")) is not None:
        inner = {key: part for key, part in definitions[name].items() if key != "description"}
        return _inline_references(
            {**inner, **{k: v for k, v in schema.items() if k != "$ref"}}, definitions
        )
    flat = {
        key: {name: _inline_references(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _inline_references(value, definitions)
        for key, value in schema.items()
        if key != "title"
    }
    if "enum" in flat and all(isinstance(option, str) for option in flat["enum"]):
        flat = {"type": "string", **flat}
    return flat
