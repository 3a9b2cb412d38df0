"""The functions that `tools/servers/client.py` describes as `Client`."""

import asyncio

import httpx2

from yourtool.tools.mcp.client_credentials import build_login
from yourtool.tools.mcp.connection import serve_child, serve_url
from yourtool.tools.mcp.oauth import StoredLogin
from yourtool.tools.mcp.transport import StdioTransport
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.servers.client import Address, AskAddress, Owner
from yourtool.tools.servers.logins import Logins


async def serve_stdio(command: ShellCommand, owner: Owner) -> None:
    """Serve with a child process.

    Raises:
        ServerConnectionError: it failed, or ended unasked.
    """
    await serve_child(StdioTransport(owner.name, command), owner)


async def serve_http(
    address: Address, owner: Owner, logins: Logins, ask: AskAddress | None = None
) -> None:
    """Serve with a server at an address; `ask`: leads the user through a login.

    Raises:
        ServerConnectionError: it failed.
        McpSettingsError: the credentials in the settings cannot be used.
    """
    login = await _find_login(address, logins, ask)
    await serve_url(address.url, dict(address.headers), owner, login)


async def _find_login(
    address: Address, logins: Logins, ask: AskAddress | None
) -> httpx2.Auth | None:
    """Return what adds tokens to requests; None: there is no login."""
    if address.oauth:
        return await asyncio.to_thread(build_login, address.url, address.oauth)
    if ask is None and await asyncio.to_thread(logins.find, address.url) is None:
        return None
    return StoredLogin(address.url, logins, ask)
