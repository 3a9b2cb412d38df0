import json

import pytest
from hypothesis import given, settings

from tests.doubling import LINEAR, growth
from tests.foundation.test_json_schema import SCHEMAS, has_reference
from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import build_full_history
from tests.providers.recorded_exchanges import problems, request
from tests.server_tools import SERVER_TOOLS
from tests.strategies import examples, json_values
from tests.validator.validate import errors, validate
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.dialects.chat.spec import SPEC as CHAT
from yourtool.providers.dialects.generate_content.spec import SPEC as GOOGLE
from yourtool.providers.dialects.messages.spec import SPEC as MESSAGES
from yourtool.providers.dialects.ollama.spec import SPEC as OLLAMA
from yourtool.providers.dialects.responses.spec import SPEC as RESPONSES
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.requests.tool_schema import lower_schema, remember_schemas
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.schema import subset_problems

SPECS = [CHAT, GOOGLE, MESSAGES, OLLAMA, RESPONSES]
WITH_FULL_SUBSET = [CHAT, MESSAGES, OLLAMA, RESPONSES]
TEXT = {"type": "string"}


def each_dialect(specs):
    return pytest.mark.parametrize("spec", specs, ids=lambda spec: spec.api)


def lowered(part, **more):
    result = lower_schema({"type": "object", "properties": {"x": part}, **more})
    return result.schema["properties"].get("x"), [loss.removeprefix("$.") for loss in result.losses]


@each_dialect(WITH_FULL_SUBSET)
def test_schemas_of_own_tools_are_sent_byte_for_byte(spec: DialectSpec):
    for definition in default_toolbox().definitions:
        result = spec.tool_schema(definition.input_schema)
        assert json.dumps(result.schema) == json.dumps(definition.input_schema)
        assert result.losses == ()


@each_dialect(SPECS)
@pytest.mark.parametrize("name", SERVER_TOOLS)
def test_tools_of_real_servers_keep_their_arguments(spec: DialectSpec, name):
    schema = SERVER_TOOLS[name]
    result = spec.tool_schema(schema)
    assert result.schema.get("properties", {}).keys() == schema["properties"].keys()
    assert result.schema.get("required", []) == schema.get("required", [])
    for property_name, part in schema["properties"].items():
        sent = result.schema["properties"][property_name]
        assert sent.get("description") == part.get("description")
        assert "type" in sent


@pytest.mark.parametrize("name", SERVER_TOOLS)
def test_tools_of_real_servers_are_lowered_into_the_subset(name):
    assert subset_problems(lower_schema(SERVER_TOOLS[name]).schema) == []


@pytest.mark.parametrize(
    ("part", "sent", "losses"),
    [
        (
            {"anyOf": [TEXT, {"type": "null"}], "default": None, "title": "X"},
            {"title": "X", **TEXT},
            ["properties.x: null dropped, because the property is optional"],
        ),
        (
            {"type": ["string", "null"], "maxLength": 2},
            {**TEXT, "maxLength": 2},
            ["properties.x: null dropped, because the property is optional"],
        ),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {**TEXT, "enum": ["a", "b"]}, []),
        (
            {"anyOf": [{"const": "a", "title": "A"}, {"enum": ["b", 1]}]},
            {"enum": ["a", "b", 1]},
            ["properties.x: descriptions of the values dropped"],
        ),
        ({"anyOf": [TEXT, {"minimum": 1}]}, {"anyOf": [TEXT, {"minimum": 1}]}, []),
        (
            {"type": ["string", "array"], "items": TEXT, "description": "d"},
            {"description": "d", "anyOf": [TEXT, {"type": "array", "items": TEXT}]},
            [],
        ),
        (
            {"allOf": [{"properties": {"a": TEXT}, "required": ["a", "b"]}, {"type": "object"}]},
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
            [],
        ),
        (
            {"allOf": [{"minimum": 1}, {"minimum": 2}]},
            {"minimum": 1},
            ["properties.x.allOf: a second `minimum` dropped"],
        ),
        (
            {"prefixItems": [TEXT, {"type": "null"}], "type": "array"},
            {"items": {"anyOf": [TEXT, {"type": "null"}]}, "type": "array"},
            ["properties.x.prefixItems: the positions of items dropped"],
        ),
        ({"type": "array"}, {"type": "array", "items": {}}, []),
        (
            {"type": "object", "properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}]},
            {"type": "object", "properties": {"a": TEXT}},
            ["properties.x.anyOf: dropped"],
        ),
        (
            {"exclusiveMinimum": 0, "pattern": "a", "x-hint": 1, "type": "integer"},
            {"type": "integer"},
            [
                "properties.x.pattern: not supported",
                "properties.x.x-hint: not supported",
                "properties.x.exclusiveMinimum: dropped",
            ],
        ),
        (
            {"additionalProperties": {"anyOf": [TEXT]}, "type": "object"},
            {"additionalProperties": TEXT, "type": "object"},
            [],
        ),
    ],
)  # fmt: skip
def test_every_loss_is_listed(part, sent, losses):
    assert lowered(part) == (sent, losses)


def test_required_property_can_still_be_null():
    part = {"anyOf": [TEXT, {"type": "null"}], "description": "d"}
    sent, losses = lowered(part, required=["x"])
    assert sent == {"description": "d", "anyOf": [TEXT, {"type": "null"}]}
    assert losses == []


def test_root_is_always_one_object():
    alternatives = [
        {"properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        {"properties": {"a": TEXT, "c": TEXT}, "required": ["a"]},
    ]
    result = lower_schema({"type": "object", "oneOf": alternatives})
    assert result.schema == {
        "type": "object", "properties": {"a": TEXT, "b": TEXT, "c": TEXT}, "required": ["a"],
    }  # fmt: skip
    assert result.losses == ("$.anyOf: alternatives are joined",)
    assert lower_schema({}).schema == {"type": "object", "properties": {}}
    assert lower_schema({"type": "array", "items": TEXT}).losses == (
        "$.type: the root must be an object",
        "$.items: dropped",
    )


def test_property_name_that_a_format_rejects_is_dropped_and_listed():
    schema = {"type": "object", "properties": {"$filter": TEXT, "a": TEXT}, "required": ["$filter"]}
    result = MESSAGES.tool_schema(schema)
    assert result.schema == {"type": "object", "properties": {"a": TEXT}, "required": []}
    assert result.losses == ("$.properties.$filter: dropped, because of its name",)
    assert CHAT.tool_schema(schema).schema == schema


def test_losses_for_google_are_listed():
    schema = {"type": "object", "properties": {"x": {"enum": [1, 2], "minimum": 1}, "y": {}}}
    assert GOOGLE.tool_schema(schema).losses == (
        "$.properties.x.minimum: dropped",
        "$.properties.x: sent with the type integer",
        "$.properties.x.enum: moved to the description",
        "$.properties.y: sent with the type string",
    )


@pytest.mark.parametrize(
    "sized",
    [
        lambda size: {"allOf": [{"properties": {f"a{n}": {}}} for n in range(size)]},
        lambda size: {"anyOf": [{"properties": {f"a{n}": {}}} for n in range(size)]},
        lambda size: {"properties": {f"a{n}": {"type": ["object", "array"]} for n in range(size)}},
    ],
)
def test_lowering_takes_linear_time(sized):
    assert growth(GOOGLE.tool_schema, sized, 400) < LINEAR


@each_dialect(SPECS)
@settings(max_examples=examples(50), deadline=None)
@given(SCHEMAS | json_values, SCHEMAS)
def test_any_json_becomes_a_schema_that_the_format_accepts(spec, part, definition):
    for schema in (part, {"properties": {"x": part}, "$defs": {"a": definition}}):
        sent = spec.tool_schema(schema).schema
        assert not has_reference(sent)
        if sent:
            assert sent["type"] == "object"
            assert isinstance(sent["properties"], dict)


@settings(max_examples=examples(30), deadline=None)
@given(SCHEMAS | json_values)
def test_any_json_passes_the_validators_of_requests(part):
    tool = {"name": "f", "description": "d", "input_schema": MESSAGES.tool_schema(part).schema}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    assert errors(validate("anthropic", "messages", {**body, "tools": [tool]})) == []


def server_tool(name, schema):
    return ToolDefinition(
        name=name,
        description="From a server.",
        input_schema=schema,
        side_effects=SideEffects.NETWORK,
    )


@pytest.mark.parametrize("dialect", SWAP_TARGETS)
def test_formats_accept_the_names_and_schemas_of_real_servers(dialect):
    station = SWAP_TARGETS[dialect]
    tools = tuple(server_tool(name, schema) for name, schema in SERVER_TOOLS.items())
    body = (
        station.dialect()
        .to_wire(request(station.model, build_full_history(station.model), tools))
        .body
    )
    assert problems(*station.api, body) == []
    for name in SERVER_TOOLS:
        assert f'"name":"{name}"'.encode() in body


@settings(max_examples=examples(50), deadline=None)
@given(SCHEMAS | json_values)
def test_size_of_any_json_can_be_estimated(part):
    for name in ("anthropic:claude", "openai:gpt-5", "google:gemini", "ollama:x"):
        assert estimate_tokens((), [server_tool("f", part)], name) > 0


def test_schema_of_a_tool_is_lowered_once():
    lowered = []

    def lower(schema):
        lowered.append(schema)
        return lower_schema(schema)

    schemas = [{"type": "object", "properties": {"a": {"type": kind}}} for kind in ("null", "null")]
    remembering = remember_schemas(lower)
    results = [remembering(schema) for schema in (*schemas, *schemas)]
    assert lowered == schemas
    assert results[0] is results[2] and results[1] is results[3]
    assert results[0] == lower_schema(schemas[0])
    for number in range(3_000):  # the place of one that is freed is used by another
        name = f"a{number}"
        schema = {"type": "object", "properties": {name: {"type": "string"}}}
        assert name in remembering(schema).schema["properties"]
