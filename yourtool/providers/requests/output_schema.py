"""The schema of a reply as providers take it: closed objects, and only the keywords they know.

What else it demands is said in its description, and checked when the reply has come.
"""

from collections.abc import Mapping
from typing import Any

from yourtool.messages import canonical_json

NAME = "reply"
"""What the schema is called where it needs a name."""
_BASIC = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "description"}
)
ANTHROPIC = _BASIC | {"const", "title", "format"}
"""https://docs.claude.com/en/docs/build-with-claude/structured-outputs"""
GOOGLE = _BASIC | {"title", "format", "minimum", "maximum", "minItems", "maxItems"}
"""https://ai.google.dev/gemini-api/docs/structured-output"""
OPENAI = ANTHROPIC | GOOGLE | {"pattern"}
"""https://platform.openai.com/docs/guides/structured-outputs"""
_SAYS_NOTHING = frozenset({"default", "examples", "title"})


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with objects that take no names but their own, as providers demand.

    What fits it fits the original as well.
    """
    whole = dict(schema)
    if "properties" in schema:
        whole["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
    if "items" in schema:
        whole["items"] = closed(schema["items"])
    if _is_object(schema):
        whole["additionalProperties"] = False
    return whole


def narrowed(schema: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the schema closed and with these keywords alone."""
    kept: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            kept[keyword] = {name: narrowed(part, known) for name, part in value.items()}
        elif keyword == "items":
            kept[keyword] = narrowed(value, known)
        elif keyword in known:
            kept[keyword] = value
        elif keyword not in _SAYS_NOTHING:
            told[keyword] = value
    if _is_object(schema):
        kept["additionalProperties"] = False
    if told:
        demand = f"Must fit {canonical_json(told).decode()}."
        kept["description"] = f"{kept['description']} {demand}" if "description" in kept else demand
    return kept


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether every object is closed and has all of its properties, as OpenAI's strict mode asks.

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


def named(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name, the schema and its strictness, as OpenAI's interfaces take them."""
    wire = narrowed(schema, OPENAI)
    return {"name": NAME, "schema": wire, "strict": is_strict(wire)}
