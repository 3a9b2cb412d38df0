import json
import re

import pytest

from tests.providers.histories import as_message
from tests.providers.recorded_exchanges import (
    COUNTERS,
    NAMES,
    SEVERAL_RESPONSES,
    WITH_TEXT,
    cases,
    complete,
    dialect_of,
    exchange,
    expected,
    model,
    play,
    request,
    responses,
)
from tests.providers.stream_rules import CONTRADICTION, broken_rules
from tests.strategies import Writer
from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import Receipt
from yourtool.providers.requests.request_view import build_request_view

CONTRADICTORY = (
    "openai-responses-contradiction-stream",
    "openai-compat-responses-contradiction-stream",
    "openai-responses-0c12a649",
)
"""The text of their final event is longer than that of their deltas. The former is what is read;
the deltas cannot be called back, so they do not add up to the content."""


async def play_exchange(name):
    outgoing = request(model(exchange(name)["provider"]))
    chunks = responses()[-1:] if name == SEVERAL_RESPONSES else None
    return outgoing, *await play(name, chunks, outgoing=outgoing)


def blocks(events, kind):
    return [block for block in complete(events).final_content if isinstance(block, kind)]


@pytest.mark.parametrize("name", cases(NAMES))
@pytest.mark.req("R-ADP-02", "R-CAN-07")
@pytest.mark.sample(3)
async def test_recorded_exchange_follows_the_stream_rules(name):
    _, events, _ = await play_exchange(name)
    assert broken_rules(events) == ([CONTRADICTION] if name in CONTRADICTORY else [])


@pytest.mark.recorded
@pytest.mark.parametrize("at", range(4))
async def test_each_of_several_responses_in_one_body_is_complete(at):
    events, error = await play(SEVERAL_RESPONSES, [responses()[at]])
    assert error is None
    assert broken_rules(events) == []
    assert len(responses()) == 4


@pytest.mark.parametrize("name", cases(NAMES))
@pytest.mark.sample(3)
async def test_recorded_exchange_fails_only_if_expected(name):
    right, (_, events, error) = expected(name), await play_exchange(name)
    if right["error"] is not None:
        assert error is not None
        assert error.status == right["error"]["status"]
        assert _words(right["error"]["message"]) in error.message
    elif not right["complete"]:
        assert error is not None
        assert error.error_class == "network"
    else:
        assert error is None
        assert complete(events).stop_reason == right["stop_class"]
    if error is not None and events:
        assert complete(events).stop_reason is StopReason.ERROR
    if not events:
        assert error is not None
        assert (right["text"], right["thinking"], right["tool_calls"]) == ("", [], [])


def _words(message):
    """The provider's text without tags, line ends and keys, if all of it is stored."""
    plain = re.sub(r"sk-\w+", "[key]", re.sub(r"<[^>]*>", " ", message))
    return " ".join(plain.split())[:60]


def _kind(block):
    """The type of a provider's own block; None for a bare signature."""
    rest = (name for name in block if name not in ("text", "thoughtSignature"))
    return block.get("type") or next(rest, None)


@pytest.mark.parametrize("name", cases(WITH_TEXT))
@pytest.mark.sample(3)
async def test_recorded_exchange_has_the_recorded_text_and_reasoning(name):
    right, (_, events, error) = expected(name), await play_exchange(name)
    reply_text = "".join(block.text for block in blocks(events, TextBlock))
    if isinstance(right["text"], dict):  # Cloudflare decodes an answer that is held to a schema
        assert json.loads(reply_text) == right["text"]
    else:
        assert reply_text == right["text"] + (right["refusal"] or "")
    reasoning = [(block.text, block.signature) for block in blocks(events, ThinkingBlock)]
    assert reasoning == [(one["text"], one["signature"]) for one in right["thinking"]]
    sealed = [block.data for block in blocks(events, RedactedThinkingBlock)]
    assert sealed == right["redacted_thinking"]
    receipt = complete(events).receipt or Receipt()
    assert receipt.response_id == (right["response_id"] or None)
    if right["stop_reason"]:
        assert complete(events).stop_detail == right["stop_reason"]
    if error is None:
        raw = complete(events).provider_raw or {}
        stored = [_kind(entry["block"]) for entry in raw.get("blocks", ())]
        assert [kind for kind in stored if kind] == [
            block["type"] for block in right["server_blocks"]
        ]


@pytest.mark.parametrize("name", cases(WITH_TEXT))
@pytest.mark.sample(3)
async def test_recorded_exchange_has_the_recorded_calls_and_runs_no_incomplete_one(name):
    right, (outgoing, events, _) = expected(name), await play_exchange(name)
    open_calls = [{**one, "input": None} for one in right["unfinished_tool_calls"]]
    wanted = [*right["tool_calls"], *open_calls]
    calls = blocks(events, ToolUseBlock)
    names = [outgoing.tool_ids.issued_id(outgoing.model.provider, call.id) for call in calls]
    assert names == [one["id"] for one in wanted]
    assert [(call.name, call.input) for call in calls] == [
        (one["name"], one["input"] or {}) for one in wanted
    ]
    refused = [call.id in complete(events).tool_input_errors for call in calls]
    assert refused == [one["input"] is None for one in wanted]


@pytest.mark.parametrize("name", cases(WITH_TEXT))
@pytest.mark.req("R-ADP-12", "R-ADP-13")
@pytest.mark.sample(3)
async def test_recorded_exchange_has_the_recorded_usage(name):
    right, (_, events, _) = expected(name)["usage"], await play_exchange(name)
    usage = complete(events).usage
    uncached = right["uncached"]
    is_counted = uncached is not None and uncached["input_tokens"] is not None
    if is_counted and not expected(name)["complete"]:
        assert usage.output_tokens >= uncached["output_tokens"]
        assert usage.estimated is (usage.output_tokens > uncached["output_tokens"])
        assert usage.input_tokens == uncached["input_tokens"]
        return
    assert usage.estimated is not is_counted
    if usage.estimated:
        assert (
            usage.output_tokens == uncached["output_tokens"]
            if uncached
            else usage.output_tokens > 0
        )
    else:
        assert {counter: getattr(usage, counter) for counter in COUNTERS} == {
            counter: uncached[counter] or 0 for counter in COUNTERS
        }


DETAILED = [
    name
    for name in WITH_TEXT
    if expected(name).get("reasoning_details") and expected(name)["complete"]
    if not expected(name)["error"]
]


@pytest.mark.parametrize("name", cases(DETAILED))
@pytest.mark.req("R-SWP-03")
async def test_reasoning_entries_are_replayed_unchanged(name):
    right, (outgoing, events, _) = expected(name), await play_exchange(name)
    writer = Writer()
    prompt = writer.message(Role.USER, [TextBlock("?")])
    reply = as_message(complete(events), outgoing.model, writer)
    next_one = request(
        outgoing.model,
        build_request_view([prompt, reply], outgoing.model),
        tool_ids=outgoing.tool_ids,
    )
    messages = json.loads(dialect_of(name).to_wire(next_one).body)["messages"]
    [replayed] = [each for each in messages if each["role"] == "assistant"]
    assert replayed["reasoning_details"] == right["reasoning_details"]
