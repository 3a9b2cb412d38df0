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
    expected,
    model,
    play,
    problems,
    request,
)
from tests.providers.stream_rules import broken_rules
from tests.strategies import Writer, examples, histories
from yourtool.errors import ConfigError
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata, StopReason
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import ForcedTool
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter

GPT = model("openai", "gpt-4o")
REASONER = model("openai", "gpt-5", uses_max_completion_tokens=True, accepts_temperature=False)
ROUTED = model("openrouter", "deepseek/deepseek-v3")


def wire(outgoing, *, provider="openai", **quirks):
    body = ChatDialect(quirks).to_wire(outgoing).body
    assert problems(provider, "chat", body) == []
    return json.loads(body)


@pytest.mark.parametrize(
    ("target", "quirks", "golden"),
    [
        (GPT, {}, "openai_chat.json"),
        (REASONER, {"system_role": "developer"}, "openai_chat_reasoner.json"),
        (ROUTED, {"effort": "reasoning"}, "openrouter_chat.json"),
    ],
)
@pytest.mark.req("R-ADP-01")
def test_conversation_with_every_block_has_the_golden_body(target, quirks, golden):
    outgoing = build_full_request(target)
    posted = ChatDialect(quirks).to_wire(outgoing)
    assert posted.path == "/chat/completions"
    assert problems(target.provider, "chat", posted.body) == []
    check_golden(f"chat/{golden}", posted.body)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=examples(20))
@given(history=histories())
def test_every_valid_history_gives_a_valid_request(history):
    logging.disable(logging.WARNING)
    try:
        for target in (GPT, ROUTED):
            outgoing = request(target, build_request_view(history, target), (READ,))
            wire(outgoing, provider=target.provider)
    finally:
        logging.disable(logging.NOTSET)


def test_system_messages_are_merged_and_first():
    messages = wire(request(GPT, build_full_history(GPT)))["messages"]
    assert messages[0] == {
        "role": "system",
        "content": "You write code.\n\nBe brief.\n\nToday is a Friday.",
    }
    assert [message["role"] for message in messages].count("system") == 1


def test_results_have_the_id_of_their_call_and_arguments_are_text():
    messages = wire(request(GPT, build_full_history(GPT)))["messages"]
    [calls] = [message["tool_calls"] for message in messages if "tool_calls" in message]
    answers = [message for message in messages if message["role"] == "tool"]
    assert [call["id"] for call in calls] == [answer["tool_call_id"] for answer in answers]
    assert calls[0]["function"]["arguments"] == '{"a":"ü","limit":5,"path":"b.txt"}'


@pytest.mark.req("R-ADP-05")
def test_error_result_has_a_prefix():
    answers = [
        message
        for message in wire(request(GPT, build_full_history(GPT)))["messages"]
        if message["role"] == "tool"
    ]
    assert answers[0]["content"] == "one\ntwo"
    assert answers[1]["content"] == "Error: `path` is required"


@pytest.mark.req("R-ADP-05")
def test_images_of_results_follow_in_a_user_message():
    messages = wire(request(GPT, build_full_history(GPT)))["messages"]
    at = max(place for place, message in enumerate(messages) if message["role"] == "tool")
    assert messages[at + 1]["role"] == "user"
    assert [part["type"] for part in messages[at + 1]["content"]] == ["text", "image_url"]
    assert messages[at + 1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_images_stay_in_results_if_supported():
    outgoing = request(GPT, build_full_history(GPT))
    messages = wire(outgoing, provider="openai-compat", images_in_tool_results=True)["messages"]
    [answer, _] = [message for message in messages if message["role"] == "tool"]
    assert [part["type"] for part in answer["content"]] == ["text", "image_url"]


@pytest.mark.req("R-ADP-05")
def test_dropped_images_and_reasoning_log_one_warning_each(caplog):
    blind = model("openai", "gpt-3.5-turbo", capabilities=AdapterCapabilities())
    wire(request(blind, build_full_history(blind)))
    assert [record.block_type for record in caplog.records] == [
        "image",
        "thinking",
        "redacted_thinking",
        "image",
        "image",
    ]
    assert {record.adapter for record in caplog.records} == {"openai"}


def test_message_with_only_an_unsupported_image_has_a_placeholder():
    blind = model("openai", "gpt-3.5-turbo", capabilities=AdapterCapabilities())
    history = [Writer().message(Role.USER, [image()])]
    assert wire(request(blind, history))["messages"] == [
        {"role": "user", "content": "(an image that could not be shown to you)"}
    ]


def test_message_without_text_or_calls_is_dropped():
    writer = Writer()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ThinkingBlock("hm")], reply_metadata(GPT.id)),
        writer.message(Role.ASSISTANT, [ToolUseBlock(writer.tool_use_id(), "f", {})]),
    ]
    messages = wire(request(GPT, build_request_view(history, GPT)))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["content"] is None


def test_reply_without_calls_has_no_list_of_calls():
    messages = wire(request(GPT, build_full_history(GPT)))["messages"]
    assert all(message.get("tool_calls", True) for message in messages)


def test_reasoning_model_gets_only_supported_fields():
    body = wire(
        request(
            REASONER,
            build_full_history(REASONER),
            temperature=0.5,
            stop_sequences=("x",),
            effort="low",
        )
    )
    assert body["max_completion_tokens"] == 4096
    assert body["reasoning_effort"] == "low"
    assert not {"max_tokens", "temperature", "stop"} & body.keys()


def test_request_without_tools_has_no_list_of_tools():
    assert "tools" not in wire(request(GPT, build_full_history(GPT)))


COMMON = {
    "": {"model", "messages", "stream", "stream_options", "max_tokens", "tools", "tool_choice",
         "temperature", "stop"},
    "messages": {"role", "content", "tool_calls", "tool_call_id"},
    "content": {"type", "text"},
    "tool_calls": {"id", "type", "function"},
    "tools": {"type", "function"},
    "function": {"name", "arguments", "description", "parameters"},
    "tool_choice": {"type", "function"},
    "stream_options": {"include_usage"},
}  # fmt: skip
"""Fields that every server with Chat Completions has always supported, by path."""


def uncommon(value, place=""):
    """Yield the fields that a strict server of an older kind would refuse."""
    if isinstance(value, list):
        for each in value:
            yield from uncommon(each, place)
    elif isinstance(value, dict) and place != "parameters":
        for name, inner in value.items():
            if name not in COMMON[place]:
                yield f"{place}.{name}"
            yield from uncommon(inner, name)


@pytest.mark.parametrize("choice", ["auto", "any", "none", ForcedTool("read_file")])
@pytest.mark.req("R-ADP-20")
def test_unknown_server_gets_no_vendor_fields(choice):
    unknown = Catalogue([], "2026-01-01").get("local:somebody/model")
    view = build_request_view(build_full_history(ROUTED), unknown)
    outgoing = request(
        unknown,
        view,
        (READ,),
        cache=plan_cache(view, (READ,), unknown, "long"),
        effort="high",
        tool_choice=choice,
        temperature=0.5,
        stop_sequences=("END",),
    )
    row = ProviderSpec(name="local", api="chat", base_url="http://h/v1", label="local")
    posted = load_dialect(row).to_wire(outgoing)
    body = json.loads(posted.body)
    assert problems("openai", "chat", posted.body) == []
    assert list(uncommon(body)) == []
    assert {message["role"] for message in body["messages"]} <= {
        "system", "user", "assistant", "tool",
    }  # fmt: skip


def test_quirks_change_the_request():
    body = wire(
        request(GPT, build_full_history(GPT), effort="low"), stream_usage=False, effort="none"
    )
    assert not {"stream_options", "reasoning_effort", "reasoning"} & body.keys()
    ids = ToolIdMap()
    canonical = ids.canonical("openai", "call_abcdefghijkl")
    history = [
        Writer().message(Role.USER, [TextBlock("?")]),
        Writer().message(Role.ASSISTANT, [ToolUseBlock(canonical, "f", {})]),
        Writer().message(Role.TOOL, [ToolResultBlock(canonical, ())]),
    ]
    messages = wire(request(GPT, history, tool_ids=ids), short_tool_ids=True)["messages"]
    assert messages[1]["tool_calls"][0]["id"] == canonical[-9:]
    assert messages[2] == {"role": "tool", "tool_call_id": canonical[-9:], "content": "(no output)"}


@pytest.mark.parametrize("quirks", [{"stream_usages": True}, {"system_role": "boss"}])
def test_unknown_quirk_is_an_error_that_names_the_known_ones(quirks):
    with pytest.raises(ConfigError, match="known quirks: `stream_usage`, `system_role`"):
        ChatDialect(quirks)


def test_invalid_ids_are_replaced():
    ids = ToolIdMap()
    long, odd = ids.canonical("openai", "x" * 41), ids.canonical("openai", "functions.x:0")
    again = ids.canonical("openai", "functions.x:0")
    assert ids.issued_id("openai", odd) == "functions.x:0"
    assert ids.issued_id("openai", again) is None
    history = [
        Writer().message(Role.USER, [TextBlock("?")]),
        Writer().message(
            Role.ASSISTANT, [ToolUseBlock(use, "f", {}) for use in (long, odd, again)]
        ),
    ]
    body = wire(request(GPT, build_request_view(history, GPT), tool_ids=ids))
    assert [call["id"] for call in body["messages"][1]["tool_calls"]] == [
        f"call_{use[3:]}" for use in (long, odd, again)
    ]


@pytest.mark.parametrize(
    "name", cases(["openai-chat-parallel-calls-stream", "openai-chat-120ff12e"])
)
@pytest.mark.req("R-ADP-01")
async def test_reply_is_replayed_like_the_recorded_client(name):
    outgoing = request(GPT)
    events, _ = await play(name, outgoing=outgoing)
    writer = Writer()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        as_message(complete(events), GPT, writer),
    ]
    history += [
        writer.message(
            Role.TOOL,
            [ToolResultBlock(call.id, (TextBlock("5"),))],
            ResultMetadata(parent_tool_use_id=call.id),
        )
        for call in history[-1].tool_uses
    ]
    body = wire(msgspec.structs.replace(outgoing, messages=tuple(history)))
    assert [call["id"] for call in body["messages"][1]["tool_calls"]] == [
        call["id"] for call in expected(name)["tool_calls"]
    ]


async def replies(*chunks):
    """What the dialect makes of these chunks of a stream."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
    transport = Playback(["".join(lines).encode()])
    events, error = await collect_events(
        WireAdapter(ChatDialect(), transport, "openai"), request(model("openai"))
    )
    assert error is None
    assert broken_rules(events) == []
    return complete(events)


def delta(finish=None, **fields):
    return {"choices": [{"index": 0, "delta": fields or None, "finish_reason": finish}]}


def call(index=0, **function):
    ident = function.pop("id", None)
    return {"index": index, "id": ident, "function": function}


async def test_content_list_is_read_like_text():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    reply = await replies(
        delta(content=[thinking, {"type": "text", "text": "a"}, {"type": "new"}]),
        delta(content="b"),
        delta("stop"),
    )
    assert reply.final_content == (ThinkingBlock("hm"), TextBlock("ab"))


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
    ],
)
async def test_reasoning_in_two_fields_is_read_once(fields):
    reply = await replies(delta(**fields), delta(content="a"), delta("stop"))
    assert reply.final_content == (ThinkingBlock("hm"), TextBlock("a"))


async def test_repeated_ids_and_names_are_not_appended():
    reply = await replies(
        delta(tool_calls=[call(id="c1", name="f", arguments='{"a"')]),
        delta(tool_calls=[call(id="c1", name="f", arguments=": 1}")]),
        delta("tool_calls"),
        delta("tool_calls"),
    )
    [block] = reply.final_content
    assert (block.name, block.input) == ("f", {"a": 1})


async def test_calls_with_index_0_are_separated_by_id():
    reply = await replies(
        delta(tool_calls=[call(id="c1", name="f", arguments="{}")]),
        delta(tool_calls=[call(id="c2", name="g", arguments="{}")]),
        delta("stop"),
    )
    assert [block.name for block in reply.final_content] == ["f", "g"]
    assert reply.stop_reason is StopReason.TOOL_USE


async def test_calls_without_index_are_separated_by_name():
    reply = await replies(
        delta(tool_calls=[call(None, name="f", arguments={"a": 1}), call(None, name="g")]),
        delta("tool_calls"),
    )
    assert [(block.name, block.input) for block in reply.final_content] == [
        ("f", {"a": 1}),
        ("g", {}),
    ]


async def test_calls_override_the_finish_reason():
    for word in ("stop", "", None, "tool_calls", "eos"):
        reply = await replies(delta(tool_calls=[call(name="f")]), delta(word))
        assert reply.stop_reason is StopReason.TOOL_USE


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("model_length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.CONTENT_FILTER),
        ("error", StopReason.ERROR),
        ("eos", StopReason.END_TURN),
        ("vibes", StopReason.OTHER),
    ],
)
@pytest.mark.req("R-ADP-11")
async def test_stop_reasons_are_mapped_and_unknown_ones_are_logged(word, reason, caplog):
    reply = await replies(delta(content="a"), delta(word))
    assert (reply.stop_reason, reply.stop_detail) == (reason, word)
    assert ("'vibes'" in caplog.text) == (word == "vibes")


async def test_refusal_is_text_and_stop_reason():
    reply = await replies(delta(refusal="I can"), delta(refusal="not."), delta("stop"))
    assert reply.final_content == (TextBlock("I cannot."),)
    assert reply.stop_reason is StopReason.REFUSAL


@pytest.mark.req("R-ADP-06")
async def test_last_call_of_a_reply_cut_by_the_output_limit_is_flagged():
    reply = await replies(
        delta(tool_calls=[call(0, name="f", arguments="{}")]),
        delta(tool_calls=[call(1, name="f", arguments='{"a": 1}')]),
        delta("length"),
    )
    assert list(reply.tool_input_errors) == [reply.final_content[1].id]


def usage(prompt, output, **details):
    return {
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": output, **details},
    }


@pytest.mark.parametrize(
    ("counters", "buckets", "warns"),
    [
        (usage(100, 5), (100, 0, 0, 5), False),
        (usage(100, 5, prompt_tokens_details={"cached_tokens": 60}), (40, 60, 0, 5), False),
        (
            usage(100, 5, prompt_tokens_details={"cached_tokens": 60, "cache_write_tokens": 30}),
            (10, 60, 30, 5),
            False,
        ),
        (usage(100, 5, prompt_cache_hit_tokens=60), (40, 60, 0, 5), False),
        (usage(100, 5, prompt_tokens_details={"cached_tokens": 160}), (0, 160, 0, 5), True),
        (
            usage(100, 5, total_tokens=125, completion_tokens_details={"reasoning_tokens": 20}),
            (100, 0, 0, 25),
            False,
        ),
        (
            usage(100, 25, total_tokens=125, completion_tokens_details={"reasoning_tokens": 20}),
            (100, 0, 0, 25),
            False,
        ),
    ],
)
@pytest.mark.req("R-ADP-12")
async def test_counters_are_disjoint_and_never_negative(counters, buckets, warns, caplog):
    used = (await replies(delta(content="a"), delta("stop"), counters, counters)).usage
    assert buckets == (
        used.input_tokens,
        used.cached_input_tokens,
        used.cache_creation_input_tokens,
        used.output_tokens,
    )
    assert len(caplog.records) == warns


@pytest.mark.parametrize(
    "counters", [{"choices": []}, {"usage": None}, usage(None, 5), usage("a", True), usage(5, None)]
)
@pytest.mark.req("R-ADP-13")
async def test_missing_counters_are_estimated(counters):
    used = (await replies(*[delta(content="a word ")] * 50, delta("stop"), counters)).usage
    assert used.estimated
    assert 90 <= used.output_tokens <= 110


async def test_other_choices_are_ignored():
    other = {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]}
    reply = await replies(delta(content="a"), other, delta("stop"))
    assert reply.final_content == (TextBlock("a"),)
