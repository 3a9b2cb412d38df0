import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import examples, json_values
from tests.validator.validate import errors, validate
from yourtool.providers.dialects.generate_content.schema import google_schema
from yourtool.tools.builtin import default_toolbox


def of(**properties):
    return google_schema({"type": "object", "properties": properties}).schema


def one(schema):
    cleaned = of(x=schema)
    return cleaned["properties"]["x"]


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        (
            {
                "type": "string",
                "title": "T",
                "description": "d",
                "default": "a",
                "pattern": "a+",
                "format": "uri",
                "minLength": 1,
                "examples": ["a"],
            },
            {"type": "string", "title": "T", "description": "d", "default": "a"},
        ),
        ({"type": "integer", "minimum": 1, "multipleOf": 2}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", "b", None]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "One of 1, 2."}),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 3}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a", "b"]}], "type": "object"},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        ({}, {"type": "string"}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object"}),
    ],
)
@pytest.mark.req("R-SEED-04")
def test_schema_has_the_keywords_of_google(schema, cleaned):
    assert one(schema) == cleaned


@pytest.mark.req("R-SEED-04")
def test_references_are_inlined_and_recursive_ones_end():
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "A tree."}},
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {"left": {"$ref": "#/$defs/Tree"}, "leaf": {"$ref": "#/$defs/Leaf"}},
            },
            "Leaf": {"type": "integer"},
        },
    }
    cleaned = google_schema(schema).schema
    assert cleaned["properties"]["tree"] == {
        "type": "object",
        "description": "A tree.",
        "properties": {"left": {"type": "object"}, "leaf": {"type": "integer"}},
    }


def test_tool_without_arguments_has_no_schema():
    assert google_schema({"type": "object", "properties": {}}).schema == {}
    assert google_schema({}).schema == {}


def test_schemas_of_own_tools_have_all_arguments_and_descriptions():
    for tool in default_toolbox().definitions:
        cleaned = google_schema(tool.input_schema).schema
        assert cleaned["properties"].keys() == tool.input_schema["properties"].keys()
        assert cleaned.get("required", []) == tool.input_schema["required"]
        for name, schema in tool.input_schema["properties"].items():
            assert cleaned["properties"][name].get("description") == schema.get("description")


_KEYS = st.sampled_from(
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "items", "properties", "$ref", "required"]
)
_SCHEMAS = st.recursive(
    st.dictionaries(_KEYS, json_values | st.sampled_from(["string", "array", "#/$defs/a"])),
    lambda inner: st.dictionaries(
        _KEYS, inner | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(50), deadline=None)
@given(_SCHEMAS, _SCHEMAS)
@pytest.mark.req("R-SWP-02")
@pytest.mark.remaining
def test_any_input_becomes_a_valid_google_schema(schema, definition):
    root = {"type": "object", "properties": {"x": schema}, "$defs": {"a": definition}}
    declared = {"name": "f", "description": "", "parameters": google_schema(root).schema}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": [declared]}],
    }
    assert errors(validate("gemini", "generateContent", body)) == []
