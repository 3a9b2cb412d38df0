"""The options of a request in every dialect."""

import json
import logging

import pytest
from msgspec.structs import replace

from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import build_full_history
from tests.providers.recorded_exchanges import READ, model, problems, request
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import ForcedTool
from yourtool.providers.requests.output_schema import is_strict

OTHER = replace(READ, name="list_files")
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "Who."},
        "size": {"type": "array", "items": {"type": "integer", "maximum": 9}},
    },
    "required": ["name", "size"],
}
CLOSED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": 'Who. Must match {"minLength":1}.'},
        "size": {"type": "array", "items": {"type": "integer", "maximum": 9}},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
PLAIN = {
    **CLOSED,
    "properties": {
        **CLOSED["properties"],
        "size": {
            "type": "array",
            "items": {"type": "integer", "description": 'Must match {"maximum":9}.'},
        },
    },
}
STRICT = {"name": "reply", "schema": CLOSED, "strict": True}


def wire(station, **outgoing):
    target = outgoing.pop("model", station.model)
    body = (
        station.dialect()
        .to_wire(request(target, build_full_history(target), (READ, OTHER), **outgoing))
        .body
    )
    assert problems(*station.api, body) == []
    return json.loads(body)


CHOICES = {
    "anthropic": ("tool_choice", {"type": "any"}, {"type": "none"},
                  {"type": "tool", "name": "read_file"}),
    "openai chat": ("tool_choice", "required", "none",
                    {"type": "function", "function": {"name": "read_file"}}),
    "openrouter": ("tool_choice", "required", "none",
                   {"type": "function", "function": {"name": "read_file"}}),
    "openai responses": ("tool_choice", "required", "none",
                         {"type": "function", "name": "read_file"}),
    "google": ("toolConfig", {"functionCallingConfig": {"mode": "ANY"}},
               {"functionCallingConfig": {"mode": "NONE"}},
               {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}),
}  # fmt: skip


@pytest.mark.parametrize("dialect", CHOICES)
@pytest.mark.req("D18")
def test_tool_choice_has_the_form_of_the_dialect(dialect):
    station, (field, *words) = SWAP_TARGETS[dialect], CHOICES[dialect]
    assert field not in wire(station)
    for choice, word in zip(("any", "none", ForcedTool("read_file")), words, strict=True):
        body = wire(station, tool_choice=choice)
        assert body[field] == word
        assert len(body["tools"]) == len(wire(station)["tools"])


@pytest.mark.parametrize(
    ("choice", "names"),
    [("any", ["read_file", "list_files"]), ("none", []), (ForcedTool("read_file"), ["read_file"])],
)
@pytest.mark.req("D18")
def test_ollama_gets_only_the_tools_of_the_tool_choice(choice, names):
    body = wire(SWAP_TARGETS["ollama"], tool_choice=choice)
    assert [tool["function"]["name"] for tool in body.get("tools", ())] == names


@pytest.mark.parametrize("dialect", SWAP_TARGETS)
@pytest.mark.req("D18")
def test_request_without_tools_has_no_tool_choice(dialect):
    station = SWAP_TARGETS[dialect]
    outgoing = request(station.model, build_full_history(station.model), tool_choice="any")
    body = station.dialect().to_wire(outgoing).body
    assert problems(*station.api, body) == []
    assert not {"tool_choice", "toolConfig"} & json.loads(body).keys()


@pytest.mark.parametrize(
    ("form", "levels", "thinking"),
    [("budget", (), None), ("adaptive", ("off", "high"), {"type": "disabled"})],
)
@pytest.mark.req("R-ADP-17")
def test_reasoning_is_off_for_a_forced_tool_call(form, levels, thinking):
    target = model("anthropic", "x", thinking=form, thinking_levels=levels)
    body = wire(SWAP_TARGETS["anthropic"], model=target, tool_choice="any", effort="high",
                temperature=0.5, max_output_tokens=64_000)  # fmt: skip
    assert body["tool_choice"] == {"type": "any"}
    assert body.get("thinking") == thinking
    assert body["temperature"] == 0.5


@pytest.mark.req("R-ADP-17")
def test_model_with_permanent_reasoning_gets_no_forced_tool_call_and_a_warning(caplog):
    target = model("anthropic", "x", thinking="adaptive", thinking_levels=("low", "high"))
    with caplog.at_level(logging.WARNING):
        body = wire(SWAP_TARGETS["anthropic"], model=target, tool_choice=ForcedTool("read_file"))
    assert "tool_choice" not in body
    assert "`anthropic:x` always reasons" in caplog.text


@pytest.mark.parametrize("form", ["adaptive", "budget"])
@pytest.mark.req("R-ADP-17")
def test_effort_off_has_the_form_of_the_model(form):
    target = model("anthropic", "x", thinking=form, thinking_levels=("off", "high"))
    body = wire(SWAP_TARGETS["anthropic"], model=target, effort="off", temperature=0.5)
    assert body.get("thinking") == ({"type": "disabled"} if form == "adaptive" else None)
    assert "output_config" not in body
    assert body["temperature"] == 0.5


@pytest.mark.parametrize(
    ("dialect", "field", "value"),
    [
        ("openai chat", "reasoning_effort", "none"),
        ("openrouter", "reasoning", {"effort": "none"}),
        ("openai responses", "reasoning", {"effort": "none"}),
        ("ollama", "think", False),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_reasoning_can_be_disabled(dialect, field, value):
    station = SWAP_TARGETS[dialect]
    target = replace(station.model, thinking_levels=("off", "high"))
    assert wire(station, model=target, effort="off")[field] == value


@pytest.mark.req("R-ADP-17")
def test_reasoning_budget_of_zero_disables_reasoning():
    target = model("google", "x", thinking="budget", thinking_levels=("off", "high"))
    config = wire(SWAP_TARGETS["google"], model=target, effort="off")["generationConfig"]
    assert config["thinkingConfig"] == {"includeThoughts": False, "thinkingBudget": 0}


def test_every_dialect_sends_the_output_schema():
    found = {
        dialect: wire(station, output_schema=SCHEMA) for dialect, station in SWAP_TARGETS.items()
    }
    shape = {"type": "json_schema", "json_schema": STRICT}
    assert found["anthropic"]["output_config"] == {
        "format": {"type": "json_schema", "schema": PLAIN}
    }
    assert (
        found["openai chat"]["response_format"] == found["openrouter"]["response_format"] == shape
    )
    assert found["openai responses"]["text"] == {"format": {"type": "json_schema", **STRICT}}
    config = found["google"]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == CLOSED
    assert found["ollama"]["format"] == {**SCHEMA, "additionalProperties": False}
    assert "tools" not in found["ollama"]


def test_output_schema_and_effort_are_sent_together():
    target = model("anthropic", "x", thinking="adaptive")
    body = wire(SWAP_TARGETS["anthropic"], model=target, effort="high", output_schema=SCHEMA)
    assert body["output_config"].keys() == {"effort", "format"}


def test_schema_with_optional_properties_is_not_strict():
    optional = {**SCHEMA, "required": ["name"]}
    body = wire(SWAP_TARGETS["openai chat"], output_schema=optional)
    assert body["response_format"]["json_schema"]["strict"] is False
    nested = {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}
    assert not is_strict({**CLOSED, "properties": {"a": nested}, "required": ["a"]})


@pytest.mark.parametrize("dialect", SWAP_TARGETS)
def test_every_object_of_an_output_schema_forbids_additional_properties(dialect):
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    open_object = {**inner, "additionalProperties": True}
    del open_object["type"]
    nested_schema = {
        "type": "object",
        "properties": {"one": open_object, "many": {"type": "array", "items": open_object}},
        "required": ["one", "many"],
        "additionalProperties": True,
    }
    body = json.dumps(wire(SWAP_TARGETS[dialect], output_schema=nested_schema))
    assert body.count('"additionalProperties": false') == 3
    assert '"additionalProperties": true' not in body


def test_model_without_effort_gets_none():
    station = SWAP_TARGETS["anthropic"]
    plain = model("anthropic", "x", thinking="adaptive", capabilities=AdapterCapabilities())
    outgoing = request(
        plain, build_full_history(plain)[6:], (READ,), effort="off", tool_choice="any"
    )
    assert "thinking" not in json.loads(station.dialect().to_wire(outgoing).body)
