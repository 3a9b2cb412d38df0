"""What MCP servers offer to the user: prompts, resources, and questions during a call."""

import asyncio
import json

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.agent.test_tool_servers import opened
from tests.tools.servers.configured import hostile, offering, started
from yourtool.agent.commands.base import SendPrompt
from yourtool.agent.commands.command_table import read_commands
from yourtool.agent.commands.parser import parse_input
from yourtool.effects import Decision, Verdict
from yourtool.errors import UsageError
from yourtool.events.tools import ToolCompleted
from yourtool.providers.scripted import Scripted, calls, says

pytestmark = pytest.mark.needs("tools/mcp")


def types(text):
    return Decision(verdict=Verdict.ALLOW, typed=text)


@pytest.fixture
async def work(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
    (tmp_path / "work").mkdir()
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"offers": offering()}}))
    return tmp_path / "work"


async def run(text, session, runtime):
    commands, _ = await read_commands(session, runtime)
    found = parse_input(text, commands)
    return [each async for each in found.command.run(session, runtime, found.argument)]


@pytest.mark.remaining
async def test_prompts_are_commands_and_resources_are_mentions(work):
    async with opened(work, mcp_config=work.parent / "servers.json") as runtime:
        session = await runtime.new_session(User())
        servers = runtime.tool_servers.find(work)
        await servers.settle(20)
        while len(servers.find_prompts()) < 2:
            await asyncio.sleep(0.01)
        commands, _ = await read_commands(session, runtime)
        command = commands.find("mcp__offers__review")
        assert command.usage == "/mcp__offers__review path [depth]"
        assert command.summary == "Review a file. (MCP server)"
        [sent] = await run("/mcp__offers__review a.py very deep", session, runtime)
        assert sent == SendPrompt("Review a.py, very deep.␛[31m")
        [sent] = await run("/mcp__offers__plain_text", session, runtime)
        assert sent == SendPrompt("Be plain.")
        with pytest.raises(UsageError, match="needs `path` as word 1"):
            await run("/mcp__offers__review", session, runtime)
        assert session.list_files(9) == ["offers:notes://today"]
        files = session.mentioned_files
        [mention] = files.find("see @offers:notes://today.")
        assert mention.label == "offers:notes://today, a resource"
        [block] = await files.attach("see @offers:notes://today.")
        assert block.text == "[resource notes://today]\nBuy pears.␛[2J"
        [block] = await files.attach("(@offers:notes://monday/first)")
        assert block.text.endswith("The first note of monday.")
        with pytest.raises(UsageError, match="`@offers:notes://none` cannot be attached"):
            await files.attach("@offers:notes://none")
        await session.close()
    assert commands.find("mcp__offers__review") is None


async def acted(bench, user, kind, **options):
    """Let the model call a tool that asks; return what the server got."""
    async with started(bench.workspace, {"bad": hostile(kind)}) as servers:
        script = [calls("mcp__bad__act"), says("done")]
        model = Checked(Scripted(script))
        session = await bench.session(model, toolset=servers, confirm=user, **options)
        events = await play(session.send("go"))
        await session.close()
    [done] = [each for each in events if isinstance(each, ToolCompleted)]
    return json.loads(done.message.result.content[0].text)


async def test_question_of_a_server_is_asked_field_by_field(bench):
    user = User(ALLOW, types("plum"), types("pear"), types(""), types("yes"))
    content = {"fruit": "pear", "count": 1, "wrapped": True}
    assert await acted(bench, user, "asks") == {"action": "accept", "content": content}
    approval, *asked = user.asked
    assert approval.kind == "tool" and {each.kind for each in asked} == {"question"}
    assert [each.title for each in asked] == [
        "The MCP server `bad` asks for fruit",
        "The MCP server `bad` asks for fruit: `plum` is not one of apple, pear",
        "The MCP server `bad` asks for count",
        "The MCP server `bad` asks for wrapped",
    ]
    assert asked[0].reason == "What do you want?\nWhich fruit; one of: apple, pear"


async def test_question_that_the_user_does_not_answer_is_declined(bench):
    assert await acted(bench, User(ALLOW, DENY), "asks") == {"action": "decline"}


async def test_question_without_a_user_is_cancelled(bench):
    user = User(ALLOW)
    assert await acted(bench, user, "asks", interactive=False) == {"action": "cancel"}
    assert [each.kind for each in user.asked] == ["tool"]


async def test_sampling_is_refused(bench):
    refused = await acted(bench, User(ALLOW), "samples")
    assert refused["message"] == "Sampling not supported"
