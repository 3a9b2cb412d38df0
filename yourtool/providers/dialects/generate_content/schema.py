"""Convert JSON Schema to Google's subset for function arguments.

The subset is https://ai.google.dev/api/caching#Schema: one type, no references, enumerations of
strings only, and no other keywords. Unsupported constraints are dropped, never guessed; arguments
are always validated against the schema of the tool.
"""

from collections.abc import Mapping
from typing import Any, cast

from yourtool.providers.json_access import mapping, objects, text

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_ANNOTATIONS = ("title", "description", "default")
_MAX_DEPTH = 32


def google_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema in Google's subset; None if there are no arguments.

    References are inlined; a recursive one becomes an object without constraints.
    """
    definitions = {**mapping(schema.get("$defs")), **mapping(schema.get("definitions"))}
    converted = _SchemaConverter(definitions).convert(dict(schema), ())
    return converted if converted.get("properties") else None


class _SchemaConverter:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def convert(self, schema: dict[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        """Convert one node; `inside`: the definitions that are being inlined around it."""
        schema, inside = self._resolve_reference(schema, inside)
        if len(inside) > _MAX_DEPTH:
            return {"type": "object"}
        for part in objects(schema.get("allOf")):
            schema = _merge(schema, self._resolve_reference(part, inside)[0])
        kind, nullable = _parse_type(schema)
        choices = [
            self._resolve_reference(each, inside)[0]
            for each in objects(schema.get("anyOf")) or objects(schema.get("oneOf"))
        ]
        plain = [each for each in choices if each.get("type") != "null"]
        nullable = nullable or len(plain) < len(choices)
        values = _enum_values(schema, plain)
        converted = {name: schema[name] for name in _ANNOTATIONS if schema.get(name) is not None}
        if nullable:
            converted["nullable"] = True
        if values is None and len(plain) == 1:
            return {**self.convert(plain[0], (*inside, "")), **converted}
        if values is None and plain:
            converted["anyOf"] = [self.convert(each, (*inside, "")) for each in plain]
            return converted
        converted["type"] = kind or _infer_type(schema, values)
        if values and converted["type"] == "string":
            converted["enum"] = [value for value in values if isinstance(value, str) and value]
        elif values:
            allowed = "One of " + ", ".join(map(str, values)) + "."
            converted["description"] = f"{text(converted.get('description'))} {allowed}".strip()
        if converted["type"] == "array":
            items = mapping(schema.get("items"))
            converted["items"] = self.convert(items, (*inside, "")) if items else {"type": "string"}
        elif converted["type"] == "object" and (properties := mapping(schema.get("properties"))):
            converted["properties"] = {
                name: self.convert(mapping(each), (*inside, ""))
                for name, each in properties.items()
            }
            if required := [
                name for name in _strings(schema.get("required")) if name in properties
            ]:
                converted["required"] = required
        return converted

    def _resolve_reference(
        self, schema: dict[str, Any], inside: tuple[str, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        while reference := text(schema.get("$ref")):
            name = reference.rpartition("/")[2]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = {} if name in inside else mapping(self._definitions.get(name))
            schema, inside = {**(target or {"type": "object"}), **rest}, (*inside, name)
        return schema, inside


def _merge(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Merge a part of `allOf` into the schema that contains it; the schema has precedence."""
    both = {**part, **schema}
    both["properties"] = {**mapping(part.get("properties")), **mapping(schema.get("properties"))}
    both["required"] = [*_strings(schema.get("required")), *_strings(part.get("required"))]
    return {name: value for name, value in both.items() if value or name == "default"}


def _parse_type(schema: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the type, empty if it is missing, and whether `null` is also allowed."""
    named = schema.get("type")
    names = [named.lower()] if isinstance(named, str) else [n.lower() for n in _strings(named)]
    known = [name for name in names if name in _TYPES]
    nullable = bool(schema.get("nullable")) or (len(names) > 1 and "null" in names)
    return (known[0] if known else ""), nullable


def _enum_values(schema: Mapping[str, Any], choices: list[dict[str, Any]]) -> list[Any] | None:
    """Return the values of `enum`, `const`, or a union of them; otherwise None."""
    if "const" in schema:
        return [schema["const"]]
    if isinstance(found := schema.get("enum"), list):
        return [value for value in cast("list[Any]", found) if value is not None]
    if not choices:
        return None
    values: list[Any] = []
    for choice in choices:
        if (inner := _enum_values(choice, [])) is None:
            return None
        values += inner
    return values


def _infer_type(schema: Mapping[str, Any], values: list[Any] | None) -> str:
    """Infer the type of a schema without one."""
    if values:
        names: dict[Any, str] = {
            bool: "boolean",
            int: "integer",
            float: "number",
            str: "string",
        }
        kinds = {names.get(type(value), "string") for value in values}
        return kinds.pop() if len(kinds) == 1 else "string"
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _strings(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
