import json
import logging

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tests.providers.golden_bodies import build_full_request, check_golden
from tests.providers.histories import as_message, build_full_history, image, reply_metadata
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    cases,
    collect_events,
    complete,
    model,
    play,
    problems,
    request,
)
from tests.strategies import Writer, examples, histories
from tests.validator.validate import validate
from yourtool.errors import NetworkError
from yourtool.events.deltas import ToolUseEnd, ToolUseInputDelta, ToolUseStart
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

QWEN = model("ollama", "qwen3:8b")
OSS = model("ollama", "gpt-oss:20b")


def able(target, **changes):
    capabilities = msgspec.structs.replace(target.capabilities, **changes)
    return msgspec.structs.replace(target, capabilities=capabilities)


def wire(outgoing):
    posted = OllamaDialect().to_wire(outgoing)
    assert posted.path == "/api/chat"
    assert validate("ollama", "chat", json.loads(posted.body)) == []
    return json.loads(posted.body)


def line(message=None, **rest):
    message_of_reply = {"role": "assistant", "content": "", **(message or {})}
    return (
        json.dumps({"model": "m", "message": message_of_reply, "done": False, **rest}).encode()
        + b"\n"
    )


def done(**rest):
    counted = {"prompt_eval_count": 10, "eval_count": 5}
    return line(done=True, **{"done_reason": "stop", **counted, **rest})


def call(name, arguments=None, **rest):
    return {"function": {"name": name, "arguments": arguments or {}}, **rest}


async def play_lines(*lines, outgoing=None):
    speaker = WireAdapter(
        OllamaDialect(), Playback(lines), "ollama", timeouts=StreamTimeouts(linger=0.001)
    )
    return await collect_events(speaker, outgoing or request(QWEN))


@pytest.mark.req("R-ADP-01")
def test_conversation_with_every_block_has_the_golden_body():
    outgoing = build_full_request(QWEN)
    body = OllamaDialect().to_wire(outgoing).body
    assert problems("ollama", "chat", body) == []
    check_golden("ollama/ollama.json", body)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=examples(20))
@given(history=histories())
@pytest.mark.req("R-SWP-02")
def test_every_valid_history_gives_a_valid_request(history):
    logging.disable(logging.WARNING)
    try:
        outgoing = request(QWEN, build_request_view(history, QWEN), (READ,))
        assert problems("ollama", "chat", OllamaDialect().to_wire(outgoing).body) == []
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.req("R-OLL-04")
def test_requested_context_is_that_of_routing_and_not_truncated():
    body = wire(request(able(QWEN, max_context_tokens=12_345), build_full_history(QWEN)))
    assert body["options"]["num_ctx"] == 12_345
    assert body["options"]["num_predict"] == 4096
    assert (body["truncate"], body["shift"]) == (False, False)


@pytest.mark.req("R-OLL-01")
def test_arguments_are_objects_and_results_name_their_tool_in_order():
    messages = wire(request(QWEN, build_full_history(QWEN)))["messages"]
    [calls] = [message["tool_calls"] for message in messages if "tool_calls" in message]
    answers = [message for message in messages if message["role"] == "tool"]
    assert calls[0]["function"]["arguments"] == {"a": "ü", "limit": 5, "path": "b.txt"}
    assert [each["id"] for each in calls] == [each["tool_call_id"] for each in answers]
    assert {each["tool_name"] for each in answers} == {"read_file"}
    assert [each["content"] for each in answers] == ["one\ntwo", "Error: `path` is required"]


@pytest.mark.req("R-OLL-05")
def test_model_without_tools_gets_none():
    assert "tools" in wire(request(QWEN, build_full_history(QWEN), (READ,)))
    assert "tools" not in wire(
        request(able(QWEN, supports_tools=False), build_full_history(QWEN), (READ,))
    )


@pytest.mark.req("R-ADP-05")
def test_images_are_plain_base64_and_addresses_are_dropped_with_a_warning(caplog):
    messages = wire(request(QWEN, build_full_history(QWEN)))["messages"]
    with_images = [message for message in messages if "images" in message]
    assert [message["content"] for message in with_images] == [
        "What is in this picture?",
        "The images that the tools returned:",
    ]
    assert caplog.records[-1].reason == "the server does not fetch images"
    outgoing = request(QWEN, [Writer().message(Role.USER, [image("https://x.example/a", "url")])])
    assert wire(outgoing)["messages"][0]["content"] == "(an image that could not be shown to you)"


def test_result_with_images_only_refers_to_them():
    writer = Writer()
    use = writer.tool_use_id()
    history = [
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, "look", {})]),
        writer.message(Role.TOOL, [ToolResultBlock(use, (image(),))]),
    ]
    _, answer, with_images = wire(request(QWEN, history))["messages"]
    assert (answer["content"], len(with_images["images"])) == ("(see the images below)", 1)


@pytest.mark.parametrize(
    ("target", "effort", "think"),
    [
        (QWEN, None, None),
        (QWEN, "so-so", None),
        (QWEN, "low", True),
        (OSS, "low", "low"),
        (OSS, "max", "high"),
        (OSS, None, None),
        (able(QWEN, supports_thinking=False), "high", None),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_effort_has_the_form_of_the_model(target, effort, think):
    assert wire(request(target, build_full_history(target), effort=effort)).get("think") == think


@pytest.mark.parametrize("name", cases(["ollama-chat-thinking-stream", "ollama-chat-f22fb06d"]))
async def test_reasoning_is_replayed(name):
    events, _ = await play(name)
    thinking, *_ = complete(events).final_content
    history = [as_message(complete(events), QWEN, Writer())]
    [_, message_of_reply, *_] = wire(request(QWEN, build_request_view(history, QWEN)))["messages"]
    assert isinstance(thinking, ThinkingBlock)
    assert message_of_reply["thinking"] == thinking.text


@pytest.mark.req("R-OLL-01")
async def test_parallel_calls_in_several_lines_are_complete():
    ids = ToolIdMap()
    events, error = await play_lines(
        line({"tool_calls": [call("f", {"n": 2**60})]}),
        line({"tool_calls": [call("g", index=1), call("f", id="call_x")]}),
        done(),
        outgoing=request(QWEN, tool_ids=ids),
    )
    assert error is None
    reply = complete(events)
    assert [(use.name, use.input) for use in reply.final_content] == [
        ("f", {"n": 2**60}),
        ("g", {}),
        ("f", {}),
    ]
    assert reply.stop_reason is StopReason.TOOL_USE
    assert reply.stop_detail == "stop"
    kinds = (ToolUseStart, ToolUseInputDelta, ToolUseEnd)
    assert [type(event) for event in events if isinstance(event, kinds)] == [*kinds] * 3
    known = [ids.issued_id("ollama", use.id) for use in reply.final_content]
    assert known == [None, None, "call_x"]


async def test_arguments_as_text_are_parsed():
    function = {"name": "f", "arguments": '{"a":1}'}
    events, _ = await play_lines(line({"tool_calls": [{"function": function}]}), done())
    assert complete(events).final_content[0].input == {"a": 1}


@pytest.mark.req("R-OLL-05")
async def test_tool_calls_in_text_stay_text():
    words = '{"name": "shell", "arguments": {"command": "rm -rf /"}}'
    events, _ = await play_lines(line({"content": words}), done())
    assert complete(events).final_content == (TextBlock(words),)
    assert complete(events).stop_reason is StopReason.END_TURN


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("load", StopReason.OTHER),
        ("moonlight", StopReason.OTHER),
        ("", StopReason.END_TURN),
    ],
)
@pytest.mark.req("R-ADP-11")
async def test_stop_reason_is_mapped(word, stop):
    events, error = await play_lines(line({"content": "a"}), done(done_reason=word))
    assert error is None
    assert complete(events).stop_reason is stop


@pytest.mark.req("R-ADP-13")
async def test_uncounted_prompt_is_estimated():
    events, _ = await play_lines(line({"content": "a"}), line(done=True, eval_count=5))
    assert complete(events).usage.estimated
    events, _ = await play_lines(line({"content": "a"}), done())
    usage = complete(events).usage
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (10, 5, False)


async def test_stream_without_last_line_is_an_error():
    events, error = await play_lines(line({"content": "a"}))
    assert isinstance(error, NetworkError)
    assert complete(events).stop_reason is StopReason.ERROR
    assert complete(events).final_content == (TextBlock("a"),)


@pytest.mark.req("R-ADP-09")
async def test_error_in_the_stream_preserves_earlier_text():
    events, error = await play_lines(line({"content": "a"}), b'{"error":"out of memory"}\n')
    assert error is not None
    assert "out of memory" in str(error)
    assert complete(events).final_content == (TextBlock("a"),)


def test_empty_message_is_dropped():
    writer = Writer()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ThinkingBlock("", "x")], reply_metadata(QWEN.id)),
    ]
    assert [each["role"] for each in wire(request(QWEN, history))["messages"]] == ["user"]
