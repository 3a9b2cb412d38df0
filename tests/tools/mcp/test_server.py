"""Servers that are real processes, good and hostile ones."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.tools.contexts import answer, call, get_refusal
from tests.tools.sandbox.levels import build_sandbox, find_reason
from tests.tools.servers.configured import HERE, good, hostile, load, started
from yourtool.errors import ToolFailure
from yourtool.messages.blocks import ImageBlock
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.processes.environments import Environments
from yourtool.tools.servers.acceptance import Acceptance
from yourtool.tools.servers.server import ServerState
from yourtool.tools.tool_search import FIND_TOOLS


def tool(servers, name):
    found = servers.current().get(name)
    assert found is not None, servers.find_problems()
    return found


@pytest.mark.req("R-TOOL-19")
@pytest.mark.remaining
async def test_tools_of_a_server_are_called_under_their_names(root, context, contexts, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary-0000")
    monkeypatch.setenv("PLAIN", "seen")
    entry = good(env={"GIVEN": "${PLAIN}-${NONE:-default}"})
    built = Environments(provider_keys=frozenset({"ANTHROPIC_API_KEY"}))
    async with started(root, {"my server": entry}, environments=built) as servers:
        [server] = servers.servers
        assert server.state is ServerState.CONNECTED and server.problem is None
        assert server.instructions == "Be gentle."
        echo = tool(servers, "mcp__my_server__echo")
        assert await answer(echo, context, text="ab", times=2) == "abab"
        await get_refusal(
            echo, context, "$.text: is required", failure=ToolFailure.VALIDATION_ERROR
        )
        names = (await answer(tool(servers, "mcp__my_server__variables"), context)).split()
        assert {"GIVEN", "PLAIN"} <= set(names) and "ANTHROPIC_API_KEY" not in names
        pid, group = (await answer(tool(servers, "mcp__my_server__group"), context)).split()
        assert pid == group != str(os.getpgrp())
        await get_refusal(
            tool(servers, "mcp__my_server__fails_always"), context, "`my server` reports an error"
        )
        picture = tool(servers, "mcp__my_server__picture")
        assert "does not accept" in await answer(picture, context)
        seeing = contexts(image_limit=10_000)
        assert any(isinstance(each, ImageBlock) for each in (await call(picture, seeing)).content)
        long = await answer(echo, context, text="line\n", times=50_000)
        assert len(long) < 60_000 and "read the full output in ranges" in long
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("silent", "did not answer within 0.5 s"),
        pytest.param(
            "garbage", "prints text that is no JSON-RPC message", marks=pytest.mark.remaining
        ),
        ("exits", "ended; its last message is: no database"),
    ],
)
async def test_server_that_does_not_connect_has_failed_with_its_reason(root, kind, reason):
    async with started(
        root, {"bad": hostile(kind)}, connect_seconds=0.5 if kind == "silent" else 20
    ) as servers:
        [server] = servers.servers
        assert server.state is ServerState.FAILED and server.reason == reason
        assert not list(servers.current())
        [problem] = servers.current().problems
        assert problem.startswith("The MCP server `bad` (/home/me/mcp.json:3) ")


async def test_failed_server_in_the_sandbox_names_the_setting_that_leaves_it(root):
    await asyncio.to_thread(find_reason, SandboxLevel.FULL)
    sandbox = build_sandbox(root, SandboxLevel.FULL)
    script = shutil.copy(HERE / "hostile_server.py", root)  # other places can be hidden
    boxed, free = (hostile("exits", script, sandbox=each) for each in (True, False))
    servers = {"boxed": boxed, "free": free}
    async with started(root, servers, sandbox=sandbox) as found:
        reasons = {each.name: each.reason for each in found.servers}
    plain = "ended; its last message is: no database"
    way_out = '; it runs in the sandbox, unless your own `mcp.json` has it with `"sandbox": false`'
    assert reasons == {"boxed": plain + way_out, "free": plain}


async def find_variables(root, context, entry, source="user"):
    """Return the variables of a server that can run in the full sandbox."""
    await asyncio.to_thread(find_reason, SandboxLevel.FULL)
    around = {"sandbox": build_sandbox(root, SandboxLevel.FULL)}
    Acceptance(root.parent / "accepted" / "mcp_accepted.json").accept_definition(
        load({"a": entry}, source).servers[0]
    )
    async with started(root, {"a": entry}, source=source, **around) as servers:
        names = await answer(tool(servers, "mcp__a__variables"), context)
    return set(names.split())


@pytest.mark.parametrize("is_in_workspace", [False, True])
@pytest.mark.sample(2)
async def test_server_of_the_user_is_outside_unless_models_can_change_it(
    root, context, monkeypatch, is_in_workspace
):
    monkeypatch.setenv("MY_TOKEN", "mine")
    entry = good()
    if is_in_workspace:
        entry["args"] = [Path(shutil.copy(HERE / "good_server.py", root)).name]
    names = await find_variables(root, context, entry)
    assert ("YOURTOOL_SANDBOX" in names) == is_in_workspace == ("MY_TOKEN" not in names)


@pytest.mark.remaining
async def test_setting_of_the_user_decides_where_a_server_runs(root, context):
    script = shutil.copy(HERE / "good_server.py", root)
    for sandbox in (False, True):
        entry = good(args=[script], sandbox=sandbox)
        names = await find_variables(root, context, entry)
        assert ("YOURTOOL_SANDBOX" in names) == sandbox


@pytest.mark.parametrize("hosts", [[], ["example.org"]])
async def test_server_of_a_project_is_in_the_sandbox_with_its_hosts(
    root, context, monkeypatch, hosts
):
    monkeypatch.setenv("MY_TOKEN", "mine")
    monkeypatch.setenv("NODE_ENV", "test")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    script = shutil.copy(HERE / "good_server.py", root)
    names = await find_variables(root, context, good(args=[script], hosts=hosts), "project")
    assert {"YOURTOOL_SANDBOX", "NODE_ENV"} <= names and "MY_TOKEN" not in names
    assert ("HTTPS_PROXY" in names) == bool(hosts)


async def test_program_that_does_not_exist_is_named_with_its_place(root):
    async with started(root, {"bad": {"command": "no-such-program"}}) as servers:
        assert "there is no program `no-such-program`; install it" in servers.servers[0].reason
        assert "/home/me/mcp.json:3" in servers.servers[0].reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("dies", "ended during the call. It may have had its effect"),
        ("huge", "sent a message of over 8 MiB during the call"),
        ("wide", "sent a message with over 100,000 values during the call"),
        ("pings", "sent over 1,000 requests without reading the answers during the call"),
        ("wrong-result", "sent a result that is not valid"),
        ("silent-call", "has no result within 0.3 s"),
        ("refuses", "refused the call: the disk is full"),
    ],
)
@pytest.mark.sample(7)
async def test_call_of_a_server_that_fails_has_one_result(root, context, kind, reason):
    async with started(
        root, {"bad": hostile(kind, timeoutSeconds=0.3 if "silent" in kind else 60)}
    ) as servers:
        failure = ToolFailure.TIMEOUT if kind == "silent-call" else ToolFailure.EXECUTION_ERROR
        act = tool(servers, "mcp__bad__act")
        await get_refusal(act, context, f"The MCP server `bad` {reason}", failure=failure)


async def test_second_answer_and_text_between_messages_are_ignored(root, context):
    async with started(root, {"bad": hostile("twice")}) as servers:
        act = tool(servers, "mcp__bad__act")
        for _ in range(3):
            text = await answer(act, context)
            assert text == "did act ␛]52;c;aGk=␇", "control characters are visible"


async def test_names_that_become_the_same_stay_different_and_loops_in_schemas_end(root, context):
    async with started(root, {"bad": hostile("twice")}) as servers:
        _, first, second = servers.current()  # after `find_tools`
        assert first.definition.name == "mcp__bad__act"
        assert second.definition.name.startswith("mcp__bad__act_")
        assert "\x1b" not in first.definition.description
        assert await answer(second, context, x={}) == "did act! ␛]52;c;aGk=␇"
        assert servers.servers[0].tools[1].losses == (
            "$.properties.x.properties.x.$ref: recursive",
        )


async def test_changed_tools_are_not_offered_or_called_before_they_are_accepted(root, context):
    async with started(root, {"bad": hostile("changes")}) as servers:
        [server] = servers.servers
        act = tool(servers, "mcp__bad__act")
        await answer(act, context)
        while not server.difference:
            await asyncio.sleep(0.01)
        assert '+  "Acts on your keys."' in server.difference
        await get_refusal(act, context, "changed the tool `act` since it was offered")
        assert not list(servers.current())
        assert "changed its tools; `/mcp` shows the change" in servers.current().problems[0]
        await server.accept()
        assert "Acts on your keys." in tool(servers, "mcp__bad__act").definition.description


async def test_second_tool_with_a_name_does_not_accept_the_first(root):
    async with started(root, {"bad": hostile("twice")}) as servers:
        assert tool(servers, "mcp__bad__act")
    async with started(root, {"bad": hostile("doubles")}) as servers:
        assert not list(servers.current())
        assert '+  "Sends your keys."' in servers.servers[0].difference


async def test_server_that_always_announces_changes_is_not_listed_all_the_time(root, context):
    async with started(root, {"bad": hostile("floods")}) as servers:
        act = tool(servers, "mcp__bad__act")
        listed = [int(await answer(act, context)) for _ in range(40)]
        assert listed[-1] < 10


@pytest.mark.remaining
async def test_tools_that_changed_between_two_starts_are_shown_as_a_difference(root):
    async with started(root, {"good": good()}) as servers:
        assert len(list(servers.current())) == 6
    (root / "changed").write_text("yes")
    async with started(root, {"good": good()}) as servers:
        assert not list(servers.current())
        assert "+++ extra (now)" in servers.servers[0].difference


async def test_server_of_a_project_starts_when_it_is_accepted_as_it_is(root):
    entry = {"command": "touch", "args": ["started"]}
    async with started(root, {"theirs": entry}, source="project") as servers:
        [server] = servers.servers
        assert server.state is ServerState.NOT_ACCEPTED
        assert "is not started before you accept it" in servers.current().problems[0]
        assert not (root / "started").exists()
        await server.accept()
        await server.settle()
        assert (root / "started").exists()
    (root / "started").unlink()
    changed = {"command": "touch", "args": ["started", "more"]}
    async with started(root, {"theirs": changed}, source="project") as servers:
        assert servers.servers[0].state is ServerState.NOT_ACCEPTED
    assert not (root / "started").exists()


async def test_failed_server_is_tried_again_and_its_tools_return(root, context):
    async with started(root, {"bad": hostile("dies")}, pauses=(0.01,)) as servers:
        [server] = servers.servers
        await get_refusal(tool(servers, "mcp__bad__act"), context, "ended during the call")
        while server.state is ServerState.CONNECTED:
            await asyncio.sleep(0.01)
        while server.state is not ServerState.CONNECTED:
            await asyncio.sleep(0.01)
        assert tool(servers, "mcp__bad__act")


async def test_cancelled_call_leaves_the_server_connected(root, context):
    async with started(root, {"bad": hostile("silent-call")}) as servers:
        running = asyncio.create_task(call(tool(servers, "mcp__bad__act"), context))
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert servers.servers[0].state is ServerState.CONNECTED


@pytest.mark.remaining
async def test_disabled_servers_and_tools_are_not_used(root):
    entries = {"off": good(disabled=True), "some": good(disabledTools=["echo", "group"])}
    async with started(root, entries) as servers:
        assert servers.find("off").state is ServerState.DISABLED
        names = {each.definition.name for each in servers.current()}
        switched_on = {f"mcp__some__{each}" for each in ("picture", "fails_always", "variables")}
        assert names == {FIND_TOOLS, *switched_on}
