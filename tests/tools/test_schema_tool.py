import pytest
from hypothesis import given, settings

from tests.doubling import LINEAR, growth
from tests.foundation.test_json_schema import SCHEMAS
from tests.server_tools import SERVER_TOOLS
from tests.strategies import examples, json_objects, json_values
from tests.tools.contexts import answer
from yourtool.effects import SideEffects, Subject, ToolDefinition
from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.schema_tool import MAX_CHECKS, SchemaTool
from yourtool.tools.toolset import Toolbox


async def echo(arguments, context):
    return f"{arguments}\0"


def schema_tool(schema, name="tool"):
    return SchemaTool(
        ToolDefinition(
            name=name,
            description="From a server.",
            input_schema=schema,
            side_effects=SideEffects.NETWORK,
            subject_kind="opaque",
        ),
        echo,
    )


def problems(schema, arguments):
    try:
        assert schema_tool(schema).parse(arguments) is arguments
    except ToolError as error:
        assert error.failure is ToolFailure.VALIDATION_ERROR
        return [line[2:] for line in str(error).splitlines() if line.startswith("- ")]
    return []


def test_tools_of_real_servers_are_registered_under_their_names():
    box = Toolbox(schema_tool(schema, name) for name, schema in SERVER_TOOLS.items())
    assert len(box.definitions) == 42
    assert box.get("get-structured-content") is not None


async def test_tool_runs_with_the_arguments_as_written(context):
    tool = schema_tool({"type": "object", "properties": {"a": {"type": "number"}}})
    assert await answer(tool, context, a=1, b=[2]) == "{'a': 1, 'b': [2]}"
    assert tool.subjects({}) == (Subject("opaque"),)
    assert tool.timeout_seconds == 600


@pytest.mark.parametrize(
    ("part", "value", "problem"),
    [
        ({"type": "integer"}, "a", "$.x: expected integer, got string"),
        ({"type": ["integer", "null"]}, "a", "$.x: expected integer or null, got string"),
        ({"enum": ["a", "b"]}, "c", '$.x: must be one of ["a","b"], not "c"'),
        ({"const": 1}, True, "$.x: must be one of [1], not true"),
        ({"minimum": 3}, 2, "$.x: must be at least 3, not 2"),
        ({"minLength": 3}, "a", "$.x: needs at least 3 characters, has 1"),
        ({"items": {"required": ["a", "b"]}}, [{"b": 1}], "$.x[0].a: is required"),
        (
            {"properties": {"a": True}, "additionalProperties": False},
            {"b": 1},
            '$.x.b: unknown field; use one of ["a"]',
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            1,
            "$.x: matches no alternative ($.x: expected string, got integer;"
            " $.x: expected null, got integer)",
        ),
    ],
)
@pytest.mark.req("R-TOOL-02")
def test_problem_names_its_path_and_what_is_expected(part, value, problem):
    assert problems({"properties": {"x": part}}, {"x": value}) == [problem]


def test_all_missing_arguments_are_listed_once():
    schema = {"required": ["a", "b"], "allOf": [{"required": ["b"]}]}
    assert problems(schema, {}) == ["$.a: is required", "$.b: is required"]


def test_regular_expressions_of_a_server_are_never_matched():
    part = {"type": "string", "pattern": "(a+)+$", "format": "regex"}
    schema = {"properties": {"x": part}, "patternProperties": {"(a+)+$": False}}
    assert problems(schema, {"x": "a" * 60 + "!", "a" * 60 + "!": 1}) == []


def test_arguments_too_large_for_the_schema_are_refused_unchecked():
    schema = {"properties": {"x": {"items": {"allOf": [{"minimum": 0}] * 1_000}}}}
    [problem] = problems(schema, {"x": [1] * MAX_CHECKS})
    assert "can be checked" in problem


@pytest.mark.parametrize(
    "sized",
    [
        lambda size: {"x": [1] * size},
        lambda size: {"x": {f"a{n}": n for n in range(size)}},
        lambda size: {f"a{n}": n for n in range(size)},
    ],
)
def test_validating_takes_linear_time(sized):
    part = {"anyOf": [{"items": {"type": "string"}}, {"maxProperties": 0}]}
    schema = {"properties": {"x": part}, "required": ["y"], "additionalProperties": {"minimum": 2}}
    assert growth(lambda arguments: problems(schema, arguments), sized, 200) < LINEAR


@settings(max_examples=examples(100), deadline=None)
@given(SCHEMAS | json_values, json_objects)
def test_no_schema_makes_validation_fail(schema, arguments):
    problems(schema, arguments)
