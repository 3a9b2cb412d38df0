"""Hosts with variants of Chat Completions or Responses; the content is invented."""

import json

import pytest

from tests.providers.histories import as_message
from tests.providers.recorded_exchanges import Playback, collect_events, complete, model, request
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer
from yourtool.errors import ContextOverflowError
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.provider_specs import provider_specs
from yourtool.providers.registry import load_dialect
from yourtool.providers.replies.error_mapping import error_from_response
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.wire import WireAdapter
from yourtool.settings.config import Config, ProviderConfig

QUICK = StreamTimeouts(linger=0.001)
TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
SEALED = {"type": "reasoning.encrypted", "format": "google-gemini-v1", "index": 1, "id": "r1"}
CALL = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}


async def replies(body, dialect=None, target=None, ids=None):
    """Return the reply that a body gives, as the loop stores it, and its last event."""
    target = target or model("acme")
    outgoing = request(target, **({"tool_ids": ids} if ids else {}))
    speaker = WireAdapter(
        dialect or ChatDialect(), Playback([body]), target.provider, timeouts=QUICK
    )
    events, error = await collect_events(speaker, outgoing)
    assert error is None
    assert broken_rules(events) == []
    last_event = complete(events)
    return as_message(last_event, target, Writer()), last_event


def stream(*events):
    return "".join(f"data: {json.dumps(each)}\n\n" for each in events).encode()


def chat(*deltas, end="stop", **last):
    pieces = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    return stream(
        *pieces, {"choices": [{"index": 0, "delta": {}, "finish_reason": end}], **last}
    ) + (b"data: [DONE]\n\n")


def next_request(reply, target, dialect=None):
    """Return the assistant's message of the request that follows."""
    writer = Writer()
    results = [
        writer.message(Role.TOOL, [ToolResultBlock(call.id, (TextBlock("5"),))])
        for call in reply.tool_uses
    ]
    history = build_request_view(
        [writer.message(Role.USER, [TextBlock("?")]), reply, *results], target
    )
    body = json.loads((dialect or ChatDialect()).to_wire(request(target, history)).body)
    return next(each for each in body["messages"] if each["role"] == "assistant")


STREAMED = chat(
    {"reasoning": "I ", "reasoning_details": [{**TEXT, "text": "I ", "signature": ""}]},
    {"reasoning": "see.", "reasoning_details": [{**TEXT, "text": "see."}]},
    {"reasoning_details": [{**TEXT, "text": "", "signature": "c2ln"}]},
    {"reasoning_details": [{**SEALED, "data": "c2Vh"}]},
    {"tool_calls": [CALL]},
    end="tool_calls",
)
DETAILS = [{**TEXT, "text": "I see.", "signature": "c2ln"}, {**SEALED, "data": "c2Vh"}]
DOCUMENT = json.dumps(
    {
        "choices": [
            {
                "message": {"content": None, "reasoning_details": DETAILS, "tool_calls": [CALL]},
                "finish_reason": "",
            }
        ]
    }
).encode()


@pytest.mark.parametrize("body", [STREAMED, DOCUMENT], ids=["streamed", "whole"])
@pytest.mark.req("R-SWP-03")
async def test_reasoning_details_are_replayed_unchanged_to_their_model(body):
    target = model("acme")
    reply, _ = await replies(body)
    assert next_request(reply, target)["reasoning_details"] == DETAILS
    for other in (model("acme", "other-model"), model("beta")):
        assert "reasoning_details" not in next_request(reply, other)


async def test_quirk_disables_reasoning_details(caplog):
    reply, _ = await replies(STREAMED)
    sent = next_request(reply, model("acme"), ChatDialect({"reasoning_details": False}))
    assert "reasoning_details" not in sent
    assert "the API has no field for it" in caplog.text


async def test_reasoning_without_details_is_replayed_in_addition_to_details():
    body = chat(
        {"reasoning_content": "plain"},
        {"reasoning_details": [{**SEALED, "data": "c2Vh"}]},
        {"tool_calls": [CALL]},
        end="tool_calls",
    )
    sent = next_request((await replies(body))[0], model("acme"))
    assert sent["reasoning_details"] == [{**SEALED, "data": "c2Vh"}]
    assert sent["reasoning_content"] == "plain"


async def test_document_is_read_from_the_message_despite_an_empty_delta():
    choice = {"message": {"content": "Two cats."}, "delta": {"content": ""}}
    body = json.dumps({"choices": [{**choice, "finish_reason": "stop"}]}).encode()
    assert (await replies(body))[0].text == "Two cats."


async def test_stream_is_read_from_the_delta_despite_a_message():
    events = [
        {"choices": [{"index": 0, "message": {"content": so_far}, "delta": {"content": new}}]}
        for so_far, new in (("Two", "Two"), ("Two cats.", " cats."), ("Two cats.", ""))
    ]
    events[-1]["choices"][0]["finish_reason"] = "stop"
    assert (await replies(stream(*events)))[0].text == "Two cats."


async def test_content_object_becomes_json_text():
    answer = {"title": "Cats", "type": "essay", "pages": 2}
    message = {"message": {"content": answer}, "finish_reason": "stop"}
    reply, _ = await replies(json.dumps({"choices": [message]}).encode())
    assert json.loads(reply.text) == answer


@pytest.mark.req("R-ADP-12")
async def test_mistral_cache_tokens_are_counted():
    usage = {"prompt_tokens": 64, "completion_tokens": 6, "num_cached_tokens": 32}
    _, last_event = await replies(chat({"content": "a"}, usage=usage))
    assert (last_event.usage.input_tokens, last_event.usage.cached_input_tokens) == (32, 32)


@pytest.mark.parametrize("word", ["eos", "eos_token", "end_turn"])
async def test_eos_is_a_normal_stop_reason(word):
    _, last_event = await replies(chat({"content": "a"}, end=word))
    assert last_event.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("error", [{"code": 400}, {"type": "too_many_prompt_tokens"}])
def test_too_long_messages_are_a_context_overflow(error):
    words = "The total length of all messages is too long." if "code" in error else "No."
    body = json.dumps({"error": {"message": words, **error}}).encode()
    assert type(error_from_response("acme", 400, body)) is ContextOverflowError


@pytest.mark.parametrize("numbers", [(0,), (1,), (3,), (0, 1), (1, 2), (0, 2)])
async def test_message_parts_are_read_once_with_any_numbering(numbers):
    words = [f"part {number} " for number in numbers]
    item = {"type": "message", "content": []}
    last_event = {**item, "content": [{"type": "output_text", "text": each} for each in words]}
    response = {"status": "completed", "output": [last_event]}
    delta = {"type": "response.output_text.delta", "output_index": 0}
    body = stream(
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *(
            {**delta, "content_index": number, "delta": each}
            for number, each in zip(numbers, words, strict=True)
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": last_event},
        {"type": "response.completed", "response": response},
    )
    reply, _ = await replies(body, ResponsesDialect())
    assert reply.text == "".join(words)


def dialect_at(address, api="chat", **quirks):
    providers = {"mine": ProviderConfig(api=api, base_url=address, quirks=quirks)}
    [row] = [row for row in provider_specs(Config(providers=providers), {}) if row.name == "mine"]
    return load_dialect(row)


def foreign(count=3):
    """Return a turn of another provider with so many calls, cut off before its end."""
    writer = Writer()
    calls = [ToolUseBlock(writer.tool_use_id(), "f", {}) for _ in range(count)]
    return [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ThinkingBlock("hm", "c2ln"), *calls]),
        *(
            writer.message(Role.TOOL, [ToolResultBlock(call.id, (TextBlock("5"),))])
            for call in calls
        ),
        writer.message(Role.USER, [TextBlock("Go on.")]),
    ]


def request_to(dialect, name="some-model"):
    target = model("mine", name)
    return json.loads(dialect.to_wire(request(target, build_request_view(foreign(), target))).body)


def test_conversation_of_another_provider_is_valid_for_mistral():
    body = request_to(dialect_at("https://api.mistral.ai/v1"))
    messages = body["messages"]
    calls = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    answered = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert calls == answered
    assert len(set(calls)) == 3
    assert all(len(each) == 9 and each.isalnum() and each.isascii() for each in calls)
    roles = [each["role"] for each in messages]
    assert roles == ["user", "assistant", "tool", "tool", "tool", "assistant", "user"]
    assert "stream_options" not in body
    assert not {"reasoning_content", "reasoning_details"} & {key for m in messages for key in m}


@pytest.mark.parametrize(
    ("address", "name", "is_short"),
    [
        ("https://api.mistral.ai/v1", "x", True),
        ("https://codestral.mistral.ai/v1", "x", True),
        ("https://API.Mistral.AI/v1/", "x", True),
        ("https://api.mistral.ai.example.com/v1", "x", False),
        ("https://notmistral.ai/v1", "x", False),
        ("http://127.0.0.1:8000/v1", "mistralai/Devstral-Small-2507", True),
        ("http://127.0.0.1:8000/v1", "magistral-small", True),
        ("http://127.0.0.1:8000/v1", "qwen3", False),
    ],
)
def test_mistral_gets_ids_of_nine_characters(address, name, is_short):
    messages = request_to(dialect_at(address), name)["messages"]
    ids = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    assert [len(each) == 9 for each in ids] == [is_short] * 3


def test_configured_quirk_overrides_that_of_the_host():
    body = request_to(dialect_at("https://api.mistral.ai/v1", stream_usage=True))
    assert body["stream_options"] == {"include_usage": True}


def test_address_in_the_environment_has_the_quirks_of_its_host():
    config = Config(providers={"openai": ProviderConfig(api="chat")})
    rows = provider_specs(config, {"OPENAI_BASE_URL": "https://api.mistral.ai/v1"})
    [row] = [row for row in rows if row.name == "openai"]
    assert "stream_options" not in request_to(load_dialect(row))
