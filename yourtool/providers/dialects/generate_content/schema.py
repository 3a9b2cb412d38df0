"""Convert the schema of a tool to Google's subset for function arguments.

The subset is https://ai.google.dev/api/caching#Schema: one type, no references, enumerations of
strings only, and no other keywords. Unsupported constraints are dropped, never guessed; arguments
are always validated against the schema of the tool.
"""

from collections.abc import Mapping
from typing import Any

from yourtool.json_schema import SchemaResult, append_loss, child_path, is_object
from yourtool.providers.requests.tool_schema import SchemaRules, lower_schema

_ANNOTATIONS = ("title", "description", "default")
_RULES = SchemaRules(keywords=frozenset({*_ANNOTATIONS, "const", "enum"}), has_nullable=True)
_TYPE_NAMES: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def google_schema(schema: Mapping[str, Any]) -> SchemaResult:
    """Return the schema in Google's subset; empty if there are no arguments."""
    lowered = lower_schema(schema, _RULES)
    losses = list(lowered.losses)
    converted = _convert(lowered.schema, "$", losses)
    return SchemaResult(converted if "properties" in converted else {}, tuple(losses))


def _convert(node: dict[str, Any], path: str, losses: list[str]) -> dict[str, Any]:
    converted = {name: node[name] for name in _ANNOTATIONS if node.get(name) is not None}
    if "nullable" in node:
        converted["nullable"] = True
    if "anyOf" in node:
        converted["anyOf"] = [
            _convert(part, f"{path}.anyOf[{index}]", losses)
            for index, part in enumerate(node["anyOf"])
        ]
        return converted
    values = [node["const"]] if "const" in node else node.get("enum", [])
    values = [value for value in values if value is not None]
    kind = node.get("type", "null")
    converted["type"] = kind if kind != "null" else _infer_type(node, values)
    if converted["type"] != kind:
        append_loss(losses, path, f"sent with the type {converted['type']}")
    if values and converted["type"] == "string":
        converted["enum"] = [value for value in values if isinstance(value, str) and value]
    elif values:
        allowed = f"One of {', '.join(map(str, values))}."
        converted["description"] = f"{converted.get('description', '')} {allowed}".strip()
        append_loss(losses, child_path(path, "enum"), "moved to the description")
    if converted["type"] == "array":
        items = node.get("items")
        converted["items"] = (
            _convert(items, f"{path}.items", losses) if items else {"type": "string"}
        )
    elif converted["type"] == "object" and is_object(properties := node.get("properties")):
        if properties:
            converted["properties"] = {
                name: _convert(part, child_path(f"{path}.properties", name), losses)
                for name, part in properties.items()
            }
        if required := [name for name in node.get("required", ()) if name in properties]:
            converted["required"] = required
    return converted


def _infer_type(node: Mapping[str, Any], values: list[Any]) -> str:
    """Infer the type of a schema without one."""
    if values:
        kinds = {_TYPE_NAMES.get(type(value), "string") for value in values}
        return kinds.pop() if len(kinds) == 1 else "string"
    if "properties" in node:
        return "object"
    return "array" if "items" in node else "string"
