"""What every dialect makes of arguments that are no JSON object."""

import json

import pytest

from tests.providers.recorded_exchanges import Playback, collect_events, complete, model, request
from yourtool.messages.blocks import ToolUseBlock
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.wire import WireAdapter

HUGE = "9" * 5_000
"""A number of more digits than Python reads."""


def events(*chunks):
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def message(arguments):
    block = {"type": "tool_use", "id": "t", "name": "f", "input": arguments}
    return {"type": "message", "content": [block], "stop_reason": "tool_use"}


def started_call(arguments):
    return events(
        {"type": "message_start", "message": {"id": "m"}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": message(arguments)["content"][0],
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


def piece(delta):
    return events(
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": message({})["content"][0]},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": delta},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


def content(arguments):
    part = {"functionCall": {"name": "f", "args": arguments}}
    return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}


def choice(field, arguments):
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}}
    return {"choices": [{"index": 0, field: {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}


def response(arguments):
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}
    return {"status": "completed", "output": [item]}


def done(arguments):
    [item] = response(arguments)["output"]
    return events(
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "arguments": ""},
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    )


def line(arguments):
    call = {"function": {"name": "f", "arguments": arguments}}
    return json.dumps({"message": {"tool_calls": [call]}, "done": True}) + "\n"


WAYS = {
    "anthropic, whole": (MessagesDialect, lambda value: json.dumps(message(value))),
    "anthropic, at the start": (MessagesDialect, started_call),
    "google, streamed": (GenerateContentDialect, lambda value: events(content(value))),
    "google, whole": (GenerateContentDialect, lambda value: json.dumps(content(value))),
    "chat, streamed": (ChatDialect, lambda value: events(choice("delta", value))),
    "chat, whole": (ChatDialect, lambda value: json.dumps(choice("message", value))),
    "responses, by item": (ResponsesDialect, done),
    "responses, at the end": (
        ResponsesDialect,
        lambda value: events({"type": "response.completed", "response": response(value)}),
    ),
    "responses, whole": (ResponsesDialect, lambda value: json.dumps(response(value))),
    "ollama": (OllamaDialect, line),
}
every_way = pytest.mark.parametrize("way", WAYS)


async def read_call(dialect, body):
    """Return the call in a reply, and why it must not run."""
    speaker = WireAdapter(
        dialect(), Playback([body.encode()]), "acme", timeouts=StreamTimeouts(linger=0.001)
    )
    events_read, error = await collect_events(speaker, request(model("acme")))
    assert error is None
    reply = complete(events_read)
    assert reply.stop_reason is StopReason.TOOL_USE
    [block] = reply.final_content
    assert isinstance(block, ToolUseBlock)
    return block, reply.tool_input_errors.get(block.id)


@every_way
@pytest.mark.parametrize("arguments", [[], [1], "x", "[1]", 0, 5, True, False, '{"a": '], ids=repr)
@pytest.mark.req("R-ADP-06")
async def test_call_with_invalid_arguments_never_runs(way, arguments):
    """D3: they are stored as none and flagged."""
    dialect, body = WAYS[way]
    block, error = await read_call(dialect, body(arguments))
    assert block.input == {}
    assert error is not None


@every_way
@pytest.mark.parametrize("arguments", [None, "", {}], ids=repr)
async def test_missing_arguments_are_an_empty_object(way, arguments):
    dialect, body = WAYS[way]
    block, error = await read_call(dialect, body(arguments))
    assert (block.input, error) == ({}, None)


@every_way
async def test_call_with_an_object_runs(way):
    dialect, body = WAYS[way]
    block, error = await read_call(dialect, body({"a": 1}))
    assert (block.input, error) == ({"a": 1}, None)


@pytest.mark.parametrize("way", ["anthropic, at the start", "google, streamed", "google, whole"])
@pytest.mark.req("R-ADP-06")
async def test_object_in_a_string_is_read_and_other_text_is_invalid(way):
    dialect, body = WAYS[way]
    block, error = await read_call(dialect, body('{"path": "sub"}'))
    assert (block.input, error) == ({"path": "sub"}, None)
    block, error = await read_call(dialect, body("sub"))
    assert block.input == {}
    assert error is not None
    assert error.error == "the arguments are not a JSON object but text"


@pytest.mark.parametrize("delta", [[1], 5, True], ids=repr)
@pytest.mark.req("R-ADP-06")
async def test_argument_pieces_that_are_not_strings_are_not_lost(delta):
    _, error = await read_call(MessagesDialect, piece(delta))
    assert error is not None


@every_way
@pytest.mark.req("D16")
async def test_too_long_number_affects_only_its_call(way):
    """Sending the request again would bring the same number again."""
    dialect, body = WAYS[way]
    block, error = await read_call(dialect, body({"a": "?"}).replace('"?"', HUGE))
    assert block.input == {}
    assert error is not None
