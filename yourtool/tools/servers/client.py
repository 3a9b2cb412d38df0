"""Interface and loading of the MCP client."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Protocol, TypeAlias, cast

from msgspec import Struct

from yourtool.foundation.extras import build_install_command
from yourtool.tools.base import AskText
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.servers.calls import CallFailedError, ForeignResult
from yourtool.tools.servers.logins import Logins
from yourtool.tools.servers.offers import Offers
from yourtool.tools.servers.projection import ForeignTool

_PACKAGE, _LIBRARY = "yourtool.tools.mcp", "mcp"

RequestMethod: TypeAlias = Literal["tools/call", "prompts/get", "resources/read"]
AskAddress: TypeAlias = Callable[[str], Awaitable[str]]
"""Shows the address of a login page, and returns the address where the login ended."""
REDIRECT = "http://localhost:8765/callback"
"""Where a login page sends the browser at the end; nothing listens there."""
CONNECT_SECONDS = 30.0


class CallRequest:
    """A request that waits for its result: a call of a tool, a prompt, or a resource.

    If its result is cancelled, the server is notified.
    """

    def __init__(
        self,
        method: RequestMethod,
        name: str,
        arguments: dict[str, Any],
        seconds: float,
        ask: AskText | None = None,
    ) -> None:
        """`name`: of the tool or prompt, or the URI. `ask`: asks the user, if one is there."""
        self.method: RequestMethod = method
        self.name = name
        self.arguments = arguments
        self.seconds = seconds
        self.ask = ask
        self.result: asyncio.Future[ForeignResult] = asyncio.get_running_loop().create_future()

    def fail(self, reason: str, *, may_have_run: bool = True) -> None:
        """End the call without a result, unless it has one."""
        if not self.result.done():
            self.result.set_exception(CallFailedError(reason, may_have_run=may_have_run))


class ToolList(Struct, frozen=True):
    """The tools of a server."""

    tools: tuple[ForeignTool, ...]
    instructions: str = ""
    dropped: tuple[str, ...] = ()
    """The names of tools that are not valid and were dropped, with reasons."""


class Owner(Struct, frozen=True):
    """What a connection reports and obeys."""

    show_tools: Callable[[ToolList], Awaitable[None]]
    """Gets the tools of the server, whenever they change."""
    show_offers: Callable[[Offers], None]
    """Gets its prompts and resources, whenever they change."""
    name: str
    """Of the server, for questions."""
    requests: asyncio.Queue[CallRequest | None]
    """The calls to send; None ends the connection."""
    connect_seconds: float = CONNECT_SECONDS


class Address(Struct, frozen=True):
    """Where a server is reached by HTTP, with variables replaced."""

    url: str
    headers: Mapping[str, str] = {}
    oauth: Mapping[str, str] = {}
    """With what the program logs in without the user; empty: with the stored login."""


class Client(Protocol):
    """Connects to servers, and serves their owners until the connection ends.

    Nothing cancels a connection from outside: `Owner.requests` ends it.
    """

    async def serve_stdio(self, command: ShellCommand, owner: Owner) -> None:
        """Serve with a child process.

        Raises:
            ServerConnectionError: it failed, or ended unasked.
        """
        ...

    async def serve_http(
        self, address: Address, owner: Owner, logins: Logins, ask: AskAddress | None = None
    ) -> None:
        """Serve with a server at an address; `ask`: leads the user through a login.

        Raises:
            ServerConnectionError: it failed.
            McpSettingsError: the credentials in the settings cannot be used.
        """
        ...


def find_missing_client() -> str:
    """Return why no server can be connected to and how to change that; empty: it is possible."""
    if find_spec(_PACKAGE) is None:
        return "this installation has no client for them: install yourtool again, as a whole"
    if find_spec(_LIBRARY) is None:
        way = build_install_command("mcp")
        return f"the library for them is not installed; install it with `{way}`"
    return ""


def load_client() -> Client:
    """Import and return the client, which takes seconds of CPU the first time.

    Only call it if `find_missing_client` finds nothing.
    """
    return cast("Client", import_module(f"{_PACKAGE}.client"))
