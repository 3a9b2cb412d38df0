import json
from decimal import Decimal

import pytest

from tests.providers.histories import as_message, build_full_history
from tests.providers.recorded_exchanges import (
    READ,
    cases,
    complete,
    expected,
    model,
    play,
    problems,
    recorded,
    request,
)
from tests.strategies import Writer
from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import ReplyMetadata
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.requests.request_view import build_request_view

QUIRKS = next(row.quirks for row in BUILT_IN if row.name == "openrouter")
GROK = model("openrouter", "x-ai/grok-4.1-fast")
CLAUDE = model("openrouter", "anthropic/claude-sonnet-4.6")
SERVED = [
    "openrouter-chat-thinking",
    "openrouter-chat-parallel-calls-stream",
    "openrouter-chat-after-calls-stream",
    "openrouter-chat-0f9001b4",
    "openrouter-chat-26e259a5",
    "openrouter-chat-3486b9a2",
    "openrouter-chat-570055f8",
    "openrouter-chat-9c9600f4",
    "openrouter-chat-add23f4f",
    "openrouter-chat-c898e58a",
]


def wire(outgoing):
    body = ChatDialect(QUIRKS).to_wire(outgoing).body
    assert problems("openrouter", "chat", body) == []
    return json.loads(body)


def assistant(body):
    return next(message for message in body["messages"] if message["role"] == "assistant")


async def replay(name, speaker=GROK) -> tuple[Message, Message]:
    events, error = await play(name, outgoing=request(speaker))
    assert error is None
    writer = Writer()
    user = writer.message(Role.USER, [TextBlock("?")])
    return user, as_message(complete(events), speaker, writer)


@pytest.mark.parametrize("name", cases(SERVED))
@pytest.mark.req("R-SWP-03", "R-ADP-17")
async def test_reasoning_entries_are_replayed_to_their_model(name):
    user, reply = await replay(name)
    sent = assistant(wire(request(GROK, build_request_view([user, reply, user], GROK))))[
        "reasoning_details"
    ]
    right = expected(name)["reasoning_details"]
    as_it_came = [
        {field: value for field, value in entry.items() if value is not None} for entry in right
    ]
    assert sent == as_it_came


@pytest.mark.parametrize("name", cases(SERVED))
@pytest.mark.req("R-ADP-05")
async def test_reasoning_is_never_sent_to_another_model(name, caplog):
    user, reply = await replay(name)
    body = wire(request(CLAUDE, build_request_view([user, reply, user], CLAUDE)))
    assert "reasoning" not in json.dumps(body)
    reasoning = (ThinkingBlock, RedactedThinkingBlock)
    dropped = sum(isinstance(block, reasoning) for block in reply.content)
    assert len(caplog.records) == dropped > 0


def test_reasoning_without_entries_is_replayed_as_one():
    writer = Writer()
    own = ReplyMetadata(model=GROK.id, provider="openrouter")
    history = [
        writer.message(Role.USER, [TextBlock("?")]),
        writer.message(
            Role.ASSISTANT,
            [ThinkingBlock("hm", "c2ln"), RedactedThinkingBlock("b3Bh"), TextBlock("a")],
            own,
        ),
    ]
    assert assistant(wire(request(GROK, history)))["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "b3Bh"},
    ]


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("anthropic/claude-sonnet-4.6", True),
        ("google/gemini-3.5-flash", True),
        ("qwen/qwen3-max", True),
        ("openai/gpt-5", False),
    ],
)
@pytest.mark.req("R-ADP-18")
def test_stable_prompt_ends_with_a_breakpoint_if_required(name, marked):
    target = model("openrouter", name)
    body = wire(request(target, build_request_view(build_full_history(target), target)))
    stable = {"type": "text", "text": "You write code.\n\nBe brief."}
    if marked:
        assert body["messages"][0]["content"] == [
            {**stable, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Today is a Friday."},
        ]
    assert json.dumps(body["messages"][0]).count("cache_control") == int(marked)


def test_missing_stable_prompt_has_no_breakpoint():
    writer = Writer()
    history = [
        writer.message(Role.SYSTEM, []),
        writer.message(Role.SYSTEM, [TextBlock("It is Friday.")]),
        writer.message(Role.USER, [TextBlock("?")]),
    ]
    assert wire(request(CLAUDE, history))["messages"][0]["content"] == "It is Friday."


@pytest.mark.parametrize(("effort", "sent"), [("low", "low"), ("max", "high")])
@pytest.mark.req("R-ADP-17")
def test_effort_is_a_separate_object(effort, sent):
    body = wire(request(GROK, build_full_history(GROK), (READ,), effort=effort))
    assert body["reasoning"] == {"effort": sent}
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("openrouter-chat-text", Decimal("0.00125")),
        ("openrouter-chat-text-stream", Decimal("0.00125")),
        ("openrouter-chat-no-usage", None),
        recorded("openrouter-chat-0f9001b4", Decimal("0.00020535")),
        recorded("openrouter-chat-19ec71a1", Decimal(0)),
        recorded("openrouter-chat-202cff58", None),
        recorded("openrouter-chat-6c3ec73c", Decimal("0.00341475")),
    ],
)
@pytest.mark.req("R-SEED-02")
async def test_reported_cost_is_part_of_the_usage(name, cost):
    events, _ = await play(name, outgoing=request(GROK))
    assert complete(events).usage.reported_cost_usd == cost
