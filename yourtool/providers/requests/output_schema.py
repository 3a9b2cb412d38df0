"""Convert the schema of a reply for providers: closed objects and only supported keywords.

Other keywords are moved to the description, and the reply is validated against the full schema.
"""

from collections.abc import Mapping
from typing import Any

from yourtool.messages.blocks import canonical_json

SCHEMA_NAME = "reply"
"""The name of the schema in APIs that require one."""
BASIC_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "description"}
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
    whole = dict(schema)
    if "properties" in schema:
        whole["properties"] = {
            name: close_objects(part) for name, part in schema["properties"].items()
        }
    if "items" in schema:
        whole["items"] = close_objects(schema["items"])
    if _is_object(schema):
        whole["additionalProperties"] = False
    return whole


def restrict_schema(schema: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the schema with closed objects and only the keywords in `known`."""
    restricted: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            restricted[keyword] = {
                name: restrict_schema(part, known) for name, part in value.items()
            }
        elif keyword == "items":
            restricted[keyword] = restrict_schema(value, known)
        elif keyword in known:
            restricted[keyword] = value
        elif keyword not in _ANNOTATIONS:
            other[keyword] = value
    if _is_object(schema):
        restricted["additionalProperties"] = False
    if other:
        demand = f"Must match {canonical_json(other).decode()}."
        restricted["description"] = (
            f"{restricted['description']} {demand}" if "description" in restricted else demand
        )
    return restricted


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether every object is closed and requires all properties, as OpenAI's strict mode needs.

    https://platform.openai.com/docs/guides/structured-outputs
    """
    properties = schema.get("properties", {})
    parts = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
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
