"""The search among the tools of servers."""

import pytest

from tests.server_tools import SERVER_TOOLS
from tests.tools.contexts import answer, call, get_refusal
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.models import AdapterCapabilities, Model
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.tool_search import FIND_TOOLS, FOUND, build_find_tools, search_tools
from yourtool.tools.toolset import Toolbox


def define(name, description="", **properties):
    return ToolDefinition(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties},
        side_effects=SideEffects.NETWORK,
        is_searchable=True,
    )


ISSUE = define("mcp__hub__createIssue", "Open a ticket.", title={"type": "string"})
BRANCH = define("mcp__hub__create_branch", "Start a line of work from a commit.")
WEATHER = define("mcp__sky__forecast", "The weather of a place.", latitude={"type": "number"})
TOOLS = (ISSUE, BRANCH, WEATHER)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("issue", [ISSUE]),
        ("create", [ISSUE, BRANCH]),
        ("create an issue", [ISSUE, BRANCH]),
        ("ticket", [ISSUE]),
        ("latitude", [WEATHER]),
        ("fore", [WEATHER]),
        ("mcp__sky__forecast, mcp__hub__create_branch", [BRANCH, WEATHER, ISSUE]),
        ("zebra", []),
        ("…", []),
    ],
)
def test_tools_are_found_by_words_of_names_descriptions_and_fields(words, found):
    assert search_tools(TOOLS, words) == found


async def test_call_returns_names_for_the_following_requests(context):
    tool = build_find_tools(TOOLS, ["mcp__hub", "mcp__sky"])
    assert "mcp__hub, mcp__sky" in tool.definition.description
    assert "- mcp__sky__forecast: The weather" in await answer(tool, context, words="weather")
    result = await call(tool, context, words="weather")
    assert result.details == {FOUND: ["mcp__sky__forecast"]}
    await get_refusal(tool, context, "none of the 3 tools matches `zebra`", words="zebra")


async def nothing(arguments, context):
    return "done"


def test_tools_are_searched_when_they_take_more_than_the_share_of_the_window():
    definitions = [define(name, "Acts. " * 50) for name in sorted(SERVER_TOOLS)]
    search = build_find_tools(definitions, ["mcp__all"])
    box = Toolbox((search, *(SchemaTool(each, nothing) for each in definitions)))
    names = [each.name for each in definitions]

    def offered(window, *found, share=5):
        can = AdapterCapabilities(max_context_tokens=window)
        model = Model(id="openai:any", wire_name="any", capabilities=can)
        return [each.name for each in box.offered_to(model, found, share)]

    assert offered(1_000_000) == names
    assert offered(20_000) == [FIND_TOOLS]
    assert offered(20_000, share=100) == names
    assert offered(20_000, names[3], "gone", names[1]) == [FIND_TOOLS, names[3], names[1]]
    assert offered(1_000_000, names[3], names[1]) == names, "the order stays that of the servers"
    assert box.get(names[0]) is not None, "a call of a tool that was not searched runs"
    without = Toolbox(SchemaTool(each, nothing) for each in definitions)
    can = AdapterCapabilities(max_context_tokens=20_000)
    model = Model(id="openai:any", wire_name="any", capabilities=can)
    assert len(without.offered_to(model)) == len(names), "there is nothing to search them with"
