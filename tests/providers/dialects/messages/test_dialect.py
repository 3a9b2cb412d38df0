import json
import logging

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tests.providers.dialect_cases import sse
from tests.providers.golden_bodies import check_golden
from tests.providers.histories import as_message, build_full_history, image, reply_metadata
from tests.providers.recorded_exchanges import (
    NAMES,
    READ,
    cases,
    complete,
    exchange,
    expected,
    model,
    play,
    problems,
    recorded,
    request,
)
from tests.providers.stream_rules import broken_rules
from tests.strategies import SESSION, Writer, examples, histories
from yourtool.messages.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata, StopReason
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import Request
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.replies.body_decoder import SseEvent
from yourtool.providers.replies.reply import Reply
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap

SONNET = model("anthropic", "claude-sonnet-4-6")
DOCUMENT = [
    name
    for name in NAMES
    if exchange(name)["provider"] == "anthropic"
    and expected(name)["complete"]
    and expected(name)["error"] is None
]
UNTYPED = {
    "anthropic-messages-93c7092e": "a server tool's result has a key newer than the types",
    "anthropic-messages-f69bac28": "begins with the result of a call in the message before",
    "anthropic-messages-continued": "begins with the result of a call in the message before",
    "anthropic-messages-continued-stream": "the same",
}


def wire(outgoing: Request) -> dict:
    body = MessagesDialect().to_wire(outgoing).body
    assert problems("anthropic", "messages", body) == []
    return json.loads(body)


@pytest.mark.req("R-ADP-01")
def test_conversation_with_every_block_has_the_golden_body():
    outgoing = request(
        SONNET, build_full_history(SONNET), (READ,), stop_sequences=("END", " "), temperature=0.5
    )
    posted = MessagesDialect().to_wire(outgoing)
    assert posted.path == "/v1/messages"
    assert problems("anthropic", "messages", posted.body) == []
    check_golden("messages/anthropic.json", posted.body)


def test_equal_requests_have_equal_bytes():
    turned = msgspec.structs.replace(
        READ, input_schema=dict(reversed(list(READ.input_schema.items())))
    )
    one = MessagesDialect().to_wire(request(SONNET, build_full_history(SONNET), (READ,))).body
    two = MessagesDialect().to_wire(request(SONNET, build_full_history(SONNET), (turned,))).body
    assert one == two


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=examples(20))
@given(history=histories())
def test_every_valid_history_gives_a_valid_request(history):
    logging.disable(logging.WARNING)
    try:
        for target in (SONNET, model("anthropic", "claude-haiku-4-5")):
            wire(request(target, build_request_view(history, target), (READ,)))
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", cases(DOCUMENT))
@pytest.mark.req("R-ADP-01")
async def test_reply_is_replayed_unchanged(name):
    outgoing, events = await _play_request(name)
    body = json.loads(_body(outgoing, [complete(events)]))
    sent = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    original = exchange(name)["response"]["body"]
    if original.lstrip().startswith("{"):
        content = json.loads(original)["content"]
        assert sent == (
            [[_as_request_block(block) for block in content if _says(block)]] if content else []
        )
    else:
        assert [block["type"] for turn in sent for block in turn] == _types(original)


@pytest.mark.parametrize("name", cases(name for name in DOCUMENT if name not in UNTYPED))
async def test_replayed_reply_is_valid(name):
    outgoing, events = await _play_request(name)
    assert problems("anthropic", "messages", _body(outgoing, [complete(events)])) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("anthropic-messages-paused", "anthropic-messages-continued"),
        ("anthropic-messages-paused-stream", "anthropic-messages-continued-stream"),
        recorded("anthropic-messages-ebb2d863", "anthropic-messages-f69bac28"),
    ],
)
async def test_paused_reply_and_its_continuation_are_one_turn(first, second):
    outgoing, paused = await _play_request(first)
    _, rest = await _play_request(second)
    assert complete(paused).stop_reason is StopReason.PAUSE_TURN
    body = _body(outgoing, [complete(paused), complete(rest)])
    assert problems("anthropic", "messages", body) == []
    assert [turn["role"] for turn in json.loads(body)["messages"]] == ["user", "assistant", "user"]


async def _play_request(name):
    outgoing = request(SONNET)
    events, error = await play(name, outgoing=outgoing)
    assert error is None
    return outgoing, events


def _body(outgoing, replies):
    """A request with the replies, each stored and read back, and a prompt after them."""
    writer = Writer()
    history = [writer.message(Role.USER, [TextBlock("?")])]
    for event in replies:
        history.append(as_message(event, SONNET, writer))
        history += [
            writer.message(
                Role.TOOL,
                [ToolResultBlock(call.id, (TextBlock("ok"),))],
                ResultMetadata(parent_tool_use_id=call.id),
            )
            for call in history[-1].tool_uses
        ]
    history.append(writer.message(Role.USER, [TextBlock("!")]))
    plain = msgspec.structs.replace(SONNET, capabilities=AdapterCapabilities())
    again = msgspec.structs.replace(
        outgoing, model=plain, messages=build_request_view(history, SONNET)
    )
    return MessagesDialect().to_wire(again).body


def _says(block):
    return block["type"] != "text" or block["text"].strip()


def _as_request_block(block):
    """A block of an answer as a request may hold it: without nulls and notes for the reader."""
    if block["type"] == "text":
        return {key: value for key, value in block.items() if value is not None}
    if block["type"] == "tool_use":
        return {key: value for key, value in block.items() if key != "caller"}
    return block


def _types(stream):
    frames = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    return [
        frame["content_block"]["type"] for frame in frames if frame["type"] == "content_block_start"
    ]


def test_system_prompt_is_separate_and_consecutive_messages_are_merged():
    body = wire(request(SONNET, build_full_history(SONNET)))
    assert [block["text"] for block in body["system"]] == [
        "You write code.",
        "Be brief.",
        "Today is a Friday.",
    ]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant"] * 2 + ["user"]
    results = body["messages"][2]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result"]
    assert results[1]["is_error"] is True


@pytest.mark.req("R-ADP-18")
def test_cache_breakpoints_follow_the_plan():
    body = wire(
        request(SONNET, build_full_history(SONNET), (READ, msgspec.structs.replace(READ, name="b")))
    )
    marked = []
    for block in [*body["tools"], *body["system"], *_blocks(body)]:
        if "cache_control" in block:
            assert block.pop("cache_control") == {"type": "ephemeral"}
            marked.append(block)
    ends = [body["messages"][at]["content"][-1] for at in (2, -1)]
    assert marked == [body["tools"][-1], body["system"][1], *ends]


def _blocks(body):
    return [block for turn in body["messages"] for block in turn["content"]]


def test_two_requests_in_a_row_share_their_prefix():
    history, ids = build_full_history(SONNET), ToolIdMap()
    first = wire(request(SONNET, history[:6], (READ,), tool_ids=ids))
    second = wire(request(SONNET, history, (READ,), tool_ids=ids))
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    for body in (first, second):
        for block in _blocks(body):
            block.pop("cache_control", None)
    assert second["messages"][: len(first["messages"])] == first["messages"]


def test_model_without_cache_gets_no_breakpoints():
    plain = model("anthropic", "x", capabilities=AdapterCapabilities(supports_images=True))
    assert (
        b"cache_control"
        not in MessagesDialect().to_wire(request(plain, build_full_history(plain), (READ,))).body
    )


def test_invalid_ids_are_replaced_and_valid_ids_are_reused():
    ids, writer = ToolIdMap(), Writer()
    good, bad = ids.canonical("anthropic", "toolu_1"), ids.canonical("anthropic", "functions.x:0")
    foreign = ids.canonical("openai", "call_1")
    calls = [ToolUseBlock(use, "f", {}) for use in (good, bad, foreign)]
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, calls, reply_metadata(SONNET.id)),
    ]
    body = wire(request(SONNET, build_request_view(history, SONNET), tool_ids=ids))
    sent = [block["id"] for block in body["messages"][1]["content"]]
    assert sent == ["toolu_1", f"call_{bad[3:]}", f"call_{foreign[3:]}"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == sent


def _storable_text(blocks, **metadata):
    writer = Writer()
    return (
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(
            Role.ASSISTANT, blocks, msgspec.structs.replace(reply_metadata(SONNET.id), **metadata)
        ),
        writer.message(Role.USER, [TextBlock("!")]),
    )


@pytest.mark.parametrize(
    ("blocks", "kind"),
    [
        ([ThinkingBlock("hm"), TextBlock("a")], "thinking"),
        ([TextBlock("a"), ThinkingBlock("hm", "sig")], "thinking"),
        ([TextBlock("a"), RedactedThinkingBlock("x")], "redacted_thinking"),
    ],
)
@pytest.mark.req("R-ADP-05")
def test_dropped_block_logs_one_warning_with_five_fields(blocks, kind, caplog):
    body = wire(request(SONNET, _storable_text(blocks)))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.session_id == SESSION
    assert record.message_id == f"{2:026d}"
    assert record.block_type == kind
    assert record.adapter == "anthropic"
    assert record.reason
    for field in ("session_id", "message_id", "block_type", "adapter", "reason"):
        assert f"{field}={getattr(record, field)}" in record.getMessage()


@pytest.mark.parametrize(
    ("form", "effort", "fields"),
    [
        (
            "adaptive",
            "high",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        ("effort", "minimal", {"output_config": {"effort": "low"}}),
        ("budget", "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        ("budget", "max", {"thinking": {"type": "enabled", "budget_tokens": 32_768}}),
        ("adaptive", None, {}),
        ("adaptive", "so-so", {}),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_effort_has_the_form_of_the_model(form, effort, fields):
    target = model("anthropic", "claude-opus-4-7", thinking=form)
    outgoing = request(
        target, build_full_history(target), effort=effort, temperature=0.5, max_output_tokens=64_000
    )
    body = wire(outgoing)
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == fields
    assert ("temperature" in body) is ("thinking" not in fields)


def test_signed_reasoning_without_text_is_replayed():
    body = wire(request(SONNET, _storable_text([ThinkingBlock("", "sig"), TextBlock("a")])))
    assert body["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "sig",
    }


@pytest.mark.req("R-CAN-13")
def test_opaque_blocks_of_another_model_are_never_sent():
    raw = {
        "scope": {"provider": "anthropic", "model": "anthropic:other"},
        "blocks": [{"at": 0, "block": {"type": "compaction", "content": "secret"}}],
    }
    history = _storable_text([TextBlock("a")], provider_raw=raw)
    assert b"secret" not in MessagesDialect().to_wire(request(SONNET, history)).body


CALL = {"type": "tool_use", "id": "toolu_x", "name": "f", "input": {}}


@pytest.mark.parametrize(
    "raw",
    [
        {"scope": 1},
        {"blocks": [1, {"at": "x"}], "notes": 3},
        {"blocks": [{"at": 0, "block": CALL}, {"at": 10**30, "block": {"type": 5}}]},
    ],
)
def test_opaque_blocks_of_unknown_shape_are_ignored(raw):
    raw = {"scope": {"provider": "anthropic", "api": "messages", "model": SONNET.id}, **raw}
    wire(request(SONNET, _storable_text([TextBlock("a")], provider_raw=raw)))


def test_image_in_an_error_result_becomes_a_placeholder(caplog):
    writer = Writer()
    use = writer.tool_use_id()
    history = (
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(use, "f", {})]),
        writer.message(Role.TOOL, [ToolResultBlock(use, (image(),), is_error=True)]),
    )
    body = wire(request(SONNET, history))
    [result] = body["messages"][2]["content"]
    assert [part["type"] for part in result["content"]] == ["text"]
    assert [record.block_type for record in caplog.records] == ["image"]


def test_reasoning_is_requested_only_if_supported():
    outgoing = request(
        SONNET,
        build_full_history(SONNET),
        effort="medium",
        temperature=0.5,
        max_output_tokens=9_000,
    )
    body = wire(outgoing)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 7_976}
    assert "temperature" not in body
    plain = model("anthropic", "x", capabilities=AdapterCapabilities())
    assert "thinking" not in wire(
        msgspec.structs.replace(outgoing, model=plain, messages=build_full_history(plain)[6:])
    )


def test_final_assistant_message_has_no_trailing_whitespace():
    history = _storable_text([TextBlock("so far \n")], stop_reason=StopReason.PAUSE_TURN)[:2]
    assert wire(request(SONNET, history))["messages"][-1]["content"][-1]["text"] == "so far"


def test_invalid_tool_names_are_sanitised():
    writer = Writer()
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(Role.ASSISTANT, [ToolUseBlock(writer.tool_use_id(), "a.b c" * 30, {})]),
    ]
    name = wire(request(SONNET, build_request_view(history, SONNET)))["messages"][1]["content"][0][
        "name"
    ]
    assert name == ("a_b_c" * 30)[:64]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("tool_use", StopReason.TOOL_USE),
        ("pause_turn", StopReason.PAUSE_TURN),
        ("refusal", StopReason.REFUSAL),
        ("bored", StopReason.OTHER),
    ],
)
@pytest.mark.req("R-ADP-11")
def test_stop_reasons_are_mapped_and_unknown_ones_are_logged(word, reason, caplog):
    reply = Reply(request(SONNET))
    frame = {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 1}}
    MessagesDialect().build_parser(reply).parse(SseEvent("", json.dumps(frame).encode()))
    assert (reply.stop_reason, reply.stop_detail) == (reason, word)
    assert ("'bored'" in caplog.text) == (word == "bored")


@pytest.mark.req("R-ADP-12")
def test_last_counter_that_is_not_null_is_used():
    reply = Reply(request(SONNET))
    parser = MessagesDialect().build_parser(reply)
    start = {
        "type": "message_start",
        "message": {
            "usage": {
                "input_tokens": 10,
                "output_tokens": 1,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
            }
        },
    }
    end = {
        "type": "message_delta",
        "delta": {},
        "usage": {"input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": None},
    }
    for frame in (start, end):
        list(parser.parse(SseEvent("", json.dumps(frame).encode())))
    usage = complete(reply.finish()).usage
    assert (usage.input_tokens, usage.output_tokens) == (30, 7)
    assert (usage.cached_input_tokens, usage.cache_creation_input_tokens) == (100, 20)


def _loop(reasoning, *between, last=()):
    """A prompt, a call and its result, then more of the same reply, then perhaps a prompt."""
    writer, own = Writer(), reply_metadata(SONNET.id)
    history = [writer.message(Role.USER, [TextBlock("?")])]
    for blocks_of_reply in (reasoning, *between):
        use = writer.tool_use_id()
        history.append(
            writer.message(
                Role.ASSISTANT, [*blocks_of_reply, ToolUseBlock(use, "read_file", {})], own
            )
        )
        result = ToolResultBlock(use, (TextBlock("ok"),))
        metadata = ResultMetadata(parent_tool_use_id=use)
        history.append(writer.message(Role.TOOL, [result], metadata))
    return (*history, *(writer.message(Role.USER, [TextBlock(words)]) for words in last))


REASONING = ThinkingBlock("hm", "c2ln")


@pytest.mark.parametrize(
    ("history", "thinks"),
    [
        (_loop([REASONING]), True),
        (_loop([REASONING], []), True),
        (_loop([RedactedThinkingBlock("b3A=")], [TextBlock("a")]), True),
        (_loop([]), False),
        (_loop([], [REASONING]), False),
        (_loop([], last=["stop, do this"]), False),
        (_loop([REASONING], last=["and this"]), True),
        (_loop([])[:1], True),
    ],
)
@pytest.mark.req("R-SWP-02")
def test_budget_reasoning_does_not_start_in_the_middle_of_a_reply(history, thinks):
    # The turn of another model, or a stopped reply, has no reasoning to continue from.
    target = model("anthropic", "claude-sonnet-4-5", id=SONNET.id, thinking="budget")
    body = wire(request(target, history, (READ,), effort="high", temperature=0.5))
    assert ("thinking" in body) is thinks
    assert ("temperature" in body) is not thinks
    adaptive = msgspec.structs.replace(target, thinking="adaptive")
    assert "thinking" in wire(request(adaptive, history, (READ,), effort="high"))


@pytest.mark.parametrize("index", [b'{"a":1}', b"[]", b'"0"', b"1.5", b"true", b"null"])
async def test_block_with_invalid_index_is_ignored(index):
    """Found by damaging recorded bytes: a place is a key, and not everything can be one."""
    body = sse(
        b'{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}',
        b'{"type":"content_block_start","index":%s,"content_block":{"type":"new_kind"}}' % index,
        b'{"type":"content_block_delta","index":%s,"delta":{"type":"text_delta","text":"a"}}'
        % index,
        b'{"type":"content_block_stop","index":%s}' % index,
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
        b'{"type":"message_stop"}',
    )
    events, error = await play("anthropic-messages-text-stream", [body])
    assert error is None
    assert broken_rules(events) == []
