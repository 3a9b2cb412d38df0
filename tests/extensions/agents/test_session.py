"""What surrounds a turn of an agent: stored sessions, steering, limits, commands and replay."""

import json
from contextlib import aclosing

import pytest
from acp.schema import (
    CancelNotification,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from tests.agent.harness import ALLOW, DENY, User, names, play
from tests.provider_server import Reply
from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import parse_input
from yourtool.events.deltas import TextDelta
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role

replay = pytest.importorskip("yourtool.extensions.lab.replay.player").replay

CALL = {"toolCallId": "c1", "title": "Run it", "kind": "execute"}
END = {"toolCallId": "c1", "status": "completed"}


async def run_command(on, text):
    """Return the results of a slash command."""
    invocation = parse_input(text)
    assert isinstance(invocation, Invocation)
    results = invocation.command.run(on.session, on.runtime, invocation.argument)
    return [each async for each in results]


async def test_messages_have_the_form_of_the_protocol(stage, work):
    steps = [
        {"ask": CALL, "allow_once": [{"tell": END}]},
        {"fs": "read_text_file", "path": str(work / "a.txt")},
        {"fs": "write_text_file", "path": str(work / "a.txt"), "content": "x"},
        {"say": "wait"},
        {"cancelled": []},
    ]
    async with stage(steps) as on:
        async with aclosing(on.session.send("hi")) as events:
            async for event in events:
                if isinstance(event, TextDelta) and "wait" in event.text:
                    on.session.cancel()
        received = {each.get("method"): each for each in on.received}
        for method, kind in (
            ("initialize", InitializeRequest),
            ("session/new", NewSessionRequest),
            ("session/prompt", PromptRequest),
            ("session/cancel", CancelNotification),
        ):
            assert received[method]["jsonrpc"] == "2.0"
            kind.model_validate(received[method]["params"])
        permission, text, written = (each["result"] for each in on.received if "result" in each)
        RequestPermissionResponse.model_validate(permission)
        ReadTextFileResponse.model_validate(text)
        WriteTextFileResponse.model_validate(written)


async def test_resumed_session_hands_the_stored_conversation_over(stage):
    async with stage([{"say": "one"}], [{"say": "two"}]) as on:
        await on.send("first")
        await on.session.close()
        on.session = await on.runtime.resume(on.session.id, on.user)
        await on.send("second")
        assert "first" in on.prompts[-1] and "one" in on.prompts[-1]
        assert on.prompts[-1].endswith("second")


async def test_message_to_the_running_turn_is_sent_when_the_prompt_ends(stage):
    steps = [{"ask": CALL, "allow_once": [{"tell": END}]}, {"say": "done"}]
    async with stage(steps, [{"echo": True}]) as on:
        waiting = [(TextBlock("and be brief"),)]

        async def steer():
            return waiting.pop() if waiting else None

        on.session.steer_with(steer)
        events = await on.send("go")
        assert on.prompts == ["go", "and be brief"]
        assert names(events)[-1] == "turn.completed"
        assert on.messages[-1].text == "doneand be brief"


async def test_prompt_of_a_turn_that_was_given_up_is_cancelled_before_the_next(stage):
    async with stage([{"say": "wait"}, {"cancelled": []}], [{"echo": True}]) as on:
        async with aclosing(on.session.send("first")) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await on.send("second")
        methods = [each.get("method") for each in on.received]
        assert methods[-3:] == ["session/prompt", "session/cancel", "session/prompt"]
        assert on.prompts[-1].endswith("second")
        assert on.messages[-1].text.endswith("second")


async def test_retry_sends_the_prompt_again(stage):
    async with stage([{"fail": "busy"}], [{"echo": True}]) as on:
        await on.send("first")
        await play(on.session.retry())
        assert on.prompts == ["first", "first"]
        assert on.messages[-1].text == "first"


async def test_limit_on_requests_ends_the_prompt(stage):
    steps = [{"ask": CALL, "allow_once": [{"tell": END}]}, {"cancelled": []}]
    async with stage(steps, max_turns=1) as on:
        events = await on.send("go")
        assert names(events)[-1] == "turn.completed"
        assert on.session.limit_reached
        assert any(each.get("method") == "session/cancel" for each in on.received)


async def test_summary_of_an_agents_conversation_is_written_without_it(stage):
    async with stage([{"say": "one"}], [{"say": "two"}], [{"echo": True}]) as on:
        await on.send("first")
        await on.send("second")
        await play(on.session.compact())
        await on.send("third")
        assert len(on.prompts) == 3
        assert "first" in on.prompts[-1], "a new session has the summary"


@pytest.mark.parametrize(
    "command",
    ["/model", "/model show", "/context", "/request", "/cost", "/why", "/models", "/changes"],
)
async def test_command_works_with_an_agent(stage, work, command):
    async with stage([{"write": [str(work / "b.txt"), "x"]}, {"say": "one"}]) as on:
        await on.send("first")
        if isinstance(parse_input(command), Invocation):
            assert await run_command(on, command)


async def test_preflight_shows_what_an_agent_does_not_get(stage, vendor):
    vendor(Reply(text="x"))
    async with stage(model="anthropic:claude-haiku-4-5") as on:
        await on.send("hi")
        found = await on.session.models.examine("acp:other")
        lines = [each.text for each in found.consequences if each.subject == "agent"]
        assert "its own prompt" in lines[0] and "one text" in lines[1] and "sandbox" in lines[2]


@pytest.mark.parametrize("answer", [ALLOW, DENY])
async def test_turn_of_an_agent_is_replayed_without_it(stage, work, tmp_path, answer):
    steps = [
        {"think": "hm"},
        {"write": [str(work / "b.txt"), "x"]},
        {"ask": CALL, "allow_once": [{"write": [str(work / "c.txt"), "y"]}, {"tell": END}]},
        {"tell": CALL | {"toolCallId": "c2", "status": "failed"}},
        {"say": "end"},
    ]
    (tmp_path / "scratch").mkdir()
    async with stage(steps, [{"die": 3}], user=User(answer)) as on:
        await on.send("one")
        await on.send("two")
        facts = await on.runtime.store.read(on.session.id)
        sent = len(on.received)
        result = await replay(facts, tmp_path / "scratch")
        assert result.is_same, result.difference
        assert len(on.received) == sent


async def test_stored_session_has_no_fault(stage, work):
    async with stage([{"write": [str(work / "b.txt"), "x"]}, {"die": 3}]) as on:
        events = await on.send("one")
        assert any(isinstance(each, LlmCallFailed) for each in events)
        assert any(isinstance(each, FilesChanged) for each in events)
        stored = json.dumps([each.role for each in on.messages])
        assert Role.TOOL not in stored
