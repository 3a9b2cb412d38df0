"""JSON Schemas from elsewhere, made finite and well-formed.

`resolve_schema` accepts any JSON. References are inlined, recursive and remote ones are cut, and
the result has a limited size and depth. It contains only keywords whose meaning does not depend on
the draft (https://json-schema.org/draft/2020-12/json-schema-validation), with valid values. Each
change makes the schema accept more, never less. Regular expressions are dropped, because a
hostile one can take forever to match.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, cast
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from yourtool.foundation.text import storable_json

MAX_SCHEMA_BYTES = 2**18
"""Maximum size of a schema, before and after its references are inlined."""
MAX_SCHEMA_DEPTH = 32
"""Maximum nesting of schemas."""
MAX_LOSSES = 100
"""Losses listed for one schema."""
ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
"""Keywords that do not constrain values."""
JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})

_NODE_BYTES = 64
"""What a schema costs in addition to its keywords."""
_MAX_NAME_LENGTH = 64
_IGNORED = frozenset({"$schema", "$id", "$defs", "definitions", "$comment", "$ref", "nullable"})
"""Keywords that constrain nothing here: their effect is in other keywords."""


class SchemaResult(Struct, frozen=True):
    """A schema that was changed, and what the change lost."""

    schema: dict[str, Any]
    losses: tuple[str, ...] = ()
    """Each as `JSON path: problem`."""


def resolve_schema(schema: object) -> SchemaResult:
    """Return the schema as a finite tree of well-formed keywords; never raises."""
    losses: list[str] = []
    try:
        whole = storable_json(schema)
        if len(msgspec.json.encode(whole)) > MAX_SCHEMA_BYTES:
            raise ValueError(f"larger than {MAX_SCHEMA_BYTES:,} bytes")
    except (ValueError, TypeError) as error:  # nested too deeply, too large, or not JSON
        return SchemaResult({}, (f"$: {error}",))
    return SchemaResult(_Resolver(whole, losses).resolve(whole, "$", (), 0), tuple(losses))


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def map_parts(
    schema: Mapping[str, Any], rewrite: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return a schema whose properties, items and alternatives are rewritten."""
    mapped = dict(schema)
    if is_object(properties := schema.get("properties")):
        parts = cast("dict[str, dict[str, Any]]", properties)
        mapped["properties"] = {name: rewrite(part) for name, part in parts.items()}
    if is_object(items := schema.get("items")):
        mapped["items"] = rewrite(items)
    if isinstance(alternatives := schema.get("anyOf"), list):
        mapped["anyOf"] = [*map(rewrite, cast("list[dict[str, Any]]", alternatives))]
    return mapped


def is_strings(value: object) -> TypeGuard[list[str]]:
    """Whether a JSON value is an array of strings."""
    return isinstance(value, list) and all(
        isinstance(each, str) for each in cast("list[object]", value)
    )


def append_loss(losses: list[str], path: str, problem: str) -> None:
    """Append a loss to a list of at most `MAX_LOSSES`."""
    if len(losses) < MAX_LOSSES:
        losses.append(f"{path}: {problem}")


def child_path(path: str, name: str) -> str:
    """Return the path of a part of a schema, with a long name truncated."""
    return f"{path}.{name if len(name) <= _MAX_NAME_LENGTH else f'{name[:_MAX_NAME_LENGTH]}…'}"


def _is_type(value: object) -> bool:
    names = [value] if isinstance(value, str) else value
    return is_strings(names) and bool(names) and JSON_TYPES.issuperset(names)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_VALUE_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list) and value != [],
    "const": lambda value: True,
    "required": is_strings,
    "title": _is_text,
    "description": _is_text,
    "format": _is_text,
    "default": lambda value: True,
    "examples": lambda value: isinstance(value, list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
}
"""Keywords without schemas in them, with the test for valid values."""
_SCHEMA_LISTS = {
    "allOf": "allOf",
    "anyOf": "anyOf",
    "oneOf": "anyOf",
    "prefixItems": "prefixItems",
    "items": "prefixItems",
}
"""Keywords with a list of schemas, and how they are written here: `oneOf` is relaxed to `anyOf`,
and a list in `items` is the older form of `prefixItems`."""


class _Resolver:
    def __init__(self, root: Any, losses: list[str]) -> None:
        self._root = root
        self._losses = losses
        self._bytes_left = MAX_SCHEMA_BYTES

    def resolve(self, node: Any, path: str, inside: tuple[str, ...], depth: int) -> dict[str, Any]:
        """Return one schema; `inside`: the references that are being inlined around it."""
        if not self._spend(_NODE_BYTES) or node is True:
            return {}
        if not is_object(node):
            append_loss(self._losses, path, "not a schema")
            return {}
        if depth == MAX_SCHEMA_DEPTH:
            append_loss(self._losses, path, "nested too deeply")
            return _type_only(node)
        target: dict[str, Any] = {}
        if "$ref" in node:
            target = self._inline(node["$ref"], path, inside, depth)
        own = self._resolve_keywords(node, path, inside, depth)
        if target.keys() & own.keys() - ANNOTATIONS:
            return {"allOf": [target, own]}
        return {**target, **own}

    def _inline(
        self, reference: Any, path: str, inside: tuple[str, ...], depth: int
    ) -> dict[str, Any]:
        where = f"{path}.$ref"
        target = _find_target(self._root, reference)
        if target is None:
            append_loss(self._losses, where, "not found in the schema")
            return {}
        if reference in inside:
            append_loss(self._losses, where, "recursive")
            return _type_only(target)
        return self.resolve(target, path, (*inside, reference), depth + 1)

    def _resolve_keywords(
        self, node: dict[str, Any], path: str, inside: tuple[str, ...], depth: int
    ) -> dict[str, Any]:
        resolved: dict[str, Any] = {}
        for keyword, value in node.items():
            if not self._spend(len(keyword) + _length(value)):
                break
            where = child_path(path, keyword)
            if (is_valid := _VALUE_KEYWORDS.get(keyword)) is not None:
                if not is_valid(value):
                    append_loss(self._losses, where, "not valid")
                elif self._spend(len(msgspec.json.encode(value))):
                    is_set = keyword in ("required", "type") and is_strings(value)
                    resolved[keyword] = list(dict.fromkeys(value)) if is_set else value
            elif keyword == "properties" and is_object(value):
                resolved[keyword] = {
                    name: self.resolve(part, child_path(where, name), inside, depth + 1)
                    for name, part in value.items()
                    if self._spend(len(name))
                }
            elif keyword in _SCHEMA_LISTS and isinstance(value, list):
                parts = [
                    self.resolve(part, f"{where}[{index}]", inside, depth + 1)
                    for index, part in enumerate(cast("list[Any]", value))
                ]
                _add_schemas(resolved, _SCHEMA_LISTS[keyword], parts)
            elif keyword == "additionalProperties" and isinstance(value, bool):
                resolved[keyword] = value
            elif keyword in ("items", "additionalProperties") and is_object(value):
                resolved[keyword] = self.resolve(value, where, inside, depth + 1)
            elif keyword not in _IGNORED:
                append_loss(self._losses, where, "not supported")
        if "patternProperties" in node or self._bytes_left < 0:
            resolved.pop("additionalProperties", None)  # not every property is known
        if node.get("nullable") is True and isinstance(kind := resolved.get("type"), str):
            resolved["type"] = [kind, "null"]
        return resolved

    def _spend(self, size: int) -> bool:
        """Return whether the result may grow by `size` bytes; once it may not, it never may."""
        if self._bytes_left >= 0:
            self._bytes_left -= size
            if self._bytes_left < 0:
                self._losses.append(f"$: cut at {MAX_SCHEMA_BYTES:,} bytes")
        return self._bytes_left >= 0


def _length(value: Any) -> int:
    return len(cast("str", value)) if isinstance(value, str | list | dict) else 0


def _type_only(node: Any) -> dict[str, Any]:
    """Return the type of a schema that is cut."""
    kind = node.get("type") if is_object(node) else None
    return {"type": kind} if isinstance(kind, str) and kind in JSON_TYPES else {}


def _find_target(root: Any, reference: Any) -> Any:
    """Return the target of a local JSON pointer (RFC 6901); None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    start, *names = unquote(reference[1:]).split("/")
    target = None if start else root
    for name in names:
        if not is_object(target):
            return None
        target = target.get(name.replace("~1", "/").replace("~0", "~"))
    return target


def _add_schemas(resolved: dict[str, Any], keyword: str, parts: list[dict[str, Any]]) -> None:
    """Add a list of schemas; the lists of `anyOf` and `oneOf` must both match."""
    if not parts:
        return
    if keyword == "allOf":
        resolved["allOf"] = [*resolved.get("allOf", []), *parts]
    elif keyword in resolved:
        _add_schemas(resolved, "allOf", [{keyword: parts}])
    else:
        resolved[keyword] = parts
