"""MCP servers of one workspace."""

import asyncio
from collections.abc import Iterable

from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.foundation.suggestions import find_closest
from yourtool.permissions.rules import SERVER_PREFIX
from yourtool.providers.estimate import estimate_text
from yourtool.tools.servers import tool
from yourtool.tools.servers.client import find_missing_client
from yourtool.tools.servers.offers import ForeignPrompt
from yourtool.tools.servers.projection import ForeignTool, name_server, name_tools
from yourtool.tools.servers.server import ServerState, Surroundings, ToolServer
from yourtool.tools.servers.settings import LoadedSettings
from yourtool.tools.tool_search import build_find_tools
from yourtool.tools.toolset import Tool, Toolbox


class ToolServers:
    """Starts the configured servers, and offers the tools of those that are connected."""

    def __init__(self, loaded: LoadedSettings, around: Surroundings) -> None:
        self.problems = tuple(map(str, loaded.problems))
        """The mistakes in the settings."""
        self.servers: tuple[ToolServer, ...] = ()
        self._missing = ""
        """Why none can be connected to."""
        parts = list[str]()
        for settings in loaded.servers:
            parts.append(name_server(settings.name, parts))
            self.servers += (ToolServer(settings, parts[-1], around),)

    def start(self, names: Iterable[str] = ()) -> None:
        """Start servers, by default all; does not wait, and imports nothing without servers."""
        chosen = frozenset(names)
        wanted = [each for each in self.servers if each.name in chosen or not chosen]
        is_used = any(each.state is not ServerState.DISABLED for each in wanted)
        self._missing = find_missing_client() if is_used else ""
        for each in () if self._missing else wanted:
            each.start()

    async def settle(self, seconds: float, names: Iterable[str] = ()) -> None:
        """Wait until each server is connected or has failed, at most so many seconds."""
        chosen = frozenset(names) or {each.name for each in self.servers}
        waiting = [
            asyncio.create_task(each.settle())
            for each in self.servers
            if each.name in chosen and not self._missing
        ]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for each in late:
                each.cancel()

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(each.close() for each in self.servers))

    def current(self) -> Toolbox:
        """Return the tools of the connected servers, and why those of others are missing."""
        offering = [each for each in self.servers if each.is_offered and each.tools]
        tools: list[Tool] = [
            tool.build_tool(server, each, server.settings.timeout_seconds)
            for server in offering
            for each in server.tools
        ]
        if tools:
            definitions = [each.definition for each in tools]
            tools.insert(
                0,
                build_find_tools(definitions, [f"{SERVER_PREFIX}{each.part}" for each in offering]),
            )
        return Toolbox(tools, self._list_problems(each.new_problem for each in self.servers))

    def find_problems(self, *, with_servers: bool = True) -> tuple[str, ...]:
        """Return everything that the user has to correct; `with_servers`: also why they failed."""
        return self._list_problems(each.problem for each in self.servers if with_servers)

    def _list_problems(self, of_servers: Iterable[str | None]) -> tuple[str, ...]:
        if self._missing:
            return (*self.problems, f"MCP servers are configured, but {self._missing}.")
        return (*self.problems, *(each for each in of_servers if each is not None))

    async def find_outcome(self, server: ToolServer) -> Notice | None:
        """Return whether a started server has connected or failed, once that is known."""
        if self._missing:
            return None
        await server.settle()
        if (problem := server.report_problem()) is not None:
            return Notice(level="warning", text=problem)
        if not server.is_offered:
            return None
        count = len(server.tools)
        tools = f"its {count} tools join" if count != 1 else "its tool joins"
        text = f"The MCP server `{server.name}` is connected; {tools} the next message."
        return Notice(level="info", text=text)

    def find_prompts(self) -> dict[str, tuple[ToolServer, ForeignPrompt]]:
        """Return the prompts of the connected servers by names like those of tools."""
        found = dict[str, tuple[ToolServer, ForeignPrompt]]()
        for server in self.servers:
            prompts = server.offers.prompts
            names = name_tools(server.part, [each.name for each in prompts])
            found |= {name: (server, each) for name, each in zip(names, prompts, strict=True)}
        return found

    def list_resources(self) -> list[str]:
        """Return the resources of the connected servers as they are mentioned: `server:uri`."""
        return [
            f"{server.part}:{each.uri}"
            for server in self.servers
            for each in server.offers.resources
            if each.uri.isprintable() and " " not in each.uri
        ]

    def find_resource(self, name: str) -> tuple[ToolServer, str] | None:
        """Return the server and the URI of a mention, or None; a URI need not be listed."""
        part, _, uri = name.partition(":")
        for server in self.servers:
            if part == server.part and server.offers.has_resources:
                listed = any(each.uri == uri for each in server.offers.resources)
                return (server, uri) if listed or "://" in uri else None
        return None

    def find(self, name: str) -> ToolServer:
        """Return the server with a name.

        Raises:
            UsageError: there is none.
        """
        names = [each.name for each in self.servers]
        if name in names:
            return self.servers[names.index(name)]
        nearest = find_closest(name, names)
        hint = f"did you mean `{nearest}`?" if nearest else f"there are: {', '.join(names) or '-'}"
        raise UsageError(f"there is no MCP server `{name}`; {hint}")


def estimate_tokens(tools: Iterable[ForeignTool]) -> int:
    """Return the tokens that the descriptions of tools cost in each request."""
    return round(sum(estimate_text(f"{each.name} {each.text}") for each in tools))
