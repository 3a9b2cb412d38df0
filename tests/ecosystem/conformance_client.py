"""The client that `conformance client --command` starts: our connection, as the program makes it.

Its last argument is the address of a server. For scenarios with a login it does what a user does
with `yourtool mcp login`: it opens the address of the login page, and pastes where that ends.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from yourtool.tools.mcp import client
from yourtool.tools.servers.calls import CallFailedError
from yourtool.tools.servers.client import REDIRECT, Address, CallRequest, Owner, ToolList
from yourtool.tools.servers.logins import Login, Logins
from yourtool.tools.servers.offers import Offers
from yourtool.tools.servers.projection import ForeignTool

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
SECONDS = 20.0
IDENTITY = {"identityToken": "idp_id_token", "identityEndpoint": "idp_token_endpoint",
            "identityClientId": "idp_client_id"}  # fmt: skip


async def paste_address(address: str) -> str:
    """Return where a login page sends the browser."""
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(address, follow_redirects=False)).headers["location"]


async def configure(url: str, context: dict[str, Any]) -> dict[str, str]:
    """Return `oauth` of `mcp.json`, as an administrator gives it to a user."""
    place = urlsplit(url)
    about = f"{place.scheme}://{place.netloc}/.well-known/oauth-protected-resource{place.path}"
    async with httpx2.AsyncClient() as http:
        [issuer] = (await http.get(about)).json()["authorization_servers"]
    secret = {"clientSecret": context["client_secret"]} if "client_secret" in context else {
        "privateKey": context["private_key_pem"]}  # fmt: skip
    identity = {name: context[theirs] for name, theirs in IDENTITY.items() if theirs in context}
    return {"clientId": context["client_id"], "issuer": issuer, **secret, **identity}


async def answer(_title: str, _details: str) -> str | None:
    """Take the defaults of a form."""
    return ""


async def run(url: str, scenario: str, context: dict[str, Any]) -> None:
    """Connect, and call every tool that the server offers."""
    logins = Logins(Path(tempfile.mkdtemp()) / "mcp_logins.json")
    if "client_id" in context and "idp_id_token" not in context:
        registered = {  # by the user, at the server
            "client_id": context["client_id"],
            "client_secret": context.get("client_secret"),
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "client_secret_basic",
        }
        logins.save(Login(url, client=registered))
    requests: asyncio.Queue[CallRequest | None] = asyncio.Queue()
    listed: asyncio.Future[tuple[ForeignTool, ...]] = asyncio.get_running_loop().create_future()

    async def take_tools(found: ToolList) -> None:
        if not listed.done():
            listed.set_result(found.tools)

    def ignore(_offers: Offers) -> None:
        pass

    owner = Owner(take_tools, ignore, "conformance", requests, SECONDS)
    own, ask = dict[str, str](), None
    if scenario.startswith(("auth/client-credentials", "auth/cross-app-access")):
        own = await configure(url, context)
    elif scenario.startswith("auth/"):
        ask = paste_address
    serving = asyncio.create_task(client.serve_http(Address(url, oauth=own), owner, logins, ask))
    await asyncio.wait({serving, listed}, return_when=asyncio.FIRST_COMPLETED)
    if not listed.done():
        await serving
        return

    for tool in listed.result():
        arguments = ARGUMENTS.get(tool.name, {})
        request = CallRequest("tools/call", tool.name, arguments, SECONDS, answer)
        requests.put_nowait(request)
        try:
            await request.result
        except CallFailedError as error:
            sys.stderr.write(f"{tool.name}: {error}\n")
    requests.put_nowait(None)
    await serving


if __name__ == "__main__":
    asyncio.run(
        run(
            sys.argv[-1],
            os.environ.get("MCP_CONFORMANCE_SCENARIO", ""),
            json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
        )
    )
