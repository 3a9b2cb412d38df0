import json

import pytest

from tests.providers.histories import as_message
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    adapter,
    collect_events,
    complete,
    exchange,
    expected,
    model,
    problems,
    recorded,
    request,
)
from tests.strategies import Writer
from yourtool.messages.blocks import TextBlock, ToolResultBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap

OWN = (
    ("anthropic-messages-call-stream", "anthropic-messages-after-call-stream"),
    ("openai-chat-parallel-calls-stream", "openai-chat-after-calls-stream"),
    ("openrouter-chat-parallel-calls-stream", "openrouter-chat-after-calls-stream"),
)
RECORDED = (
    ("anthropic-messages-36913693", "anthropic-messages-b0fd1c9d"),
    ("openai-chat-93025548", "openai-chat-fae50610"),
    ("openrouter-chat-26e259a5", "openrouter-chat-3486b9a2"),
)
"""Replies of which the first calls tools and the second ends the turn."""
APIS = {"anthropic": "messages", "openai": "chat", "openrouter": "chat"}


@pytest.mark.parametrize("turns", [pytest.param(OWN, id="own"), recorded(RECORDED, id="recorded")])
@pytest.mark.req("R-ADP-04")
async def test_six_turns_with_three_providers_are_all_accepted(turns):
    writer, ids, history = Writer(), ToolIdMap(), []
    for calling, closing in turns * 2:
        history.append(writer.message(Role.USER, [TextBlock("go on")]))
        for name in (calling, closing):
            body = exchange(name)["response"]["body"].encode()
            transport = Playback([body])
            speaker = model(exchange(name)["provider"])
            outgoing = request(speaker, build_request_view(history, speaker), (READ,), tool_ids=ids)
            events, error = await collect_events(adapter(name, transport), outgoing)
            assert error is None
            posted = transport.posted[0][1]
            assert problems(speaker.provider, APIS[speaker.provider], posted) == []
            history.append(as_message(complete(events), speaker, writer))
            history += [
                writer.message(
                    Role.TOOL,
                    [ToolResultBlock(call.id, (TextBlock("5"),))],
                    ResultMetadata(parent_tool_use_id=call.id),
                )
                for call in history[-1].tool_uses
            ]
    assert validate_session(history) == []
    calls = [call.id for message in history for call in message.tool_uses]
    assert len(calls) == len(set(calls)) == 10
    sent_messages = json.loads(posted)["messages"]
    sent = [call["id"] for message in sent_messages for call in message.get("tool_calls", ())]
    assert sent[3:5] == [call["id"] for call in expected(turns[2][0])["tool_calls"]]
    assert len(sent) == len(set(sent)) == 10
