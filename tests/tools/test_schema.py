from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct

from yourtool.tools import schema

REFUSED = {
    "$ref": "#/x",
    "oneOf": [{}],
    "anyOf": [{}],
    "allOf": [{}],
    "not": {},
    "if": {},
    "then": {},
    "else": {},
    "patternProperties": {},
    "dependencies": {},
    "dependentRequired": {},
    "dependentSchemas": {},
    "unevaluatedProperties": False,
    "definitely_unknown": 1,
}
ALLOWED = {
    "enum": ["a"],
    "description": "d",
    "title": "t",
    "format": "date",
    "pattern": "a+",
    "const": "a",
    "default": "a",
    "examples": ["a"],
    "minimum": 1,
    "maximum": 2.5,
    "minLength": 1,
    "maxLength": 2,
    "minItems": 1,
    "maxItems": 2,
    "additionalProperties": False,
}


def rooted(part, place):
    match place:
        case "root":
            return {"type": "object", **part}, "$"
        case "properties":
            return {"type": "object", "properties": {"x": part}}, "$.properties.x"
        case "items":
            inner = {"type": "array", "items": part}
            return {"type": "object", "properties": {"x": inner}}, "$.properties.x.items"


@pytest.mark.parametrize("place", ["root", "properties", "items"])
@pytest.mark.parametrize("keyword", REFUSED)
@pytest.mark.req("R-CAN-09")
def test_rejected_keyword_is_named_by_its_path(keyword, place):
    whole, path = rooted({keyword: REFUSED[keyword]}, place)
    assert schema.subset_problems(whole) == [f"{path}.{keyword}: `{keyword}` is not supported"]


@pytest.mark.parametrize("place", ["root", "properties", "items"])
@pytest.mark.parametrize("keyword", ALLOWED)
@pytest.mark.req("R-CAN-09")
def test_allowed_keyword_is_accepted_everywhere(keyword, place):
    assert schema.subset_problems(rooted({keyword: ALLOWED[keyword]}, place)[0]) == []


@pytest.mark.parametrize(
    "kind", ["string", "number", "integer", "boolean", "array", "object", "null"]
)
@pytest.mark.req("R-CAN-09")
def test_all_seven_types_are_accepted(kind):
    assert schema.subset_problems({"type": "object", "properties": {"x": {"type": kind}}}) == []


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"additionalProperties": {"type": "string"}}, "$.properties.x.additionalProperties"),
        ({"type": ["string", "null"]}, "$.properties.x.type"),
        ({"type": "text"}, "$.properties.x.type"),
        ({"items": [{"type": "string"}]}, "$.properties.x.items"),
        ({"enum": []}, "$.properties.x.enum"),
        ({"required": "a"}, "$.properties.x.required"),
        ({"pattern": "("}, "$.properties.x.pattern"),
        ({"minLength": -1}, "$.properties.x.minLength"),
        ({"minimum": True}, "$.properties.x.minimum"),
    ],
)
@pytest.mark.req("R-CAN-09")
def test_malformed_keyword_is_named_by_its_path(part, path):
    [problem] = schema.subset_problems(rooted(part, "properties")[0])
    assert problem.startswith(f"{path}: ")


def test_root_schema_must_be_an_object():
    assert schema.subset_problems({"type": "string"}) == ["$.type: the root must be an `object`"]
    assert schema.subset_problems([]) == ["$: must be an object"]


INTEGER = {"type": "integer"}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": INTEGER},
    "required": ["name"],
    "additionalProperties": False,
}
ROWS = [
    ({"type": "string"}, "a", []),
    ({"type": "string"}, 1, ["$: expected string, got integer"]),
    (INTEGER, 1, []),
    (INTEGER, 1.0, []),
    (INTEGER, 1.5, ["$: expected integer, got number"]),
    (INTEGER, True, ["$: expected integer, got boolean"]),
    ({"type": "number"}, 1, []),
    ({"type": "number"}, False, ["$: expected number, got boolean"]),
    ({"type": "boolean"}, True, []),
    ({"type": "boolean"}, 0, ["$: expected boolean, got integer"]),
    ({"type": "null"}, None, []),
    ({"type": "null"}, "", ["$: expected null, got string"]),
    ({"type": "array"}, {}, ["$: expected array, got object"]),
    ({"type": "object"}, [], ["$: expected object, got array"]),
    ({}, object.__name__, []),
    ({"enum": ["a", 1]}, "a", []),
    ({"enum": ["a", 1]}, 1.0, []),
    ({"enum": ["a", 1]}, True, ['$: must be one of ["a",1], not true']),
    ({"enum": [[1]]}, [True], ["$: must be one of [[1]], not [true]"]),
    ({"const": {"a": 1}}, {"a": 1}, []),
    ({"const": {"a": 1}}, {"a": 2}, ['$: must be one of [{"a":1}], not {"a":2}']),
    (PERSON, {"name": "x"}, []),
    (PERSON, {"age": 1}, ["$.name: is required"]),
    (PERSON, {"name": 1, "age": "x"}, [
        "$.name: expected string, got integer",
        "$.age: expected integer, got string",
    ]),
    (PERSON, {"name": "x", "height": 1}, [
        '$.height: unknown field; use one of ["age","name"]'
    ]),
    ({"additionalProperties": True}, {"x": 1}, []),
    ({"items": {"items": INTEGER}}, [[1, 2], [3, "x"]], [
        "$[1][1]: expected integer, got string"
    ]),
    ({"properties": {"p": {"items": PERSON}}}, {"p": [{"name": "a"}, {}]}, [
        "$.p[1].name: is required"
    ]),
    ({"properties": {"p": {"items": PERSON}}, "required": ["p", "q"]}, {}, [
        "$.p: is required (an array of objects with `name`, `age`)", "$.q: is required"
    ]),
    ({"minItems": 1}, [], ["$: needs at least 1 items, has 0"]),
    ({"maxItems": 1}, [1, 2], ["$: may have at most 1 items, has 2"]),
    ({"minLength": 2}, "é", ["$: needs at least 2 characters, has 1"]),
    ({"maxLength": 1}, "ab", ["$: may have at most 1 characters, has 2"]),
    ({"minLength": 2}, [1], []),
    ({"minimum": 1, "maximum": 3}, 2, []),
    ({"minimum": 1}, 0, ["$: must be at least 1, not 0"]),
    ({"maximum": 3}, 3.5, ["$: must be at most 3, not 3.5"]),
    ({"minimum": 1}, "0", []),
    ({"pattern": "^a"}, "ba", ["$: must match `^a`"]),
    ({"pattern": "a"}, "ba", []),
    ({"format": "date"}, "no date", []),
]  # fmt: skip


@pytest.mark.parametrize(("part", "instance", "expected"), ROWS)
@pytest.mark.req("R-CAN-10")
def test_validator_agrees_with_the_reference_table(part, instance, expected):
    assert schema.validate_arguments(part, instance) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS,
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "minimum": st.integers(-3, 3),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "required": st.lists(st.sampled_from("abc"), unique=True),
            "additionalProperties": st.booleans(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "items": inner,
        },
    ),
    max_leaves=4,
)


@settings(deadline=None)
@given(SCHEMAS, VALUES)
@pytest.mark.req("R-CAN-10")
def test_validator_agrees_with_a_reference_implementation(part, instance):
    reference = pytest.importorskip("jsonschema").Draft7Validator(part)
    assert (schema.validate_arguments(part, instance) == []) == reference.is_valid(instance)


class Inner(Struct, frozen=True, forbid_unknown_fields=True):
    """Not sent to a model."""

    name: Annotated[str, Meta(min_length=1, description="A name.")]


class Outer(Struct, frozen=True, forbid_unknown_fields=True):
    """Not sent to a model either."""

    inner: Annotated[tuple[Inner, ...], Meta(description="Some.")]
    title: str = "x"
    kind: Literal["a", "b"] = "a"


def test_struct_schema_contains_no_references():
    assert schema.derive_schema(Outer) == {
        "type": "object",
        "properties": {
            "inner": {
                "description": "Some.",
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"description": "A name.", "type": "string", "minLength": 1}
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
            "title": {"type": "string", "default": "x"},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
        },
        "required": ["inner"],
        "additionalProperties": False,
    }
    assert schema.subset_problems(schema.derive_schema(Outer)) == []


@pytest.mark.parametrize(
    ("given_schema", "described"),
    [
        ({"properties": {"a": INTEGER, "b": {"items": PERSON}}},
         "`a`, `b` (an array of objects with `name`, `age`)"),
        ({"properties": {f"f{n}": 1 for n in range(30)}}, ", ".join(f"`f{n}`" for n in range(20))),
        ({"properties": {"a": {"items": {"properties": 3}}, "b": {"items": False}}}, "`a`, `b`"),
        ({"properties": []}, ""),
        ({}, ""),
        (True, ""),
    ],
)  # fmt: skip
def test_fields_of_any_schema_are_described(given_schema, described):
    assert schema.describe_fields(given_schema) == described
