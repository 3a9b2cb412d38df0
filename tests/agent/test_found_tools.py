"""Tools of servers that models search, because all of them would fill the window."""

import itertools

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.many_tools import COUNT, define, many
from yourtool.events.tools import ToolFailed
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.agent_config import ContextConfig
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.tool_search import FIND_TOOLS
from yourtool.tools.toolset import JoinedToolset


async def opened(bench, script, **options):
    model = Checked(Scripted(script))
    toolset = JoinedToolset(default_toolbox(), many())
    return model, await bench.session(model, toolset=toolset, **options)


def names_of(request):
    return [each.name for each in request.tools]


@pytest.mark.req("R-TOOL-19")
async def test_found_tools_follow_all_others_in_later_requests(bench):
    script = [
        calls(FIND_TOOLS, words="action 7"),
        calls("mcp__many__act7"),
        calls(FIND_TOOLS, words="mcp__many__act3"),
        says("done"),
        says("again"),
    ]
    model, session = await opened(bench, script, confirm=User(ALLOW))
    events = await play(session.send("go"))
    await play(session.send("and again"))
    await session.close()
    assert not [each for each in events if isinstance(each, ToolFailed)]
    first, *later = map(names_of, model.requests)
    assert FIND_TOOLS in first and not [each for each in first if each.startswith("mcp__")]
    assert later[0][len(first)] == "mcp__many__act7"
    assert "mcp__many__act3" in later[2]
    for before, after in itertools.pairwise([first, *later]):
        assert after[: len(before)] == before, "what was sent before stays the start of the list"
    model, session = await opened(bench, [says("hello")], resume=session.id)
    await play(session.send("are you there?"))
    assert names_of(model.requests[0]) == later[-1], "a session that is opened again has them"
    await session.close()


async def test_call_of_a_tool_that_was_not_searched_runs_after_the_same_question(bench):
    user = User(DENY)
    _, session = await opened(bench, [calls("mcp__many__act9"), says("ok")], confirm=user)
    events = await play(session.send("go"))
    [failed] = [each for each in events if isinstance(each, ToolFailed)]
    assert failed.error_class == "user_denied" and len(user.asked) == 1
    await session.close()


async def test_share_of_the_window_is_a_setting(bench):
    settings = {"context": ContextConfig(search_tools_at=100)}
    model = Checked(Scripted([says("hello")]))
    session = await bench.session(model, toolset=many(), settings=settings)
    await play(session.send("go"))
    assert names_of(model.requests[0]) == [define(number).name for number in range(COUNT)]
    await session.close()
