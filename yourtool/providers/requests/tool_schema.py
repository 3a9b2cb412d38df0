"""Reduced schemas of tool arguments.

They contain only the keywords that a wire format accepts. Arguments are always validated against
the schema of the tool, so a reduced schema can cost an attempt, but never lets a wrong call
through. A schema in the subset of `tools.schema` is not changed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from yourtool.foundation.json_schema import (
    ANNOTATIONS,
    SchemaResult,
    append_loss,
    child_path,
    is_object,
    is_strings,
    resolve_schema,
)

_COMMON_KEYWORDS = ANNOTATIONS | {
    "additionalProperties", "const", "enum", "format", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum",
}  # fmt: skip
_ROOT_KEYWORDS = frozenset(
    {"additionalProperties", "description", "properties", "required", "title", "type"}
)
_STRUCTURE = frozenset({"const", "enum", "items", "prefixItems", "properties", "required"})


_MAX_REMEMBERED = 1_000
Convert: TypeAlias = Callable[[dict[str, Any], str, list[str]], dict[str, Any]]
_Lower: TypeAlias = Callable[[Mapping[str, Any]], SchemaResult]


class SchemaRules(Struct, frozen=True, kw_only=True):
    """What a wire format accepts."""

    keywords: frozenset[str] = _COMMON_KEYWORDS
    """In addition to `type`, `properties`, `required`, `items` and `anyOf`."""
    property_name: re.Pattern[str] = re.compile(r".*", re.DOTALL)
    """Matches the valid names of properties."""
    has_nullable: bool = False
    """Whether `nullable` expresses that a value can be null."""
    convert: Convert | None = None
    """Returns a part of a lowered schema, whose own parts are converted, as the format has it."""


def lower_schema(schema: Mapping[str, Any], rules: SchemaRules = SchemaRules()) -> SchemaResult:  # noqa: B008 - frozen
    """Return the schema as an object without references, in the keywords of the format."""
    resolved = resolve_schema(schema)
    lowering = _Lowering(rules, list(resolved.losses))
    return SchemaResult(lowering.lower_root(resolved.schema), tuple(lowering.losses))


def remember_schemas(lower: _Lower) -> _Lower:
    """Return `lower` with a memory, because every request has the same tools.

    Schemas are compared by identity and must not be changed.
    """
    found: dict[int, tuple[Mapping[str, Any], SchemaResult]] = {}

    def lower_once(schema: Mapping[str, Any]) -> SchemaResult:
        known = found.get(id(schema))
        if known is None:
            if len(found) >= _MAX_REMEMBERED:
                found.clear()
            known = found[id(schema)] = schema, lower(schema)  # with it, its id stays its own
        return known[1]

    return lower_once


class _Lowering:
    def __init__(self, rules: SchemaRules, losses: list[str]) -> None:
        self._rules = rules
        self.losses = losses

    def lower_root(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of the arguments, which is a single object in every format."""
        node = self._merge_parts(node, "$")
        if alternatives := node.get("anyOf"):
            append_loss(self.losses, "$.anyOf", "alternatives are joined")
            node = self._join_alternatives(node, alternatives)
        if node.get("type") != "object" and "type" in node:
            append_loss(self.losses, "$.type", "the root must be an object")
        root = {**node, "type": "object"}
        root.setdefault("properties", {})
        for keyword in sorted(root.keys() - _ROOT_KEYWORDS):
            append_loss(self.losses, child_path("$", keyword), "dropped")
            del root[keyword]
        return self._convert(self._lower_keywords(root, "$"), "$")

    def lower(self, node: dict[str, Any], path: str, *, is_optional: bool) -> dict[str, Any]:
        """Return the lowered schema of a value; `is_optional`: it can be omitted."""
        node = self._merge_parts(node, path)
        node, choices, is_nullable = self._split(node, path)
        if choices and (values := _get_constants(choices)) is not None:
            if any(choice.keys() & {"title", "description"} for choice in choices):
                append_loss(self.losses, path, "descriptions of the values dropped")
            text = {"type": "string"} if all(isinstance(value, str) for value in values) else {}
            lowered = self._lower_keywords({**text, **node, "enum": values}, path)
        elif len(choices) == 1:
            lowered = self.lower({**choices[0], **node}, path, is_optional=is_optional)
        else:
            lowered = self._lower_keywords(node, path)
            if choices:
                lowered["anyOf"] = [
                    self.lower(choice, f"{path}.anyOf[{index}]", is_optional=False)
                    for index, choice in enumerate(choices)
                ]
        if is_nullable:
            lowered = self._allow_null(lowered, path, is_optional=is_optional)
        return self._convert(lowered, path)

    def _convert(self, lowered: dict[str, Any], path: str) -> dict[str, Any]:
        convert = self._rules.convert
        return lowered if convert is None else convert(lowered, path, self.losses)

    def _allow_null(
        self, lowered: dict[str, Any], path: str, *, is_optional: bool
    ) -> dict[str, Any]:
        if lowered.get("default", "") is None:
            del lowered["default"]
        if self._rules.has_nullable:
            return {**lowered, "nullable": True}
        if is_optional:
            append_loss(self.losses, path, "null dropped, because the property is optional")
            return lowered
        if "anyOf" in lowered:
            choices = [choice for choice in lowered["anyOf"] if choice != {"type": "null"}]
            return {**lowered, "anyOf": [*choices, {"type": "null"}]}
        outer = {name: value for name, value in lowered.items() if name in ANNOTATIONS}
        inner = {name: value for name, value in lowered.items() if name not in ANNOTATIONS}
        return {**outer, "anyOf": [inner, {"type": "null"}]}

    def _merge_parts(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        """Merge the parts of `allOf` into the schema that contains it, which has precedence."""
        if "allOf" not in node:
            return node
        merged = {name: value for name, value in node.items() if name != "allOf"}
        properties = dict(merged.get("properties", {}))
        required = dict.fromkeys(merged.get("required", ()))
        for part in node["allOf"]:
            for name, value in self._merge_parts(part, path).items():
                if name == "properties":
                    self._add_properties(properties, value, f"{path}.allOf")
                elif name == "required":
                    required |= dict.fromkeys(value)
                elif merged.setdefault(name, value) != value and name not in ANNOTATIONS:
                    append_loss(self.losses, f"{path}.allOf", f"a second `{name}` dropped")
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = list(required)
        return merged

    def _add_properties(self, properties: dict[str, Any], added: dict[str, Any], path: str) -> None:
        for name, schema in added.items():
            if properties.setdefault(name, schema) != schema:
                append_loss(self.losses, child_path(path, name), "a second schema dropped")

    def _split(
        self, node: dict[str, Any], path: str
    ) -> tuple[dict[str, Any], list[dict[str, Any]], bool]:
        """Return the schema without alternatives, the alternatives, and whether null is one."""
        listed = node.get("type")
        named = listed if is_strings(listed) else []
        names = [name for name in named if name != "null"]
        is_nullable = len(names) < len(named)
        if len(names) == 1:
            node = {**node, "type": names[0]}
        elif named and not names:
            return {**node, "type": "null"}, [], False
        elif names:
            choices = [_select_keywords(node, name) for name in names]
            if "anyOf" in node:
                append_loss(self.losses, f"{path}.anyOf", "dropped")
            return _get_annotations(node), choices, is_nullable
        if "anyOf" not in node:
            return node, [], is_nullable
        plain = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
        is_nullable = is_nullable or len(plain) < len(node["anyOf"])
        if node.keys() & _STRUCTURE:
            append_loss(self.losses, f"{path}.anyOf", "dropped")
            return {name: node[name] for name in node if name != "anyOf"}, [], is_nullable
        typed = {"type": node["type"]} if "type" in node else {}
        if lost := node.keys() - ANNOTATIONS - {"anyOf", "type"}:
            append_loss(self.losses, path, f"dropped beside `anyOf`: {', '.join(sorted(lost))}")
        return _get_annotations(node), [{**typed, **choice} for choice in plain], is_nullable

    def _join_alternatives(
        self, node: dict[str, Any], alternatives: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Return an object with the properties of all alternatives."""
        parts = [self._merge_parts(each, "$") for each in alternatives]
        properties: dict[str, Any] = dict(node.get("properties", {}))
        for part in parts:
            self._add_properties(properties, part.get("properties", {}), "$.anyOf")
        always = set(parts[0].get("required", ())).intersection(
            *(part.get("required", ()) for part in parts)
        )
        required = dict.fromkeys((*node.get("required", ()), *sorted(always)))
        rest = {name: value for name, value in node.items() if name != "anyOf"}
        return {**rest, "properties": properties, "required": list(required)}

    def _lower_keywords(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        """Lower a schema without alternatives."""
        lowered: dict[str, Any] = {}
        required = node.get("required", ())
        for keyword, value in node.items():
            where = child_path(path, keyword)
            if keyword == "type":
                lowered["type"] = value
            elif keyword == "properties":
                lowered["properties"] = self._lower_properties(value, required, where)
            elif keyword == "required":
                known = self._known_properties(node)
                lowered["required"] = [name for name in value if name in known]
            elif keyword == "items" and "prefixItems" not in node:
                lowered["items"] = self.lower(value, where, is_optional=False)
            elif keyword == "prefixItems":
                append_loss(self.losses, where, "the positions of items dropped")
                listed = [*value, *([node["items"]] if "items" in node else [])]
                lowered["items"] = self.lower({"anyOf": listed}, where, is_optional=False)
            elif keyword == "additionalProperties" and is_object(value):
                if keyword in self._rules.keywords:
                    lowered[keyword] = self.lower(value, where, is_optional=False)
                else:
                    append_loss(self.losses, where, "dropped")
            elif keyword in self._rules.keywords:
                lowered[keyword] = value
            elif keyword not in ("items", "additionalProperties"):
                append_loss(self.losses, where, "dropped")
        if lowered.get("type") == "array":
            lowered.setdefault("items", {})
        return lowered

    def _lower_properties(
        self, properties: dict[str, Any], required: Iterable[str], path: str
    ) -> dict[str, Any]:
        needed = set(required)
        lowered: dict[str, Any] = {}
        for name, part in properties.items():
            where = child_path(path, name)
            if self._rules.property_name.fullmatch(name):
                lowered[name] = self.lower(part, where, is_optional=name not in needed)
            else:
                append_loss(self.losses, where, "dropped, because of its name")
        return lowered

    def _known_properties(self, node: dict[str, Any]) -> set[str]:
        return set(filter(self._rules.property_name.fullmatch, node.get("properties", ())))


def _get_annotations(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name in ANNOTATIONS}


def _select_keywords(node: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return one type of several with the keywords for it, so that no part is lowered twice."""
    if kind == "object":
        names = {"properties", "required", "additionalProperties"}
    elif kind == "array":
        names = {"items", "prefixItems"}
    else:
        names = set[str]()
    return {"type": kind, **{name: node[name] for name in node if name in names}}


def _get_constants(choices: list[dict[str, Any]]) -> list[Any] | None:
    """Return the values of alternatives that are constants; None if any is not."""
    values: list[Any] = []
    for choice in choices:
        match choice.keys() - ANNOTATIONS - {"type"}:
            case names if names == {"const"}:
                values.append(choice["const"])
            case names if names == {"enum"}:
                values += choice["enum"]
            case _:
                return None
    return values
