"""Command `/mcp`.

It shows the state, tools and price of the MCP servers of the workspace, and their acceptance.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    Report,
    Section,
    SlashCommand,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.foundation.text import escape
from yourtool.tools.servers.projection import ProjectedTool
from yourtool.tools.servers.server import ServerState, ToolServer
from yourtool.tools.servers.servers import ToolServers, estimate_tokens

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


_SECONDS = 5.0
"""How long an answer waits for the server, whose failure is part of the result."""


async def run_mcp(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/mcp`: list the servers, show one of them, accept it, or try it again."""
    await runtime.tool_servers.renew(session.workspace)
    servers = runtime.tool_servers.find(session.workspace)
    if servers is None or not (servers.servers or servers.problems):
        text = "There are no MCP servers. `yourtool mcp add NAME -- COMMAND` adds one."
        yield Notice(level="info", text=text)
        return
    action, _, name = argument.partition(" ")
    match action if name.strip() else "":
        case "accept":
            yield await _accept(servers.find(name.strip()))
        case "retry":
            servers.find(name.strip()).retry()
            yield Notice(level="info", text=f"The MCP server {name.strip()} is tried again.")
        case _ if argument:
            yield _show(servers.find(argument))
        case _:
            for problem in servers.problems:
                yield Notice(level="warning", text=problem)
            yield _list(servers)


def _list(servers: ToolServers) -> Choose:
    async def show(name: str) -> CommandResults:
        yield _show(servers.find(name))

    rows = tuple(
        Choice(each.name, each.name, each.problem or each.settings.place, _build_cells(each))
        for each in servers.servers
    )
    return Choose("MCP servers", rows, show, columns=("state", "tools", "tokens"))


def _build_cells(server: ToolServer) -> tuple[str, ...]:
    tokens = estimate_tokens(each.foreign for each in server.tools)
    return server.state.value, str(len(server.tools)), f"{tokens:,}"


def _show(server: ToolServer) -> Report:
    """Return everything about a server, after which the user can accept exactly that."""
    server.mark_shown()
    return Report(f"MCP server {server.name}", describe_server(server))


async def _accept(server: ToolServer) -> Notice:
    """Accept a server as the user has seen it.

    Raises:
        UsageError: the user has not seen it as it is now.
    """
    if not server.is_shown:
        raise UsageError(f"Look at the server first: `/mcp {server.name}` shows all of it.")
    await server.accept()
    with suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS):
            await server.settle()
    if server.state in (ServerState.FAILED, ServerState.NEEDS_LOGIN):
        text = f"Accepted the MCP server {server.name}, but it {server.reason or 'needs a login'}."
        return Notice(level="warning", text=text)
    text = f"Accepted the MCP server {server.name}; its tools join the next message."
    return Notice(level="info", text=text)


def _describe_state(server: ToolServer) -> str:
    is_failed = server.state in (ServerState.FAILED, ServerState.NEEDS_LOGIN)
    return f"{server.state.value}: it {server.reason}" if is_failed else server.state.value


def _describe_sandbox(server: ToolServer) -> str:
    if server.settings.transport != "stdio" or server.state is ServerState.DISABLED:
        return ""
    if not server.is_enclosed:
        return "none: it runs with all your rights"
    hosts = ", ".join(server.settings.hosts)
    return f"it runs in it; network: {hosts}" if hosts else "it runs in it; no further hosts"


def _describe_rights(server: ToolServer) -> str:
    return f"{'' if server.is_enclosed else ' with your rights'}, as it is shown here"


def _describe_next(server: ToolServer, *, in_shell: bool) -> str:
    """Return what the user can do about a server that is not in use."""
    if server.state is ServerState.NEEDS_LOGIN:
        return f"`yourtool mcp login {server.name}` logs in, from a shell"
    if in_shell:
        return _describe_next_in_shell(server)
    if server.state is ServerState.NOT_ACCEPTED:
        return f"`/mcp accept {server.name}` starts it{_describe_rights(server)}"
    if server.difference:
        return f"`/mcp accept {server.name}` offers the changed tools to models"
    if server.state is ServerState.FAILED:
        return f"`/mcp retry {server.name}` tries it again now"
    return ""


def _describe_next_in_shell(server: ToolServer) -> str:
    accept = f"`yourtool mcp accept {server.name}`"
    if server.state is ServerState.NOT_ACCEPTED:
        return f"{accept} starts it{_describe_rights(server)}"
    return f"{accept} offers the changed tools to models" if server.difference else ""


def describe_server(server: ToolServer, *, in_shell: bool = False) -> tuple[Section, ...]:
    """Return everything about a server, with the texts that it sent escaped.

    `in_shell`: name commands of the shell, not of the interface.
    """
    settings = server.settings
    rows = [
        ("state", _describe_state(server)),
        ("from", settings.place),
        ("starts" if settings.transport == "stdio" else "connects to", escape(settings.definition)),
        ("variables", ", ".join(settings.variables)),
        ("sandbox", _describe_sandbox(server)),
        ("next", _describe_next(server, in_shell=in_shell)),
        ("tokens", f"{estimate_tokens(each.foreign for each in server.tools):,} in each request"),
        ("instructions", escape(server.instructions)),
    ]
    tools = tuple((each.definition.name, _describe_tool(each)) for each in server.tools)
    sections = (
        Section(server.name, tuple(row for row in rows if row[1])),
        Section(
            "Changed since you accepted it",
            (("", escape(server.difference)),) if server.difference else (),
        ),
        Section("Tools", tools),
    )
    return tuple(each for each in sections if each.rows)


def _describe_tool(tool: ProjectedTool) -> str:
    lines = [f"{tool.definition.side_effects.value}. {escape(tool.foreign.description)}"]
    if tool.foreign.name not in tool.definition.name:
        lines.append(f"its name on the server: {escape(tool.foreign.name)}")
    if tool.foreign.annotations:
        lines.append(f"the server claims, which is not checked: {tool.foreign.claims}")
    lines += (f"lost: {each}" for each in tool.losses)
    return "\n".join(lines)


COMMANDS = (
    SlashCommand(
        name="mcp",
        run=run_mcp,
        argument="[[accept | retry] NAME]",
        summary="list the MCP servers with the price of their tools, show or accept one",
    ),
)
