"""One odd part of an answer of a server costs only itself."""

import json

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from yourtool.tools.mcp.answer_repairs import AnswerRepairs
from yourtool.tools.servers.projection import MAX_TOOLS

GOOD = {"name": "good", "description": "A good one", "inputSchema": {"type": "object"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def repair(result):
    repairs = AnswerRepairs()
    answer = mcp_types.JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    received = repairs.repair(SessionMessage(answer))
    return received.message.result, repairs.take_dropped()


@pytest.mark.parametrize(
    ("schema", "is_kept"),
    [
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, True),
        ({}, True),
        ({"type": "string"}, True),
        ("not a schema", False),
        (7, False),
        (None, False),
        ([], False),
    ],
)
def test_tool_with_an_odd_schema_costs_only_itself_and_is_named(schema, is_kept):
    result, dropped = repair({"tools": [{"name": "bad", "inputSchema": schema}, GOOD]})
    assert [each["name"] for each in result["tools"]] == ["bad", "good"][not is_kept :]
    assert dropped == (() if is_kept else ("`bad`: its `inputSchema` is not an object",))
    mcp_types.ListToolsResult.model_validate(result)


@pytest.mark.parametrize("name", [None, 5, "", [], {}])
def test_tool_without_a_name_costs_only_itself(name):
    result, dropped = repair({"tools": [{"name": name, "inputSchema": {}}, "x", None, GOOD]})
    assert [each["name"] for each in result["tools"]] == ["good"]
    assert dropped == ("`?`: it has no name",) * 3


@pytest.mark.parametrize("field", ["description", "title", "annotations", "icons", "outputSchema"])
def test_optional_field_that_is_not_valid_is_left_out_of_its_tool(field):
    result, _ = repair({"tools": [{**GOOD, field: 5}]})
    [tool] = result["tools"]
    assert field not in tool and tool["name"] == "good"


def test_block_of_an_unknown_kind_becomes_text_beside_the_others():
    text = {"type": "text", "text": "hello"}
    odd = [{"type": "weird", "x": 1}, {"type": "image"}, "x", None, text]
    result, _ = repair({"content": odd, "structuredContent": [1]})
    assert result["content"][-1] == text and "structuredContent" not in result
    assert json.loads(result["content"][0]["text"]) == odd[0]
    assert len(mcp_types.CallToolResult.model_validate(result).content) == 5


def test_prompts_and_resources_that_are_not_valid_are_left_out():
    result, _ = repair({"prompts": [{"name": "a"}, {"title": "b"}], "resources": [5, {"uri": 7}]})
    assert result == {"prompts": [{"name": "a"}], "resources": []}


@given(st.lists(JSON, max_size=4), st.lists(JSON, max_size=4), JSON)
def test_any_answer_is_repaired_to_a_valid_one_with_its_good_parts(tools, blocks, structured):
    result, _ = repair(
        {"tools": [*tools, GOOD], "content": blocks, "structuredContent": structured}
    )
    assert "good" in {each.name for each in mcp_types.ListToolsResult.model_validate(result).tools}
    assert len(mcp_types.CallToolResult.model_validate(result).content) == len(blocks)


def test_only_the_first_of_very_many_parts_are_read():
    result, _ = repair({"tools": [GOOD] * 9_000, "content": [{"type": "odd"}] * 9_000})
    assert len(result["tools"]) == MAX_TOOLS
    assert result["content"][-1]["text"] == "[8,000 more blocks were not read]"


def test_requests_and_errors_are_unchanged():
    request = SessionMessage(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping"))
    assert AnswerRepairs().repair(request) is request
    problem = ValueError("x")
    assert AnswerRepairs().repair(problem) is problem
