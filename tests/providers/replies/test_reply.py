import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.recorded_exchanges import complete, model, request
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer
from yourtool.errors import NetworkError
from yourtool.events.deltas import (
    MessageStart,
    StreamError,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    TokenUsage,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.replies.arguments import parse_arguments
from yourtool.providers.replies.reply import Reply

KEYS = st.sampled_from([None, 0, 1, 2])
CALLS = st.sampled_from(["a", "b", "c"])
FRAGMENTS = st.sampled_from(
    ["", "{", "}", '{"x": 1}', '"x": "\\u0000"', "[1]", " ", "null", "\ud83d"]
)
STEPS = st.one_of(
    st.tuples(st.just("add_text"), st.text(max_size=3), KEYS),
    st.tuples(st.just("add_thinking"), st.text(max_size=3), KEYS),
    st.tuples(st.just("add_signature"), st.text(max_size=3), KEYS),
    st.tuples(st.just("add_redacted_thinking"), st.text(max_size=3)),
    st.tuples(
        st.just("start_call"),
        CALLS,
        st.sampled_from([None, "", "id1", "id2"]),
        st.sampled_from(["", "f"]),
    ),
    st.tuples(st.just("add_arguments"), CALLS, FRAGMENTS),
    st.tuples(st.just("close_call"), CALLS),
    st.tuples(st.just("update_usage"), st.just(TokenUsage(input_tokens=1, output_tokens=1))),
)
ENDS = st.sampled_from(["finish", "cancel", "fail"])


def new_reply():
    return Reply(request(model("openai")))


@given(st.lists(STEPS, max_size=30), ENDS)
def test_events_are_valid_for_any_input_and_end(steps, end):
    reply, events = new_reply(), []
    for name, *arguments in steps:
        events += getattr(reply, name)(*arguments)
    if end == "fail":
        events += reply.fail(NetworkError("gone"))
    else:
        events += getattr(reply, end)()
    assert broken_rules(events) == []
    if events:
        complete_event = complete(events)
        calls = [block for block in complete_event.final_content if isinstance(block, ToolUseBlock)]
        ends = {
            event.tool_use_id: event.final_input
            for event in events
            if isinstance(event, ToolUseEnd)
        }
        assert {call.id: call.input for call in calls} == ends
        assert complete_event.tool_input_errors.keys() <= ends.keys()


def test_interleaved_calls_are_emitted_one_after_the_other():
    reply = new_reply()
    events = [
        *reply.start_call("a", "1", "f"),
        *reply.start_call("b", "2", "g"),
        *reply.add_arguments("a", '{"x":'),
        *reply.add_arguments("b", '{"y":'),
        *reply.add_arguments("a", "1}"),
        *reply.add_arguments("b", "2}"),
        *reply.close_calls(),
        *reply.finish(),
    ]
    assert broken_rules(events) == []
    shape = [type(event) for event in events if not isinstance(event, MessageStart)]
    one_call = [ToolUseStart, ToolUseInputDelta, ToolUseInputDelta, ToolUseEnd]
    assert shape[:8] == one_call * 2
    assert [event.final_input for event in events if isinstance(event, ToolUseEnd)] == [
        {"x": 1},
        {"y": 2},
    ]


def test_complete_arguments_release_the_next_block():
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", "{}")
    events = reply.start_call("b", "2", "g")
    assert [type(event) for event in events] == [ToolUseEnd, ToolUseStart]


def test_arguments_after_the_end_of_a_call_are_ignored_and_logged(caplog):
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", "{}")
    reply.close_call("a")
    assert reply.add_arguments("a", "}") == []
    assert "came after their end" in caplog.text


def test_late_text_is_in_the_final_content():
    reply = new_reply()
    reply.add_text("one", key=0)
    reply.add_text("two", key=1)
    assert reply.add_text(" more", key=0) == []
    assert complete(reply.finish()).final_content == (TextBlock("one more"), TextBlock("two"))


def test_reasoning_without_text_has_its_signature():
    reply = new_reply()
    events = [*reply.add_signature("sig", key=0), *reply.add_text("hi", key=1), *reply.finish()]
    [delta] = [event for event in events if isinstance(event, ThinkingDelta)]
    assert (delta.text, delta.signature) == ("", "sig")
    assert complete(events).final_content == (ThinkingBlock("", "sig"), TextBlock("hi"))


def test_only_the_last_reasoning_delta_has_the_signature():
    reply = new_reply()
    events = [
        *reply.add_thinking("a", 0),
        *reply.add_thinking("b", 0),
        *reply.add_signature("sig", 0),
    ]
    signatures = [event.signature for event in events if isinstance(event, ThinkingDelta)]
    assert signatures == [None, None, "sig"]


def test_redacted_reasoning_has_an_index_but_no_event():
    reply = new_reply()
    events = [*reply.add_redacted_thinking("xyz"), *reply.add_text("hi"), *reply.finish()]
    [delta] = [event for event in events if isinstance(event, TextDelta)]
    assert delta.content_block_index == 1
    assert complete(events).final_content == (RedactedThinkingBlock("xyz"), TextBlock("hi"))


def test_text_becomes_storable():
    reply = new_reply()
    assert complete([*reply.add_text("a\0b\ud83dc"), *reply.finish()]).final_content == (
        TextBlock("ab\ufffdc"),
    )


def test_message_start_waits_for_content_and_has_the_usage():
    reply = new_reply()
    assert reply.update_usage(TokenUsage(input_tokens=5, output_tokens=0)) == []
    assert [type(event) for event in reply.add_text("hi")] == [
        MessageStart,
        UsageUpdate,
        TextStart,
        TextDelta,
    ]


def test_end_events_of_text_and_reasoning_have_the_full_text():
    reply = new_reply()
    events = [
        *reply.add_thinking("a"),
        *reply.add_thinking("b"),
        *reply.add_text("c"),
        *reply.finish(),
    ]
    edges = ThinkingStart | ThinkingEnd | TextStart | TextEnd
    found = [event for event in events if isinstance(event, edges)]
    where = {"message_id": found[0].message_id}
    assert found == [
        ThinkingStart(**where, content_block_index=0),
        ThinkingEnd(**where, content_block_index=0, text="ab"),
        TextStart(**where, content_block_index=1),
        TextEnd(**where, content_block_index=1, text="c"),
    ]


@pytest.mark.parametrize("end", ["cancel", "fail"])
def test_interrupted_block_has_an_end_event(end):
    reply = new_reply()
    arguments = (NetworkError("cut"),) if end == "fail" else ()
    events = [*reply.add_text("half"), *getattr(reply, end)(*arguments)]
    [last] = [event for event in events if isinstance(event, TextEnd)]
    assert last.text == "half"


def test_empty_reply_is_valid():
    reply = new_reply()
    reply.update_usage(TokenUsage(input_tokens=5, output_tokens=2))
    events = list(reply.finish())
    assert [type(event) for event in events][:2] == [MessageStart, UsageUpdate]
    assert complete(events).final_content == ()
    assert complete(events).stop_reason is StopReason.END_TURN


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{"a": "\\ud83e\\udd8a"}', {"a": "🦊"}),
    ],
)
def test_arguments_are_parsed_as_an_object(raw, value):
    assert parse_arguments(raw) == (value, None)


@pytest.mark.parametrize(
    ("raw", "argument"),
    [
        ('{"path": "a\\u0000b"}', "path"),
        ('{"x": [1, {"b": "\\u0000c"}]}', "x"),
        ('{"x": {"b\\u0000": 1}}', "x"),
        ('{"x\\u0000": 1}', "x\\u0000"),
    ],
)
def test_nul_in_arguments_is_an_error_that_names_the_argument(raw, argument):
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", raw)
    reply.close_call("a")
    done = complete(list(reply.finish()))
    [call] = done.final_content
    assert call.input == {}
    assert f"`{argument}` contains a NUL character" in done.tool_input_errors[call.id].error


def test_raw_nul_in_arguments_is_not_removed():
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", '{"path": "a\0b"}')
    done = complete(list(reply.finish()))
    [call] = done.final_content
    assert call.input == {}
    assert "not JSON" in done.tool_input_errors[call.id].error


def test_nul_in_a_tool_name_does_not_match_another_tool():
    reply = new_reply()
    reply.start_call("a", "1", "sh\0ell")
    [call] = complete([*reply.add_arguments("a", "{}"), *reply.finish()]).final_content
    assert call.name == "sh\ufffdell"


@pytest.mark.parametrize("pieces", [["a\0b"], ["a", "\0", "b"]])
def test_signed_thinking_keeps_its_nul_characters(pieces):
    reply = new_reply()
    for piece in pieces:
        reply.add_thinking(piece)
    events = [*reply.add_signature("sig\0"), *reply.finish()]
    assert complete(events).final_content == (ThinkingBlock("a\0b", "sig\0"),)


def test_changed_reasoning_loses_its_signature():
    reply = new_reply()
    reply.add_thinking("a\ud83dc")
    events = [*reply.add_signature("sig"), *reply.finish()]
    assert complete(events).final_content == (ThinkingBlock("a\ufffdc", None),)


def test_opaque_blocks_keep_their_nul_characters():
    reply = new_reply()
    reply.add_server_block("s", {"type": "sealed", "data": "a\0"})
    reply.extend_server_block("s", "data", "\0b")
    reply.add_text("hi", "t")
    reply.add_note("t", {"signature": "\0"})
    raw = complete(list(reply.finish())).provider_raw
    assert raw["blocks"][0]["block"]["data"] == "a\0\0b"
    assert raw["notes"]["0"] == [{"signature": "\0"}]


@pytest.mark.parametrize(
    "raw",
    [
        "{",
        '{"a": 1',
        '{"a": "\\ud83d',
        "[1]",
        "null",
        "1",
        '"x"',
        "true",
        "{} {}",
        "[" * 10_000,
        '{"a": NaN, "b": "\\ud83d"}',
        '["\\ud83d"]',
        '{"a": 1e999}',
    ],
)
def test_invalid_arguments_give_an_error(raw):
    value, error = parse_arguments(raw)
    assert value == {}
    assert error


def test_invalid_arguments_become_empty_with_the_raw_text():
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", '["x"]')
    reply.add_arguments("a", " " * 5_000)
    complete_event = complete(reply.finish())
    [call] = complete_event.final_content
    assert call.input == {}
    error = complete_event.tool_input_errors[call.id]
    assert error.raw.startswith('["x"]')
    assert len(error.raw) == 2_000
    assert error.error == "the arguments are not a JSON object but an array"
    assert not error.truncated


def test_last_call_of_a_reply_cut_by_the_output_limit_never_runs():
    reply = new_reply()
    for key in "ab":
        reply.start_call(key, key, "f")
        reply.add_arguments(key, '{"path": "x"}')
        reply.close_call(key)
    reply.stop_reason = StopReason.MAX_TOKENS
    complete_event = complete(reply.finish())
    first, last = complete_event.final_content
    assert list(complete_event.tool_input_errors) == [last.id]
    assert complete_event.tool_input_errors[last.id].truncated
    assert first.input == last.input == {"path": "x"}


def test_arguments_cut_by_the_output_limit_have_an_error():
    reply = new_reply()
    reply.start_call("a", "1", "f")
    reply.add_arguments("a", '{"path": "x')
    reply.stop_reason = StopReason.MAX_TOKENS
    [error] = complete(reply.finish()).tool_input_errors.values()
    assert error.truncated
    assert "token limit" in error.error


def test_calls_have_canonical_ids_that_map_to_wire_ids():
    outgoing = request(model("openai"))
    reply = Reply(outgoing)
    [_, start] = reply.start_call("a", "call_9", "f")
    assert start.tool_use_id.startswith("tu_")
    assert outgoing.tool_ids.issued_id("openai", start.tool_use_id) == "call_9"


def test_failed_reply_without_content_has_no_events(caplog):
    caplog.set_level(logging.ERROR)
    reply = new_reply()
    reply.update_usage(TokenUsage(input_tokens=5, output_tokens=0))
    assert list(reply.fail(NetworkError("gone"))) == []


def test_failed_reply_ends_with_its_error():
    reply = new_reply()
    reply.add_text("half")
    events = list(reply.fail(NetworkError("gone")))
    assert complete(events).stop_reason is StopReason.ERROR
    assert events[-1] == StreamError(
        message_id="01M", error_class="network", message="gone", retryable=True, status=None
    )


@pytest.mark.parametrize("output", [0, 90])
@pytest.mark.req("R-ADP-13")
def test_prompt_with_0_tokens_is_estimated(output):
    """Proxies fill in zeros, and Gemini sometimes counts the answer alone."""
    outgoing = [Writer().message(Role.USER, [TextBlock("Some words of a question.")])]
    reply = Reply(request(model("openai"), outgoing))
    reply.add_text("Some words of an answer.", 0)
    reply.update_usage(TokenUsage(input_tokens=0, output_tokens=output))
    usage = complete([*reply.finish()]).usage
    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens == (output or 5)
