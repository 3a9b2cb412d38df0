import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.strategies import any_messages, few, histories
from yourtool.messages.blocks import (
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.invariants import validate_message, validate_session
from yourtool.messages.message import MESSAGE_TYPES, Role, now
from yourtool.messages.metadata import (
    MessageStatus,
    PromptMetadata,
    ReplyMetadata,
    ResultMetadata,
    RoutingDecisionRecord,
    RoutingMode,
)
from yourtool.messages.usage import Usage

TEXT = TextBlock("words")
CALL = ToolUseBlock("tu_1", "read_file", {})
RESULT = ToolResultBlock("tu_1", (TEXT,))
BLOCKS = {
    "text": TEXT,
    "image": ImageBlock(ImageSource("url", "https://x.test/a.png"), "image/png"),
    "tool_use": CALL,
    "thinking": ThinkingBlock("hm"),
    "redacted_thinking": RedactedThinkingBlock("..."),
    "tool_result": RESULT,
}
PERMITTED = {
    Role.USER: {"text", "image"},
    Role.ASSISTANT: {"text", "tool_use", "thinking", "redacted_thinking"},
    Role.TOOL: {"tool_result"},
    Role.SYSTEM: {"text"},
}
METADATA = {
    Role.USER: PromptMetadata(),
    Role.SYSTEM: PromptMetadata(),
    Role.TOOL: ResultMetadata(parent_tool_use_id="tu_1"),
    Role.ASSISTANT: ReplyMetadata(
        model="openai:gpt-5",
        provider="openai",
        routing=RoutingDecisionRecord(
            mode=RoutingMode.DEFAULT, chosen_model="openai:gpt-5", reason="global default"
        ),
        usage=Usage(input_tokens=1, output_tokens=1, cost_usd=0, pricing_version="", latency_ms=1),
    ),
}


def message(role, *content, **changes):
    return MESSAGE_TYPES[role](
        id="m",
        session_id="s",
        role=role,
        content=content,
        metadata=replace(METADATA[role], **changes),
        created_at=now(),
    )


def codes(problems):
    return [problem.partition(":")[0] for problem in problems]


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
@pytest.mark.req("R-CAN-02")
def test_m1_a_complete_message_needs_content(role):
    assert codes(validate_message(message(role))) == ["M1"]
    assert validate_message(message(role, TEXT)) == []


@pytest.mark.req("R-CAN-02")
def test_m1_a_tool_message_needs_its_result():
    assert codes(validate_message(message(Role.TOOL))) == ["M1", "M3"]
    assert validate_message(message(Role.TOOL, RESULT)) == []


@pytest.mark.req("R-CAN-02")
def test_m2_only_a_system_message_may_be_empty():
    assert validate_message(message(Role.SYSTEM)) == []
    assert validate_message(message(Role.SYSTEM, TEXT)) == []


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.req("R-CAN-02")
def test_m3_each_role_has_its_blocks(role, kind):
    expected = [] if kind in PERMITTED[role] else ["M3"]
    assert codes(validate_message(message(role, BLOCKS[kind]))) == expected


@pytest.mark.req("R-CAN-02")
def test_m3_a_tool_message_contains_exactly_one_result():
    assert codes(validate_message(message(Role.TOOL, RESULT, RESULT))) == ["M3"]


@pytest.mark.req("R-CAN-02")
def test_m4_order_is_part_of_a_message():
    assert message(Role.USER, TEXT, BLOCKS["image"]) != message(Role.USER, BLOCKS["image"], TEXT)


@pytest.mark.parametrize(
    ("field", "code"), [("model", "D1"), ("provider", "D1"), ("routing", "D2"), ("usage", "D3")]
)
@pytest.mark.req("R-CAN-02", "D1")
def test_d1_to_d3_a_complete_reply_names_its_model_routing_and_usage(field, code):
    assert codes(validate_message(message(Role.ASSISTANT, TEXT, **{field: None}))) == [code]
    assert validate_message(message(Role.ASSISTANT, TEXT)) == []


@pytest.mark.parametrize("status", [MessageStatus.CANCELLED, MessageStatus.ERROR])
def test_an_incomplete_reply_is_only_checked_for_its_blocks(status):
    lacking = {"model": None, "routing": None, "usage": None, "status": status}
    assert validate_message(message(Role.ASSISTANT, **lacking)) == []
    assert codes(validate_message(message(Role.ASSISTANT, RESULT, **lacking))) == ["M3"]


@pytest.mark.parametrize("parent", [None, "tu_other"])
@pytest.mark.req("R-CAN-02", "D4")
def test_a_tool_message_names_the_call_it_answers(parent):
    assert codes(validate_message(message(Role.TOOL, RESULT, parent_tool_use_id=parent))) == ["D4"]


@few
@given(any_messages)
@pytest.mark.req("R-CAN-02")
def test_m5_a_partial_message_has_no_problems(any_message):
    partial = replace(any_message.metadata, status=MessageStatus.PARTIAL)
    assert validate_message(replace(any_message, metadata=partial)) == []


@pytest.mark.req("R-CAN-02")
def test_every_problem_is_reported():
    broken = message(Role.ASSISTANT, RESULT, model=None, routing=None, usage=None)
    assert codes(validate_message(broken)) == ["M3", "D1", "D2", "D3"]


@pytest.mark.req("R-CAN-03")
def test_a_call_with_its_result_is_valid():
    assert validate_session([message(Role.ASSISTANT, CALL), message(Role.TOOL, RESULT)]) == []


@pytest.mark.req("R-CAN-03", "T1")
def test_a_call_id_of_a_provider_is_reported():
    call = ToolUseBlock("toolu_1", "read_file", {})
    result = ToolResultBlock("toolu_1", ())
    history = [message(Role.ASSISTANT, call), message(Role.TOOL, result)]
    assert codes(validate_session(history)) == ["T1"]


@pytest.mark.req("R-CAN-03", "T2")
def test_a_result_without_its_call_is_reported():
    assert codes(validate_session([message(Role.TOOL, RESULT)])) == ["T2"]


@pytest.mark.req("R-CAN-03", "T3")
def test_two_results_are_reported():
    history = [message(Role.ASSISTANT, CALL), *[message(Role.TOOL, RESULT)] * 2]
    assert codes(validate_session(history)) == ["T3"]


@pytest.mark.req("R-CAN-03")
def test_a_call_without_a_result_is_reported():
    assert validate_session([message(Role.ASSISTANT, CALL)]) == ["unanswered: `tu_1` has no result"]


@few
@given(histories())
@pytest.mark.req("R-CAN-03")
@pytest.mark.remaining
def test_legal_conversations_have_no_problems(history):
    assert [validate_message(each) for each in history] == [[]] * len(history)
    assert validate_session(history) == []


@few
@given(histories())
@pytest.mark.req("R-CAN-03")
@pytest.mark.remaining
def test_a_removed_result_is_always_reported(history):
    for number, each in enumerate(history):
        if each.role is Role.TOOL:
            lacking = (*history[:number], *history[number + 1 :])
            assert codes(validate_session(lacking)) == ["unanswered"]
