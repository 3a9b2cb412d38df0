"""`yourtool mcp login`: login at an MCP server."""

import asyncio
import os
import sys

from yourtool.agent.tool_servers import build_surroundings, load_servers
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.errors import UsageError
from yourtool.foundation.text import printable
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.tools.processes.environments import Environments
from yourtool.tools.servers.calls import ServerConnectionError
from yourtool.tools.servers.client import (
    REDIRECT,
    CallRequest,
    Owner,
    ToolList,
    find_missing_client,
    load_client,
)
from yourtool.tools.servers.offers import Offers
from yourtool.tools.servers.server import Surroundings, build_address
from yourtool.tools.servers.servers import ToolServers
from yourtool.tools.servers.settings import ServerSettings

_SECONDS = 900.0
"""For all of a login: much of it is the user's time."""


class _NoUserError(ServerConnectionError):
    """No user can log in here."""


def run_login(paths: Paths, arguments: Arguments) -> int:
    """Log in at a server and store the tokens.

    Raises:
        UsageError: there is no such server, it needs no login, or the login failed.
    """
    loaded = load_servers(arguments.workspace, paths, arguments.mcp_config)
    around = build_surroundings(arguments.workspace, paths, None, Environments())
    server = ToolServers(loaded, around).find(arguments.id)
    if server.settings.transport != "http":
        raise UsageError(f"`{server.name}` is a program, which has no login: only addresses do")
    if server.settings.oauth:
        raise UsageError(
            f"`{server.name}` needs no login of yours: it uses `oauth` of its settings"
        )
    if not around.acceptance.may_start(server.settings):
        raise UsageError(f"`yourtool mcp accept {server.name}` comes first: see what it is")
    if missing := find_missing_client():
        raise UsageError(f"MCP servers cannot be used: {missing}")
    try:
        asyncio.run(_log_in(server.settings, around))
    except _NoUserError:
        sys.stderr.write(
            f"yourtool: the MCP server `{server.name}` needs a login, and no user is here to do it;"
            f" run `yourtool mcp login {server.name}` in a terminal\n"
        )
        return ExitCode.NO_MODEL
    except ServerConnectionError as error:
        raise UsageError(f"no login was stored: the MCP server `{server.name}` {error}") from error
    if arguments.json:
        print_json({"name": server.name, "logged_in": True})
    else:
        print_lines(f"{server.name} can be used.")
    return ExitCode.ANSWERED


async def _log_in(settings: ServerSettings, around: Surroundings) -> None:
    """Connect with a login, and end when the server has answered.

    Raises:
        ServerConnectionError: there was no connection.
    """
    requests = asyncio.Queue[CallRequest | None]()

    async def end(_tools: ToolList) -> None:
        requests.put_nowait(None)

    def ignore(_offers: Offers) -> None:
        pass

    owner = Owner(end, ignore, settings.name, requests, _SECONDS)
    address = build_address(settings, os.environ)
    await load_client().serve_http(address, owner, around.logins, _ask)


async def _ask(address: str) -> str:
    """Print the address of the login page, and return what the user pastes.

    Raises:
        ServerConnectionError: standard input has ended.
    """
    sys.stderr.write(
        "Open this address in a browser, on any machine, and log in:\n\n"
        f"{printable(address)}\n\n"
        f"At the end the browser goes to {REDIRECT}, which shows no page.\n"
        "Copy the whole address from there and paste it here, then press Enter:\n"
    )
    sys.stderr.flush()
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line.strip():
        raise _NoUserError("needs a login", needs_login=True)
    return line
