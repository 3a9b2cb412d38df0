"""Tools of MCP servers in sessions: consent, rules, trust, and servers that fail in a turn."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.provider_server import ProviderServer, Reply
from tests.tools.servers.configured import good, hostile, started
from tests.trusted_folders import trust
from yourtool.agent.commands.parser import parse_input
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.tool_servers import load_servers
from yourtool.effects import Decision, Scope, Verdict
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import TurnCompleted
from yourtool.paths import resolve_paths
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.permissions.trust import MCP_SERVERS
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode, RunOptions
from yourtool.tools.servers.acceptance import FILE_NAME, Acceptance
from yourtool.tools.servers.server import ServerState

pytestmark = pytest.mark.needs("tools/mcp")

SESSION = Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)
ACT = "mcp__bad__act"


async def acted(bench, user, kind, *, times=1, entry=None, **options):
    """Let the model call the tool of a hostile server; return how the calls ended."""
    entries = {"bad": {**hostile(kind), **(entry or {})}}
    async with started(bench.workspace, entries) as servers:
        script = [*([calls(ACT)] * times), says("done")]
        session = await bench.session(
            Checked(Scripted(script)), toolset=servers, confirm=user, **options
        )
        events = await play(session.send("go"))
        await session.close()
    assert isinstance(events[-1], TurnCompleted), "the turn ends as any other"
    return [event for event in events if isinstance(event, ToolCompleted | ToolFailed)]


async def test_every_call_needs_an_approval_and_a_rule_names_the_tool(bench):
    user = User(DENY, SESSION)
    denied, first, second = await acted(bench, user, "twice", times=3)
    assert (denied.error_class, first.success, second.success) == ("user_denied", True, True)
    assert [each.rules for each in user.asked] == [(ACT,), (ACT,)]


async def test_rule_for_a_server_covers_all_of_its_tools(bench):
    user = User(DENY)
    allowing = RuleSet(allow=(Rule.parse("mcp__bad"),))
    [done] = await acted(bench, user, "twice", rules=allowing)
    assert done.success and not user.asked
    both = allowing | RuleSet(deny=(Rule.parse(ACT),))
    [denied] = await acted(bench, user, "twice", rules=both)
    assert denied.error_class == "user_denied"
    [other] = await acted(bench, user, "twice", rules=RuleSet(allow=(Rule.parse("mcp__ba"),)))
    assert other.error_class == "user_denied" and len(user.asked) == 1


async def test_plan_mode_refuses_tools_unless_the_user_set_that_they_read(bench):
    [denied] = await acted(bench, User(ALLOW), "twice", mode=Mode.PLAN)
    assert "Plan mode is on" in denied.error_message
    reads = {"effects": "read"}
    [done] = await acted(bench, User(DENY), "twice", mode=Mode.PLAN, entry=reads)
    assert done.success


@pytest.mark.parametrize("kind", ["dies", "huge", "wrong-result", "changes", "twice"])
async def test_turn_continues_after_whatever_a_server_does(bench, kind):
    results = await acted(bench, User(ALLOW), kind, times=2)
    assert len(results) == 2, "each call has one result"
    if kind not in ("twice", "changes"):
        assert all("The MCP server `bad`" in each.error_message for each in results)


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
    path = tmp_path / "work"
    path.mkdir()
    return path


async def run(text, session, runtime):
    """Return the results of a slash command."""
    found = parse_input(text)
    return [each async for each in found.command.run(session, runtime, found.argument)]


@asynccontextmanager
async def opened(work, **options):
    options = RunOptions(workspace=work, model="sonnet", **options)
    runtime = await Runtime.open(resolve_paths(), options)
    try:
        yield runtime
    finally:
        await runtime.close()


async def test_servers_of_a_project_need_trust_in_the_folder_and_an_answer(work):
    entry = {"command": "touch", "args": [str(work / "started")]}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    async with opened(work) as runtime:
        session = await runtime.new_session(User())
        assert runtime.tool_servers.find(work) is None, "there is no trust"
        [file] = session.trust.examine().files
        assert file.kind is MCP_SERVERS
        await session.close()
    trust(work)
    async with opened(work) as runtime:
        session = await runtime.new_session(User())
        [server] = runtime.tool_servers.find(work).servers
        await server.settle()
        assert server.state is ServerState.NOT_ACCEPTED and not (work / "started").exists()
        with pytest.raises(UsageError, match="`/mcp theirs` shows all of it"):
            await run("/mcp accept theirs", session, runtime)
        [report] = await run("/mcp theirs", session, runtime)
        shown = dict(report.sections[0].rows)
        assert str(work / "started") in shown["starts"] and "/mcp accept theirs" in shown["next"]
        [notice] = await run("/mcp accept theirs", session, runtime)
        assert notice.text.startswith("Accepted the MCP server theirs")
        await server.settle()
        assert (work / "started").exists()
        await session.close()


async def test_answer_about_the_folder_starts_and_ends_its_servers_at_once(work):
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": good()}}))
    async with opened(work) as runtime:
        session = await runtime.new_session(User())
        [choose] = await run("/trust", session, runtime)
        trusts, declines = (each.value for each in choose.choices[:2])
        *_, notice = await collect(choose.then(trusts))
        assert "`/mcp accept theirs` starts it" in notice.text
        [listed] = await run("/mcp", session, runtime)
        assert [(each.title, each.cells[0]) for each in listed.choices] == [
            ("theirs", "not accepted")
        ]
        await run("/mcp theirs", session, runtime)
        await run("/mcp accept theirs", session, runtime)
        server = runtime.tool_servers.find(work).find("theirs")
        await server.settle()
        assert await runtime.tool_servers.renew(work) == ()
        assert runtime.tool_servers.find(work).find("theirs") is server, "it was not restarted"
        names = [each.name for each in session._env.tools.renew().definitions]
        assert "mcp__theirs__echo" in names
        await collect(choose.then(declines))
        assert runtime.tool_servers.find(work).servers == ()
        [notice] = await run("/mcp", session, runtime)
        assert "no MCP servers" in notice.text
        await session.close()


@pytest.fixture
def asks_twice(monkeypatch):
    """A provider whose model runs a command in each of two turns."""
    turn = [Reply("I look.", [("shell", {"command": "ls"})]), Reply("Done.")]
    with ProviderServer(turn * 2) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield


async def test_answer_to_a_command_that_trusts_the_folder_starts_its_servers(work, asks_twice):
    answered = {"accepted": good(), "broken": {"command": "no-such-program"}}
    servers = {**answered, "unseen": {"command": "touch", "args": [str(work / "started")]}}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    trust(work)
    loaded = load_servers(work, resolve_paths(), None)
    store = Acceptance(resolve_paths().home / FILE_NAME)
    for each in loaded.servers[:2]:
        store.accept_definition(each)
    ProjectTrust(work).store.remove(work)
    async with opened(work) as runtime:
        news = []
        runtime.tool_servers.on_news = news.append
        session = await runtime.new_session(User(replace(ALLOW, trusts_folder=True)))
        assert runtime.tool_servers.find(work) is None, "there is no trust"
        events = await play(session.send("go"))
        texts = [each.text for each in events if isinstance(each, Notice)]
        assert f"Trusted {work}." in texts
        assert ["`/mcp accept unseen` starts it" in each for each in texts].count(True) == 1
        found = runtime.tool_servers.find(work)
        await found.settle(60)
        async with asyncio.timeout(20):
            while len(news) < 2:
                await asyncio.sleep(0.01)
        shown = sorted((each.level, each.text) for each in news)
        assert shown[0][0] == "info"
        assert "`accepted` is connected; its" in shown[0][1]
        assert shown[1][0] == "warning" and "no-such-program" in shown[1][1]
        assert not (work / "started").exists()
        again = [each.text for each in await play(session.send("go")) if isinstance(each, Notice)]
        assert not [each for each in again if "MCP server" in each], "each line is shown once"
        await session.close()


async def test_server_that_waits_for_an_answer_is_named_once(work, asks_twice):
    entry = {"command": "touch", "args": [str(work / "started")]}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    async with opened(work) as runtime:
        session = await runtime.new_session(User(ALLOW, ALLOW))
        [choose] = await run("/trust", session, runtime)
        notices = await collect(choose.then(choose.choices[0].value))
        for _ in range(2):
            notices += await play(session.send("go"))
        named = [each.text for each in notices if "theirs" in getattr(each, "text", "")]
        assert len(named) == 1, named
        await session.close()


async def collect(results):
    """Return the results of an answer."""
    return [each async for each in results]


@pytest.mark.remaining
async def test_run_without_a_user_waits_for_its_servers(work, tmp_path):
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"good": good()}}))
    async with opened(work, mcp_config=file, interactive=False) as runtime:
        session = await runtime.new_session(User())
        assert runtime.tool_servers.find(work).servers[0].state is ServerState.CONNECTED
        await session.close()
