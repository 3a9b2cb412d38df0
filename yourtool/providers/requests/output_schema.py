"""Reply schemas for providers.

Other keywords are moved to the description, and the reply is validated against the full schema.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from yourtool.foundation.json_schema import map_parts
from yourtool.messages.blocks import canonical_json

SCHEMA_NAME = "reply"
"""The name of the schema in APIs that require one."""
BASIC_KEYWORDS = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "anyOf",
        "description",
    }
)
"""The keywords that every API supports."""
_OPENAI_KEYWORDS = BASIC_KEYWORDS | {
    "const",
    "format",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "pattern",
    "title",
}
"""https://platform.openai.com/docs/guides/structured-outputs"""
_ANNOTATIONS = frozenset({"default", "examples", "title"})


def close_objects(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with `additionalProperties: false` in objects, as providers require.

    A value that is valid for the result is valid for the original.
    """
    return _close(map_parts(schema, close_objects))


def restrict_schema(schema: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the schema with closed objects and only the keywords in `known`."""
    mapped = map_parts(schema, partial(restrict_schema, known=known))
    restricted = _close({name: value for name, value in mapped.items() if name in known})
    if other := {name: mapped[name] for name in mapped.keys() - known - _ANNOTATIONS}:
        demand = f"Must match {canonical_json(other).decode()}."
        restricted["description"] = f"{restricted.get('description', '')} {demand}".lstrip()
    return restricted


def _close(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False} if _is_object(schema) else schema


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether every object is closed and requires all properties, as OpenAI's strict mode needs.

    https://platform.openai.com/docs/guides/structured-outputs
    """
    properties = schema.get("properties", {})
    parts = [*properties.values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    if _is_object(schema) and (
        schema.get("additionalProperties") is not False
        or properties.keys() - set(schema.get("required", ()))
    ):
        return False
    return all(map(is_strict, parts))


def build_named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with its name and strictness, for the APIs of OpenAI."""
    wire = restrict_schema(schema, _OPENAI_KEYWORDS)
    return {"name": SCHEMA_NAME, "schema": wire, "strict": is_strict(wire)}
