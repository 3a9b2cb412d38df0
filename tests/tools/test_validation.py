import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from yourtool.errors import ToolError
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.validation import iter_problems

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
    ({"format": "date"}, "no date", []),
]  # fmt: skip


@pytest.mark.parametrize(("part", "instance", "expected"), ROWS)
@pytest.mark.req("R-CAN-10")
def test_validator_agrees_with_the_reference_table(part, instance, expected):
    assert list(iter_problems(part, instance)) == expected


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
    assert (not list(iter_problems(part, instance))) == Draft7Validator(part).is_valid(instance)


TOOLS = tuple(default_toolbox())
BROKEN = VALUES | st.sampled_from(["1", 2.0, 1e300, 2**70, "x" * 300, {}, [{}], [["a"]]])


@st.composite
def arguments(draw, part):
    if draw(st.integers(0, 9)) == 0:
        return draw(BROKEN)
    if "enum" in part:
        return draw(st.sampled_from(part["enum"]))
    match part.get("type"):
        case "object":
            fields = part.get("properties", {})
            names = [
                each for each in fields if each in part.get("required", ()) or draw(st.booleans())
            ]
            return {name: draw(arguments(fields[name])) for name in names}
        case "array":
            return [draw(arguments(part["items"])) for _ in range(draw(st.integers(0, 2)))]
        case "integer" | "number":
            return draw(st.integers(-2, 2) | st.sampled_from([1.0, 0.5, 10**6]))
        case "boolean":
            return draw(st.booleans())
        case _:
            return draw(st.text(max_size=3))


@settings(deadline=None)
@given(st.data())
@pytest.mark.remaining
def test_call_that_converts_to_its_struct_matches_the_schema(data):
    """So a call is validated by its schema only to describe a mistake."""
    for tool in TOOLS:
        given_arguments = data.draw(arguments(tool.definition.input_schema))
        if not isinstance(given_arguments, dict):
            continue
        try:
            tool.parse(given_arguments)
        except ToolError:
            continue
        assert list(iter_problems(tool.definition.input_schema, given_arguments)) == []
