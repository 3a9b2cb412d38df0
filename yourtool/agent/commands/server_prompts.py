"""Prompts of MCP servers as slash commands."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, SendPrompt, SlashCommand
from yourtool.errors import ToolError, UsageError
from yourtool.foundation.text import printable

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.tools.servers.offers import ForeignPrompt
    from yourtool.tools.servers.servers import ToolServers

_MAX_SUMMARY = 100


def find_prompt_commands(servers: "ToolServers | None") -> Mapping[str, SlashCommand]:
    """Return the prompts of the servers that are connected now, by the names of the commands."""
    found = {} if servers is None else servers.find_prompts()
    return {name: _build_command(name, prompt) for name, (_, prompt) in found.items()}


def _build_command(name: str, prompt: "ForeignPrompt") -> SlashCommand:
    words = (each.name if each.required else f"[{each.name}]" for each in prompt.arguments)
    about = " ".join(printable(prompt.description or prompt.name).split())
    return SlashCommand(
        name=name,
        run=partial(_send, name),
        argument=printable(" ".join(words)),
        summary=f"{about[:_MAX_SUMMARY]} (MCP server)",
        is_multiline=True,
        during_turn=False,
    )


async def _send(name: str, session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """Send the text that a server returns for its prompt.

    Raises:
        UsageError: the server has no such prompt now, or refuses its arguments.
    """
    servers = runtime.tool_servers.find(session.workspace)
    if servers is None or (found := servers.find_prompts().get(name)) is None:
        raise UsageError(f"No MCP server offers `/{name}` now; `/mcp` shows their states.")
    server, prompt = found
    try:
        text = await server.read_prompt(prompt, argument)
    except ToolError as error:
        raise UsageError(str(error)) from error
    yield SendPrompt(text)
