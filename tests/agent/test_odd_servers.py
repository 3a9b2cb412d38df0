"""MCP servers that are odd in many ways: each call has one result, and the user one question."""

import sys

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.servers.configured import HERE, started
from tests.tools.servers.odd_server import KINDS
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import TurnCompleted
from yourtool.providers.scripted import Scripted, calls, says

pytestmark = pytest.mark.needs("tools/mcp")

ACT = "mcp__odd__act"


async def check(bench, kind, user):
    """Let the model call a tool twice, and return the results."""
    arguments = ["-I", str(HERE / "odd_server.py"), kind]
    entry = {"command": sys.executable, "args": arguments, "timeoutSeconds": 0.5}
    async with started(bench.workspace, {"odd": entry}) as servers:
        script = [calls(ACT), calls(ACT), says("done")]
        session = await bench.session(Checked(Scripted(script)), toolset=servers, confirm=user)
        events = await play(session.send("go"))
        await session.close()
    assert isinstance(events[-1], TurnCompleted)
    results = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    assert len(results) == 2, "each call has one result"
    ran = [each for each in results if isinstance(each, ToolCompleted) and each.success]
    assert len(ran) <= len(user.asked) <= 2, "no call runs without an answer"
    return results


def test_there_are_at_least_forty_kinds():
    assert len(set(KINDS)) == len(KINDS) >= 40


@pytest.mark.sample(10)
@pytest.mark.parametrize("kind", KINDS)
async def test_odd_server_ends_no_turn_and_each_call_has_one_result(bench, kind):
    for result in await check(bench, kind, User(ALLOW)):
        assert "\x1b" not in str(result.message.result.content)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
async def test_odd_server_runs_nothing_that_the_user_denies(bench, kind):
    for _ in range(20):
        user = User(DENY)
        results = await check(bench, kind, user)
        assert not [each for each in results if isinstance(each, ToolCompleted)]
