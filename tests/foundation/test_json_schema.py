import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing.exceptions import Unresolvable

from tests.doubling import LINEAR, growth
from tests.strategies import examples, json_values
from yourtool.foundation.json_schema import (
    MAX_LOSSES,
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_DEPTH,
    resolve_schema,
)

KEYWORDS = st.sampled_from(
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "items", "prefixItems",
     "properties", "patternProperties", "additionalProperties", "$ref", "required", "pattern",
     "minimum", "maxLength", "nullable", "default"]
)  # fmt: skip
VALUES = json_values | st.sampled_from(
    ["string", "array", "object", ["string", "null"], "#/$defs/a", "#", "http://a.example/x", False]
)
SCHEMAS = st.recursive(
    st.dictionaries(KEYWORDS, VALUES, max_size=4),
    lambda inner: st.dictionaries(
        KEYWORDS,
        inner | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_size=4,
    ),
    max_leaves=8,
)


def has_reference(node):
    """Return whether a schema or one of its parts has a reference."""
    lists = ("allOf", "anyOf", "prefixItems")
    parts = [part for keyword in lists for part in node.get(keyword, ())]
    parts += node.get("properties", {}).values()
    parts += [
        node[name] for name in ("items", "additionalProperties") if isinstance(node.get(name), dict)
    ]
    return "$ref" in node or any(map(has_reference, parts))


def resolved(part, **definitions):
    return resolve_schema({**part, "$defs": definitions})


def test_references_are_inlined_with_their_own_description():
    result = resolved(
        {"properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}}},
        A={"type": "string", "description": "theirs"},
    )
    assert result.schema == {"properties": {"a": {"type": "string", "description": "mine"}}}
    assert result.losses == ()


def test_constraints_beside_a_reference_apply_as_well():
    result = resolved({"$ref": "#/$defs/A", "minLength": 3}, A={"minLength": 1})
    assert result.schema == {"allOf": [{"minLength": 1}, {"minLength": 3}]}


@pytest.mark.parametrize(
    "reference", ["#/$defs/Missing", "https://a.example/schema", "other.json", "#name", 1, "/etc"]
)
def test_reference_to_anything_else_is_cut_and_reported(reference):
    result = resolved({"properties": {"a": {"$ref": reference}}})
    assert result.schema == {"properties": {"a": {}}}
    assert result.losses == ("$.properties.a.$ref: not found in the schema",)


def test_recursive_reference_is_cut_at_its_type():
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    result = resolved({"$ref": "#/$defs/Tree"}, Tree=tree)
    assert result.schema == {"type": "object", "properties": {"left": {"type": "object"}}}
    assert result.losses == ("$.properties.left.$ref: recursive",)


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "text"}, {}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"required": ["a", "a"]}, {"required": ["a"]}),
        ({"minimum": "1"}, {}),
        ({"pattern": "a+", "patternProperties": {}, "additionalProperties": False}, {}),
        ({"oneOf": [{"const": 1}]}, {"anyOf": [{"const": 1}]}),
        ({"oneOf": [{"const": 1}], "anyOf": [True]}, {"anyOf": [{"const": 1}],
                                                     "allOf": [{"anyOf": [{}]}]}),
        ({"items": [{"type": "null"}]}, {"prefixItems": [{"type": "null"}]}),
        ({"not": {}, "if": {}, "then": False}, {}),
        (True, {}),
        (False, {}),
        ("x", {}),
    ],
)  # fmt: skip
def test_only_well_formed_keywords_remain(part, kept):
    assert resolve_schema({"properties": {"x": part}}).schema == {"properties": {"x": kept}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "properties"])
def test_references_that_multiply_are_cut(keyword):
    parts = [{"$ref": "#/$defs/{}"}] * 2
    bomb = {
        f"a{n}": {
            keyword: {str(i): {"$ref": f"#/$defs/a{n + 1}"} for i in range(2)}
            if keyword == "properties"
            else [{"$ref": f"#/$defs/a{n + 1}"} for _ in parts]
        }
        for n in range(100)
    }
    result = resolved({"$ref": "#/$defs/a0"}, **bomb)
    assert len(json.dumps(result.schema)) < 4 * MAX_SCHEMA_BYTES
    assert 0 < len(result.losses) <= MAX_LOSSES + 1


def test_deep_and_large_schemas_are_cut():
    deep = {"type": "string"}
    for _ in range(40):
        deep = {"items": deep}
    assert json.dumps(resolve_schema(deep).schema).count("items") == MAX_SCHEMA_DEPTH
    for _ in range(2_000):
        deep = {"items": deep}
    assert resolve_schema(deep).losses == ("$: nested too deeply",)
    assert resolve_schema({"title": "x" * MAX_SCHEMA_BYTES}).schema == {}


@pytest.mark.parametrize(
    "sized",
    [
        lambda size: {"required": ["a"] * size},
        lambda size: {"anyOf": [{}] * size},
        lambda size: {"properties": {f"a{n}": {"$ref": "#/properties/a0"} for n in range(size)}},
        lambda size: {"allOf": [{"$ref": "#/x"}] * size, "x": {f"k{n}": n for n in range(size)}},
    ],
)
def test_resolving_takes_linear_time(sized):
    assert growth(resolve_schema, sized, 400) < LINEAR


@settings(max_examples=examples(100), deadline=None)
@given(SCHEMAS | json_values, SCHEMAS)
def test_any_json_is_resolved_to_a_valid_schema_without_references(schema, definition):
    if isinstance(schema, dict):
        schema = {**schema, "$defs": {"a": definition}}
    result = resolve_schema(schema)
    Draft202012Validator.check_schema(result.schema)
    assert not has_reference(result.schema)


@settings(max_examples=examples(100), deadline=None)
@given(SCHEMAS, json_values)
def test_resolved_schema_accepts_whatever_the_original_accepts(schema, instance):
    try:
        Draft202012Validator.check_schema(schema)
        is_valid = Draft202012Validator(schema).is_valid(instance)
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return  # the original has no meaning
    if is_valid:
        assert Draft202012Validator(resolve_schema(schema).schema).is_valid(instance)
