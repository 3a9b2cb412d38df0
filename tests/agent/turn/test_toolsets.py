"""Tools that are not built in: from a source that changes, with schemas of any content."""

from tests.agent.harness import User, names, play
from yourtool.config import Mode
from yourtool.effects import Decision, Scope, SideEffects, ToolDefinition, Verdict
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.tools.schema_tool import SchemaTool
from yourtool.tools.toolset import Toolbox

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"count": {"$ref": "#/definitions/Count"}},
    "required": ["count"],
    "definitions": {"Count": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
}


def server_tool(name):
    async def run(arguments, context):
        return f"{name} {arguments['count']}"

    return SchemaTool(
        ToolDefinition(
            name=name,
            description="From a server.",
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

    def current(self):
        self.requests += 1
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


async def test_foreign_tool_needs_an_approval_that_cannot_become_a_rule(bench):
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS))
    script = Scripted([calls("srv__get-sum", count=1), says("x")])
    session = await bench.session(script, confirm=user, tools=[server_tool("srv__get-sum")])
    await play(session.send("go"))
    assert [asked.input for asked in user.asked] == [{"count": 1}]
    assert user.asked[0].rule is None
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
