"""JSON Schema as Google takes it for the arguments of a function.

The subset is https://ai.google.dev/api/caching#Schema: one type, no references, enumerations of
text only, and no keyword that is not listed there. What cannot be said is left out, never guessed;
arguments are checked against the tool's own schema in any case.
"""

from collections.abc import Mapping
from typing import Any, cast

from yourtool.providers.json_access import mapping, objects, text

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_KEPT = ("title", "description", "default")
_DEEPEST = 32


def google_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments' schema in Google's subset; None where there are no arguments.

    References are written out, except inside themselves, where anything is allowed.
    """
    definitions = {**mapping(schema.get("$defs")), **mapping(schema.get("definitions"))}
    cleaned = _Cleaner(definitions).clean(dict(schema), ())
    return cleaned if cleaned.get("properties") else None


class _Cleaner:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def clean(self, schema: dict[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        """Return one node; `inside`: the definitions that are being written out around it."""
        schema, inside = self._resolved(schema, inside)
        if len(inside) > _DEEPEST:
            return {"type": "object"}
        for part in objects(schema.get("allOf")):
            schema = _joined(schema, self._resolved(part, inside)[0])
        kind, nullable = _type_of(schema)
        choices = [
            self._resolved(each, inside)[0]
            for each in objects(schema.get("anyOf")) or objects(schema.get("oneOf"))
        ]
        plain = [each for each in choices if each.get("type") != "null"]
        nullable = nullable or len(plain) < len(choices)
        values = _values(schema, plain)
        clean = {name: schema[name] for name in _KEPT if schema.get(name) is not None}
        if nullable:
            clean["nullable"] = True
        if values is None and len(plain) == 1:
            return {**self.clean(plain[0], (*inside, "")), **clean}
        if values is None and plain:
            clean["anyOf"] = [self.clean(each, (*inside, "")) for each in plain]
            return clean
        clean["type"] = kind or _type_from(schema, values)
        if values and clean["type"] == "string":
            clean["enum"] = [value for value in values if isinstance(value, str) and value]
        elif values:
            told = "One of " + ", ".join(map(str, values)) + "."
            clean["description"] = f"{text(clean.get('description'))} {told}".strip()
        if clean["type"] == "array":
            items = mapping(schema.get("items"))
            clean["items"] = self.clean(items, (*inside, "")) if items else {"type": "string"}
        elif clean["type"] == "object" and (properties := mapping(schema.get("properties"))):
            clean["properties"] = {
                name: self.clean(mapping(each), (*inside, "")) for name, each in properties.items()
            }
            if required := [name for name in _texts(schema.get("required")) if name in properties]:
                clean["required"] = required
        return clean

    def _resolved(
        self, schema: dict[str, Any], inside: tuple[str, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        while reference := text(schema.get("$ref")):
            name = reference.rpartition("/")[2]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = {} if name in inside else mapping(self._definitions.get(name))
            schema, inside = {**(target or {"type": "object"}), **rest}, (*inside, name)
        return schema, inside


def _joined(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Lay a part of `allOf` under the schema that holds it."""
    both = {**part, **schema}
    both["properties"] = {**mapping(part.get("properties")), **mapping(schema.get("properties"))}
    both["required"] = [*_texts(schema.get("required")), *_texts(part.get("required"))]
    return {name: value for name, value in both.items() if value or name == "default"}


def _type_of(schema: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the type, empty if there is none, and whether `null` is allowed beside it."""
    named = schema.get("type")
    names = [named.lower()] if isinstance(named, str) else [n.lower() for n in _texts(named)]
    known = [name for name in names if name in _TYPES]
    nullable = bool(schema.get("nullable")) or (len(names) > 1 and "null" in names)
    return (known[0] if known else ""), nullable


def _values(schema: Mapping[str, Any], choices: list[dict[str, Any]]) -> list[Any] | None:
    """Return the values of an enumeration, of a constant, or of a choice of such; else None."""
    if "const" in schema:
        return [schema["const"]]
    if isinstance(found := schema.get("enum"), list):
        return [value for value in cast("list[Any]", found) if value is not None]
    if not choices:
        return None
    values: list[Any] = []
    for choice in choices:
        if (inner := _values(choice, [])) is None:
            return None
        values += inner
    return values


def _type_from(schema: Mapping[str, Any], values: list[Any] | None) -> str:
    """Return the type that a schema without one most likely means."""
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


def _texts(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
