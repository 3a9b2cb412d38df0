"""Tools that are not built in: from a source that changes, with schemas of any content."""

from tests.agent.harness import User, names, play
from yourtool.effects import Decision, Scope, SideEffects, ToolDefinition, Verdict
from yourtool.events.deltas import Notice
from yourtool.messages.invariants import validate_session
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.toolset import JoinedToolset, Toolbox

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"count": {"$ref": "#/definitions/Count"}},
    "required": ["count"],
    "definitions": {"Count": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
}


def server_tool(name, description="From a server."):
    async def run(arguments, context):
        return f"{name} {arguments['count']}"

    return SchemaTool(
        ToolDefinition(
            name=name,
            description=description,
            input_schema=SCHEMA,
            side_effects=SideEffects.NETWORK,
            subject_kind="opaque",
        ),
        run,
    )


class Server:
    """A toolset whose tools change."""

    def __init__(self, *tools):
        self.tools = tools
        self.requests = 0
        self.error = None

    def current(self):
        self.requests += 1
        if self.error is not None:
            raise self.error
        return Toolbox(self.tools)


def results(session):
    return [
        block.content[0].text
        for message in session.state.messages
        for block in message.content
        if hasattr(block, "tool_use_id")
    ]


async def test_turn_uses_the_tools_that_its_source_has_when_it_starts(bench):
    script = Scripted(
        [calls("srv__get-sum", count=1), says("x"), calls("srv__Other", count=None), says("x")]
    )
    server = Server(server_tool("srv__get-sum"))
    session = await bench.session(script, confirm=User(), toolset=server)
    await play(session.send("one"))
    server.tools = (server_tool("srv__Other"),)
    await play(session.send("two"))
    assert results(session) == ["srv__get-sum 1", "srv__Other None"]
    await session.close()


async def test_turn_asks_its_toolset_once(bench):
    server = Server(server_tool("srv__get-sum"))
    script = Scripted([calls("srv__get-sum", count=1), says("x")])
    session = await bench.session(script, toolset=server)
    opened = server.requests
    await play(session.send("one"))
    assert server.requests == opened + 1
    await session.close()


async def test_foreign_tool_without_a_description_is_described_by_its_name(bench):
    script = Scripted([calls("srv__get-sum", count=1), says("x")])
    session = await bench.session(script, toolset=Server(server_tool("srv__get-sum", "")))
    await play(session.send("go"))
    assert results(session) == ["srv__get-sum 1"]
    assert script.requests[0].tools[0].description == "srv__get-sum"
    await session.close()


async def test_turn_continues_without_the_tools_of_a_source_with_an_error(bench):
    server = Server(server_tool("srv__get-sum"))
    session = await bench.session(Scripted([says("a"), says("b")]), toolset=server)
    server.error = OSError("the server is gone")
    events = await play(session.send("one"))
    assert any("the server is gone" in each.text for each in events if isinstance(each, Notice))
    assert names(events)[-1] == "turn.completed"
    server.error = None
    await play(session.send("two"))
    assert validate_session(session.state.messages) == []
    await session.close()


async def test_tool_with_an_invalid_name_is_omitted_and_the_others_stay(bench):
    server = Server(server_tool("no good\x1b[2J"), server_tool("srv__get-sum"))
    script = Scripted([calls("srv__get-sum", count=1), says("x")])
    session = await bench.session(script, confirm=User(), toolset=server)
    events = await play(session.send("go"))
    assert results(session) == ["srv__get-sum 1"]
    assert [each.name for each in script.requests[0].tools] == ["srv__get-sum"]
    [notice] = [each.text for each in events if isinstance(each, Notice)]
    assert notice.startswith(r"The tool 'no good\x1b[2J' cannot be called: a name has")
    await session.close()


async def test_built_in_tools_are_joined_with_those_of_a_server(bench):
    (bench.workspace / "a.txt").write_text("a cat")
    server = Server(server_tool("read_file"), server_tool("srv__get-sum"))
    script = Scripted([calls("read_file", path="a.txt"), calls("srv__get-sum", count=1), says("x")])
    session = await bench.session(script, toolset=JoinedToolset(default_toolbox(), server))
    events = await play(session.send("go"))
    assert "a cat" in results(session)[0]
    assert results(session)[1] == "srv__get-sum 1"
    assert any("`read_file`" in each.text for each in events if isinstance(each, Notice))
    await session.close()


async def test_approval_of_a_foreign_tool_can_cover_all_its_later_calls(bench):
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION))
    script = Scripted(
        [
            calls("srv__get-sum", count=1),
            calls("srv__get-sum", count=2),
            calls("srv__other", count=3),
            says("x"),
        ]
    )
    tools = [server_tool("srv__get-sum"), server_tool("srv__other")]
    session = await bench.session(script, confirm=user, tools=tools)
    await play(session.send("go"))
    assert [(asked.input, asked.rules) for asked in user.asked] == [
        ({"count": 1}, ("srv__get-sum",)),
        ({"count": 3}, ("srv__other",)),
    ]
    await session.close()


async def test_rule_with_the_name_of_a_foreign_tool_matches_its_calls(bench):
    for rules, expected in (
        (RuleSet(allow=(Rule.parse("srv__get-sum"),)), "tool.completed"),
        (RuleSet(deny=(Rule.parse("srv__get-sum"),)), "tool.failed"),
    ):
        user = User()
        script = Scripted([calls("srv__get-sum", count=1), says("x")])
        tools = [server_tool("srv__get-sum")]
        session = await bench.session(script, confirm=user, rules=rules, tools=tools)
        assert expected in names(await play(session.send("go")))
        assert user.asked == []
        await session.close()


async def test_wrong_arguments_of_a_foreign_tool_reach_the_model_with_the_problem(bench):
    script = Scripted([calls("srv__get-sum", count="x"), says("x")])
    session = await bench.session(script, mode=Mode.AUTO, tools=[server_tool("srv__get-sum")])
    events = names(await play(session.send("go")))
    assert "tool.input_invalid" in events
    assert "expected integer" in results(session)[0]
    await session.close()
