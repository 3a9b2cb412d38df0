"""Commands of one session."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool import extensions
from yourtool.agent.commands import custom, server_prompts, table
from yourtool.agent.commands.base import Section, SlashCommand

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.tools.servers.servers import ToolServers


class CommandTable(Struct, frozen=True):
    """The commands of one session."""

    custom: Mapping[str, SlashCommand] = {}
    find_servers: "Callable[[], ToolServers | None]" = lambda: None
    """Returns the MCP servers, whose prompts are commands while they are connected."""

    @property
    def added(self) -> Mapping[str, SlashCommand]:
        """The custom commands and prompts, without those with names of the core's commands."""
        used = {**server_prompts.find_prompt_commands(self.find_servers()), **self.custom}
        core = table.COMMANDS_BY_NAME.keys() - {each.name for each in table.EXTENDED}
        return {name: each for name, each in used.items() if name not in core}

    def find(self, name: str) -> SlashCommand | None:
        """Return the command with a name or alias, or None."""
        return self.added.get(name) or table.COMMANDS_BY_NAME.get(name)

    def list_names(self) -> list[str]:
        """Return all names and aliases."""
        return [*table.COMMANDS_BY_NAME, *self.added]

    def complete(self, prefix: str) -> tuple[SlashCommand, ...]:
        """Return the commands with a name or alias that starts with `prefix`, in table order."""
        added = self.added
        own = (each for each in table.COMMANDS if each.name not in added)
        return tuple(
            command
            for command in (*own, *added.values())
            if any(name.startswith(prefix) for name in (command.name, *command.aliases))
        )


CORE = CommandTable()
"""The commands of the program, for input before a session is open."""


async def read_commands(
    session: "Session", runtime: "Runtime"
) -> tuple[CommandTable, tuple[str, ...]]:
    """Return the commands of a session, and warnings: why a file has none, what is paused."""
    trust = session.trust

    def read_custom() -> tuple[Mapping[str, SlashCommand], tuple[str, ...]]:
        return custom.read_custom_commands(trust.examine().used_files if trust.asks else ())

    commands, problems = await asyncio.to_thread(read_custom)
    found = CommandTable(commands, lambda: runtime.tool_servers.find(session.workspace))
    return found, (*problems, *extensions.find_notices(session))


def describe_commands(commands: CommandTable | None) -> tuple[Section, ...]:
    """Return the help on commands, mentions and shell commands, without the keys."""
    own_rows = tuple(
        (
            each.usage,
            each.summary
            + "".join(f"; also `/{alias}`" for alias in each.aliases)
            + ("" if each.during_turn else "; after the turn"),
        )
        for each in table.COMMANDS
    )
    mentions = (
        ("@MODEL text", "send this message to another model"),
        ("@path", "send a file with the message; `\\@` is a literal @"),
        ("@server:uri", "send a resource of an MCP server with the message"),
    )
    shell = (
        ("!command", "run a shell command between turns; the model sees its output"),
        ("!!command", "run a shell command hidden from the model; `\\!` is a literal !"),
    )
    added = () if commands is None else commands.added.values()
    own = tuple((each.usage, each.summary) for each in added)
    more = (Section("Custom commands", own),) if own else ()
    return (
        Section("Commands", own_rows),
        *more,
        Section("Mentions", mentions),
        Section("Shell", shell),
    )
