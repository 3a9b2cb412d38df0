"""An agent as the model of a session: its text, and the swap to it and back."""

import json

import pytest

from tests.agent.harness import names, play
from tests.provider_server import Reply
from yourtool.messages.message import Role

VENDORS = (
    "anthropic:claude-haiku-4-5",
    "openai:gpt-6-sol",
    "google:gemini-3.5-flash",
    "openrouter:anthropic/claude-sonnet-4.6",
)


async def test_text_and_thoughts_are_a_reply(stage):
    async with stage([{"think": "hm"}, {"say": "Hel"}, {"say": "lo"}]) as on:
        events = await on.send("hi")
        assert names(events)[-1] == "turn.completed"
        reply = on.messages[-1]
        assert reply.role is Role.ASSISTANT and reply.text == "Hello"
        assert reply.metadata.model == "acp:other"
        assert reply.metadata.usage.input_tokens == 7
        assert on.prompts == ["hi"]


async def test_second_prompt_has_only_the_new_text(stage):
    async with stage([{"say": "one"}]) as on:
        await on.send("first")
        await on.send("second")
        assert on.prompts == ["first", "second"]
        assert on.messages[-1].text == "second"


@pytest.mark.parametrize("other", VENDORS)
async def test_swap_to_a_vendor_and_back_hands_the_conversation_over(stage, vendor, other):
    server = vendor(Reply(text="vendor here"))
    seen = {"type": "content", "content": {"type": "text", "text": "seen 42"}}
    call = {"toolCallId": "c1", "title": "Look", "kind": "read"}
    call |= {"status": "completed", "content": [seen]}
    async with stage([{"say": "I look."}, {"tell": call}, {"say": "Done."}]) as on:
        await on.send("look around")
        await on.select(other)
        await on.send("and you?")
        assert on.messages[-1].text == "vendor here"
        _, request = server.requests[-1]
        sent = json.dumps(request)
        assert "seen 42" in sent and "agent_report" in sent
        assert "agent_" not in json.dumps(request["tools"]), "its tools are not offered"
        await on.select("acp:other")
        await on.send("back to you")
        assert len(on.prompts) == 2
        handed = on.prompts[-1]
        assert "and you?" in handed and "vendor here" in handed
        assert "look around" not in handed, "the agent has that"
        assert handed.endswith("back to you")


async def test_agent_that_joins_gets_the_conversation_as_a_text(stage, vendor):
    vendor(Reply(text="the answer is 42"))
    async with stage([{"echo": True}], model="anthropic:claude-haiku-4-5") as on:
        await on.send("what is it?")
        events = await on.select("acp:other")
        assert names(events) == ["session.model_selected"]
        events = await on.send("go on")
        assert "context.handed_over" in names(events)
        assert "what is it?" in on.prompts[0] and "the answer is 42" in on.prompts[0]
        assert on.prompts[0].endswith("go on")


async def test_rewind_starts_a_new_session_of_the_agent(stage):
    async with stage([{"say": "one"}]) as on:
        await on.send("first")
        await on.send("second")
        first_reply = on.messages[1].id
        await play(on.session.tree.move(first_reply))
        await on.send("third")
        opened = [each for each in on.received if each.get("method") == "session/new"]
        assert len(opened) == 2
        assert "first" in on.prompts[-1] and "second" not in on.prompts[-1]
