"""Tool schemas in Google's subset.

The subset is https://ai.google.dev/api/caching#Schema: one type, no references, enumerations of
strings only, and no other keywords. Unsupported constraints are dropped, never guessed; arguments
are always validated against the schema of the tool.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from yourtool.foundation.json_schema import SchemaResult, append_loss, child_path
from yourtool.providers.requests.tool_schema import SchemaRules, lower_schema

_ANNOTATIONS = ("title", "description", "default")
_TYPE_NAMES: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def google_schema(schema: Mapping[str, Any]) -> SchemaResult:
    """Return the schema in Google's subset; empty if there are no arguments."""
    lowered = lower_schema(schema, _RULES)
    return lowered if "properties" in lowered.schema else replace(lowered, schema={})


def _convert(node: dict[str, Any], path: str, losses: list[str]) -> dict[str, Any]:
    converted = {name: node[name] for name in _ANNOTATIONS if node.get(name) is not None}
    converted |= {name: node[name] for name in ("nullable", "anyOf") if name in node}
    if "anyOf" in node:
        return converted
    values = [node["const"]] if "const" in node else node.get("enum", [])
    values = [value for value in values if value is not None]
    kind = node.get("type", "null")
    converted["type"] = kind if kind != "null" else _infer_type(node, values)
    if converted["type"] != kind:
        append_loss(losses, path, f"sent with the type {converted['type']}")
    if values and converted["type"] == "string":
        if texts := [value for value in values if isinstance(value, str) and value]:
            converted["enum"] = texts
    elif values:
        allowed = f"One of {', '.join(map(str, values))}."
        converted["description"] = f"{converted.get('description', '')} {allowed}".strip()
        append_loss(losses, child_path(path, "enum"), "moved to the description")
    if converted["type"] == "array":
        converted["items"] = node.get("items") or {"type": "string"}
    elif converted["type"] == "object" and (properties := node.get("properties")):
        converted["properties"] = properties
        if required := [name for name in node.get("required", ()) if name in properties]:
            converted["required"] = required
    return converted


_RULES = SchemaRules(
    keywords=frozenset({*_ANNOTATIONS, "const", "enum"}), has_nullable=True, convert=_convert
)


def _infer_type(node: Mapping[str, Any], values: list[Any]) -> str:
    """Infer the type of a schema without one."""
    if values:
        kinds = {_TYPE_NAMES.get(type(value), "string") for value in values}
        return kinds.pop() if len(kinds) == 1 else "string"
    if "properties" in node:
        return "object"
    return "array" if "items" in node else "string"
