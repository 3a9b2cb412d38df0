from typing import Annotated, Literal

import pytest
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
    "pattern": "a+",
    "definitely_unknown": 1,
}
ALLOWED = {
    "enum": ["a"],
    "description": "d",
    "title": "t",
    "format": "date",
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
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": INTEGER}}


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
