import json
import logging

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tests.providers.golden_bodies import build_full_request, check_golden
from tests.providers.histories import as_message, build_full_history, image, reply_metadata
from tests.providers.recorded_exchanges import (
    NAMES,
    READ,
    Playback,
    cases,
    collect_events,
    complete,
    exchange,
    expected,
    model,
    play,
    problems,
    recorded,
    request,
)
from tests.strategies import Writer, examples, histories
from yourtool.errors import ServerError
from yourtool.events.deltas import TextDelta
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.models import AdapterCapabilities
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

GPT = model("openai", "gpt-5", accepts_temperature=False)
PLAIN = model(
    "openai",
    "gpt-4.1",
    capabilities=msgspec.structs.replace(GPT.capabilities, supports_thinking=False),
)
RESPONSES = [name for name in NAMES if exchange(name)["api"] == "responses"]
OUTPUTS = [
    name
    for name in RESPONSES
    if exchange(name)["response"]["status"] == 200 and "stream" not in exchange(name)["traits"]
]


def wire(outgoing):
    posted = ResponsesDialect().to_wire(outgoing)
    assert posted.path == "/responses"
    assert problems(outgoing.model.provider, "responses", posted.body) == []
    return json.loads(posted.body)


def sse(*events, named=True):
    return b"".join(
        (f"event: {event['type']}\n" if named else "").encode()
        + f"data: {json.dumps(event)}\n\n".encode()
        for event in events
    )


def item_added(item, **place):
    return {"type": "response.output_item.added", "item": item, **place}


def item_done(item, **place):
    return {"type": "response.output_item.done", "item": item, **place}


def completed_event(output=(), status="completed", **rest):
    response = {"status": status, "output": list(output), **rest}
    return {"type": f"response.{status}", "response": response}


def message_item(words, **rest):
    part = {"type": "output_text", "text": words, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part], **rest}


def call_item(call_id, name, arguments, **rest):
    fields = {"call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "function_call", **fields, **rest}


async def play_events(*events, named=True):
    transport = Playback([sse(*events, named=named)])
    speaker = WireAdapter(
        ResponsesDialect(), transport, "openai", timeouts=StreamTimeouts(linger=0.001)
    )
    return await collect_events(speaker, request(GPT))


@pytest.mark.parametrize(
    ("target", "golden"), [(GPT, "openai_responses.json"), (PLAIN, "openai_responses_plain.json")]
)
@pytest.mark.req("R-ADP-01")
def test_conversation_with_every_block_has_the_golden_body(target, golden):
    outgoing = build_full_request(target)
    posted = ResponsesDialect().to_wire(outgoing)
    assert problems("openai", "responses", posted.body) == []
    check_golden(f"responses/{golden}", posted.body)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=examples(20))
@given(history=histories())
@pytest.mark.req("R-SWP-02")
def test_every_valid_history_gives_a_valid_request(history):
    logging.disable(logging.WARNING)
    try:
        body = wire(request(GPT, build_request_view(history, GPT), (READ,)))
    finally:
        logging.disable(logging.NOTSET)
    assert body["store"] is False


@pytest.mark.req("R-ADP-17")
def test_storage_is_off_and_reasoning_is_included_if_supported():
    body = wire(request(GPT, build_full_history(GPT)))
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert "reasoning" not in body
    assert wire(request(GPT, build_full_history(GPT), effort="low"))["reasoning"]["effort"] == "low"
    assert (
        not {"include", "reasoning"}
        & wire(request(PLAIN, build_full_history(PLAIN), effort="low")).keys()
    )


def test_tools_are_flat_and_not_strict():
    [tool] = wire(request(GPT, build_full_history(GPT), (READ,)))["tools"]
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "read_file", False)


@pytest.mark.req("R-ADP-05")
def test_images_are_in_messages_and_results_and_errors_have_a_prefix():
    items = wire(request(GPT, build_full_history(GPT)))["input"]
    outputs = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert [part["type"] for part in items[0]["content"]] == ["input_text", "input_image"]
    assert [part["type"] for part in outputs[0]] == ["input_text", "input_image"]
    assert outputs[0][1]["image_url"].startswith("data:image/png;base64,")
    assert outputs[1] == "Error: `path` is required"
    writer = Writer()
    use = writer.tool_use_id()
    history = [
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, "f", {})]),
        writer.message(Role.TOOL, [ToolResultBlock(use, (image(),))]),
        writer.message(Role.USER, [image("ftp://x", "url")]),
    ]
    items = wire(request(GPT, history))["input"]
    assert [part["type"] for part in items[1]["output"]] == ["input_image"]
    assert "could not be shown" in items[2]["content"][0]["text"]


@pytest.mark.req("R-ADP-05")
def test_reasoning_without_an_item_is_dropped_with_a_warning(caplog):
    items = wire(request(GPT, build_full_history(GPT)))["input"]
    assert "reasoning" not in [item["type"] for item in items]
    assert [record.block_type for record in caplog.records] == ["thinking", "redacted_thinking"]


def _replayed_items(items):
    """The output of a recorded reply as it must come back."""
    return [
        {name: value for name, value in item.items() if name not in ("id", "status")}
        for item in items
        if item["type"] == "reasoning" and (item.get("encrypted_content") or item.get("content"))
    ]


@pytest.mark.parametrize("name", cases(OUTPUTS))
@pytest.mark.req("R-SWP-03")
async def test_reasoning_items_are_replayed_without_ids(name):
    speaker = model(exchange(name)["provider"])
    ids, writer = ToolIdMap(), Writer()
    events, error = await play(name, outgoing=request(speaker, tool_ids=ids))
    assert error is None
    history = [
        writer.message(Role.USER, [TextBlock("go")]),
        as_message(complete(events), speaker, writer),
        writer.message(Role.USER, [TextBlock("go on")]),
    ]
    output = json.loads(exchange(name)["response"]["body"])["output"]
    body = wire(request(speaker, build_request_view(history, speaker), (READ,), tool_ids=ids))
    reasoning = [item for item in body["input"] if item["type"] == "reasoning"]
    assert reasoning == _replayed_items(output)
    calls = [item for item in body["input"] if item["type"] == "function_call"]
    assert [call["call_id"] for call in calls] == [
        item["call_id"] for item in output if item["type"] in ("function_call", "custom_tool_call")
    ]
    phases = [item.get("phase") for item in body["input"] if item.get("role") == "assistant"]
    assert phases == [item.get("phase") for item in output if item["type"] == "message"]
    for item, after in zip(body["input"], body["input"][1:], strict=False):
        assert item["type"] != "reasoning" or after.get("role") != "user"


@pytest.mark.parametrize(
    "name", cases(["openai-responses-parallel-calls", "openai-responses-15aa374b"])
)
@pytest.mark.req("R-SWP-03", "R-CAN-13")
async def test_reasoning_is_replayed_to_its_model_only(name):
    [reasoning_text, *_] = expected(name)["thinking"]
    sealed = reasoning_text["signature"]
    writer = Writer()
    events, _ = await play(name, outgoing=request(GPT))
    history = [as_message(complete(events), GPT, writer)]
    other = model("openai", "gpt-6")
    assert sealed in json.dumps(wire(request(GPT, build_request_view(history, GPT))))
    assert sealed not in json.dumps(wire(request(other, build_request_view(history, other))))
    away = [*history, writer.message(Role.ASSISTANT, [TextBlock("hi")], reply_metadata(other.id))]
    assert sealed in json.dumps(wire(request(GPT, build_request_view(away, GPT))))


def _reasoning_item(content, notes, blocks=()):
    scope = {"provider": "openai", "api": "responses", "model": GPT.id}
    raw = {"scope": scope, "notes": notes, "blocks": list(blocks)}
    metadata = msgspec.structs.replace(reply_metadata(GPT.id), provider_raw=raw)
    return Writer().message(Role.ASSISTANT, content, metadata)


SEALED = {"type": "reasoning", "summary": [], "encrypted_content": "c2Vh"}


def test_reasoning_is_never_sent_without_a_following_item(caplog):
    thinking = ThinkingBlock("", "c2Vh")
    message = _reasoning_item([TextBlock("a"), thinking], {"1": [{"item": SEALED}]})
    [item] = wire(request(GPT, [message]))["input"]
    assert item["content"][0]["text"] == "a"
    assert caplog.records[-1].reason == "reasoning without a following text or tool call"
    opaque = [{"at": 2, "block": {"type": "compaction", "encrypted_content": "x"}}]
    message = _reasoning_item([TextBlock("a"), thinking], {"1": [{"item": SEALED}]}, opaque)
    items = wire(request(GPT, [message]))["input"]
    assert [item["type"] for item in items] == ["message", "reasoning", "compaction"]


@pytest.mark.parametrize("notes", [3, {"0": 4}, {"0": [{"item": 5}]}, {"0": [{"item": {}}]}])
def test_opaque_blocks_of_unknown_shape_are_ignored(notes):
    message = _reasoning_item([ThinkingBlock("", "c2Vh"), TextBlock("a")], notes)
    assert [item["type"] for item in wire(request(GPT, [message]))["input"]] == ["message"]


def test_items_that_need_a_result_are_not_replayed():
    opaque = [
        {"at": 0, "block": {"type": "local_shell_call", "call_id": "x"}},
        {
            "at": 0,
            "block": {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "x"},
            },
        },
    ]
    items = wire(request(GPT, [_reasoning_item([TextBlock("a")], {}, opaque)]))["input"]
    assert [item["type"] for item in items] == ["web_search_call", "message"]


def test_text_between_calls_moves_before_them():
    writer = Writer()
    uses = [writer.tool_use_id() for _ in range(2)]
    content = [ToolUseBlock(uses[0], "f", {}), TextBlock("and"), ToolUseBlock(uses[1], "f", {})]
    history = build_request_view([writer.message(Role.ASSISTANT, content)], GPT)
    kinds = [item["type"] for item in wire(request(GPT, history))["input"]]
    assert kinds == ["message"] * 2 + ["function_call"] * 2 + ["function_call_output"] * 2


@pytest.mark.parametrize(
    "names",
    [
        ("openai-responses-call-stream", "openai-responses-text-stream"),
        recorded(("openai-responses-90286780",)),
    ],
)
async def test_the_first_of_several_responses_in_one_body_is_the_reply(names):
    bodies = [exchange(name)["response"]["body"].encode() for name in names]
    events, error = await play(names[0], [b"".join(bodies)])
    reply = complete(events)
    assert error is None
    assert reply.stop_reason is StopReason.TOOL_USE
    assert [type(block) for block in reply.final_content] == [ThinkingBlock, ToolUseBlock]


async def test_items_are_identified_by_index():
    events, error = await play_events(
        item_added({"type": "reasoning", "id": "rs_a"}, output_index=0),
        item_done({**SEALED, "id": "rs_b"}, output_index=0),
        item_added(call_item("call_1", "f", "", id="a"), output_index=1),
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "b",
         "delta": '{"x":'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "c",
         "delta": "1}"},
        item_done(call_item("call_1", "f", '{"x":1}', id="d"), output_index=1),
        completed_event([{**SEALED, "id": "rs_c"}, call_item("call_1", "f", '{"x":1}', id="e")]),
    )  # fmt: skip
    assert error is None
    thinking, call = complete(events).final_content
    assert thinking == ThinkingBlock("", "c2Vh")
    assert isinstance(call, ToolUseBlock)
    assert call.input == {"x": 1}


@pytest.mark.parametrize("named", [True, False])
async def test_streams_without_numbers_and_event_names_are_read(named):
    events, error = await play_events(
        item_added(message_item("")),
        {"type": "response.output_text.delta", "delta": "on"},
        {"type": "response.output_text.delta", "delta": "e"},
        item_added(call_item("call_1", "f", "")),
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        item_added(call_item("call_2", "g", "")),
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        completed_event(),
        named=named,
    )
    assert error is None
    text, *calls = complete(events).final_content
    assert text == TextBlock("one")
    assert [call.name for call in calls] == ["f", "g"]


async def test_complete_items_without_pieces_are_read():
    output = [message_item("hello"), call_item("call_1", "f", '{"a":1}')]
    for events in (
        [
            item_done(message_item("hello"), output_index=0),
            item_done(output[1], output_index=1),
            completed_event(),
        ],
        [completed_event(output)],
    ):
        found, error = await play_events(*events)
        assert error is None
        text, call = complete(found).final_content
        assert (text, call.input) == (TextBlock("hello"), {"a": 1})


async def test_text_that_the_end_adds_to_the_pieces_is_emitted():
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    events, _ = await play_events(
        item_added(message_item(""), output_index=0),
        {**delta, "delta": "hel"},
        completed_event([message_item("hello")]),
    )
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hello"]


async def test_lone_surrogate_is_replaced_by_the_full_text():
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    events, _ = await play_events(
        item_added(message_item(""), output_index=0),
        {**delta, "delta": "a\ud83d"},
        {**delta, "delta": "\ude00"},
        item_done(message_item("a\U0001f600"), output_index=0),
        completed_event(),
    )
    assert complete(events).final_content == (TextBlock("a\U0001f600"),)


async def test_reasoning_parts_are_separated_equally_in_pieces_and_documents():
    parts = [{"type": "summary_text", "text": words} for words in ("one", "two")]
    item = {"type": "reasoning", "summary": parts, "encrypted_content": "x"}
    delta = {"type": "response.reasoning_summary_text.delta", "output_index": 0}
    pieces = [
        item_added({**item, "summary": []}, output_index=0),
        {**delta, "summary_index": 0, "delta": "one"},
        {**delta, "summary_index": 1, "delta": "t"},
        {**delta, "summary_index": 1, "delta": "wo"},
        item_done(item, output_index=0),
        completed_event(),
    ]
    for events in (pieces, [completed_event([item])]):
        found, _ = await play_events(*events)
        assert complete(found).final_content == (ThinkingBlock("one\n\ntwo", "x"),)


@pytest.mark.parametrize(
    ("status", "reason", "stop"),
    [
        ("completed", None, StopReason.END_TURN),
        ("incomplete", "max_output_tokens", StopReason.MAX_TOKENS),
        ("incomplete", "content_filter", StopReason.CONTENT_FILTER),
        ("incomplete", None, StopReason.MAX_TOKENS),
        ("incomplete", "moonlight", StopReason.OTHER),
    ],
)
@pytest.mark.req("R-ADP-11")
async def test_stop_reason_is_mapped(status, reason, stop):
    details = {"incomplete_details": {"reason": reason}} if reason else {}
    events, error = await play_events(completed_event([message_item("a")], status, **details))
    assert error is None
    assert complete(events).stop_reason is stop
    assert complete(events).stop_detail == (f"{status}:{reason}" if reason else status)


@pytest.mark.req("R-ADP-09")
async def test_error_in_the_stream_preserves_its_class_and_earlier_text():
    events, error = await play_events(
        item_done(message_item("half"), output_index=0),
        {"type": "error", "error": {"type": "server_error", "message": "broke"}},
        completed_event([], "failed", error={"code": "rate_limit_exceeded", "message": "later"}),
    )
    assert isinstance(error, ServerError)
    assert "broke" in str(error)
    assert complete(events).stop_reason is StopReason.ERROR
    assert complete(events).final_content == (TextBlock("half"),)
    _, error = await play_events(
        completed_event([], "failed", error={"code": "server_error", "message": "x"})
    )
    assert isinstance(error, ServerError)


@pytest.mark.req("R-ADP-06")
async def test_reply_cut_by_the_output_limit_does_not_run_its_last_call():
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    call = call_item("call_1", "f", '{"a":1}')
    events, _ = await play_events(completed_event([call], "incomplete", **details))
    [use] = complete(events).final_content
    assert complete(events).tool_input_errors[use.id].truncated


def test_model_without_images_gets_none_and_no_cache_key():
    blind = model("openai", "gpt-oss", capabilities=AdapterCapabilities())
    text = json.dumps(wire(request(blind, build_full_history(blind))))
    assert "input_image" not in text
    assert "prompt_cache_key" not in text


async def test_moved_text_includes_its_reasoning():
    sealed = [
        {"type": "reasoning", "summary": [], "encrypted_content": text} for text in ("b25l", "dHdv")
    ]
    output = [sealed[0], call_item("c1", "read_file", "{}"), sealed[1], message_item("Done.")]
    events, error = await play_events(completed_event(output))
    assert error is None
    writer = Writer()
    outgoing = writer.message(Role.USER, [TextBlock("?")])
    history = [outgoing, as_message(complete(events), GPT, writer)]
    items = wire(request(GPT, build_request_view(history, GPT)))["input"]
    types = [item.get("encrypted_content") or item["type"] for item in items[1:]]
    assert types == ["dHdv", "message", "b25l", "function_call", "function_call_output"]
