"""Addresses that a server names for its login: which ones are requested."""

import asyncio

import httpx2
import pytest

from tests.tools.mcp.login_server import login_server
from tests.tools.servers.configured import started
from yourtool.cli import main
from yourtool.paths import resolve_paths
from yourtool.tools.mcp import client
from yourtool.tools.mcp.login_addresses import LoginAddresses, RefusedAddressError
from yourtool.tools.servers.calls import ServerConnectionError
from yourtool.tools.servers.client import Address, Owner
from yourtool.tools.servers.logins import Login, Logins
from yourtool.tools.servers.server import ServerState

pytestmark = pytest.mark.usefixtures("own_logging")

INTERNET, PRIVATE, LOCAL = "https://203.0.114.7/mcp", "https://10.0.0.7/mcp", "http://127.0.0.1:80/"
NAMES = {
    "inside.example.org": ["203.0.114.8", "10.1.2.3"],
    "metadata.example.org": ["169.254.169.254"],
    "login.example.org": ["203.0.114.9"],
}


async def find_addresses(host):
    return NAMES.get(host, [])


async def check(server, address):
    found = LoginAddresses(server, find_addresses)
    await found.check(httpx2.Request("GET", address))


@pytest.mark.parametrize(
    ("server", "address"),
    [
        (INTERNET, "https://203.0.114.7/token"),
        (INTERNET, "https://203.0.114.8/token"),
        (INTERNET, "https://login.example.org/token"),
        (INTERNET, "https://unknown.example.org/token"),
        (PRIVATE, "https://192.168.3.3/token"),
        (PRIVATE, "https://login.example.org/token"),
        ("http://10.0.0.7/mcp", "http://10.0.0.7/token"),
        (LOCAL, "http://127.0.0.1:8080/token"),
        (LOCAL, "http://[::1]:8080/token"),
        (LOCAL, "https://10.0.0.7/token"),
        (LOCAL, "https://login.example.org/token"),
        ("http://169.254.1.1/mcp", "http://169.254.1.1/token"),
    ],
)
async def test_login_at_the_server_or_a_place_not_nearer_is_requested(server, address):
    await check(server, address)


@pytest.mark.parametrize(
    ("server", "address", "reason"),
    [
        (INTERNET, "http://203.0.114.8/token", "not encrypted"),
        (INTERNET, "http://203.0.114.7/token", "not encrypted"),
        (INTERNET, "http://login.example.org/token", "not encrypted"),
        (INTERNET, "https://10.0.0.1/token", "private network"),
        (INTERNET, "https://100.64.0.1/token", "private network"),
        (INTERNET, "https://[fd00::1]/token", "private network"),
        (INTERNET, "https://127.0.0.1/token", "private network"),
        (INTERNET, "https://[::1]/token", "private network"),
        (INTERNET, "https://[::ffff:127.0.0.1]/token", "private network"),
        (INTERNET, "https://[64:ff9b::7f00:1]/token", "private network"),
        (INTERNET, "https://[2002:7f00:1::]/token", "private network"),
        (INTERNET, "https://inside.example.org/token", "private network"),
        (INTERNET, "https://169.254.169.254/latest/meta-data", "its link"),
        (INTERNET, "https://[fe80::1]/token", "its link"),
        (INTERNET, "https://0.0.0.0/token", "its link"),
        (INTERNET, "https://metadata.example.org/token", "its link"),
        (INTERNET, "file:///etc/passwd", "no address of the web"),
        (INTERNET, "ftp://203.0.114.8/token", "no address of the web"),
        (PRIVATE, "http://10.0.0.7/token", "not encrypted"),
        (PRIVATE, "https://127.0.0.1/token", "private network"),
        (PRIVATE, "http://127.0.0.1/token", "private network"),
        (LOCAL, "http://10.0.0.7/token", "not encrypted"),
        (LOCAL, "http://169.254.169.254/latest/meta-data", "its link"),
    ],
)
async def test_address_that_is_nearer_or_not_encrypted_is_refused(server, address, reason):
    with pytest.raises(RefusedAddressError, match=reason):
        await check(server, address)


async def test_key_in_an_address_is_not_in_the_reason():
    with pytest.raises(RefusedAddressError) as caught:
        await check(INTERNET, "https://me:s3cret@10.0.0.1/token?key=s3cret")
    assert "s3cret" not in str(caught.value) and "10.0.0.1" in str(caught.value)


def save_login(root, server, *, is_registered=True):
    logins = Logins(root.parent / "accepted" / "mcp_logins.json")
    client = {"client_id": "client-1", "redirect_uris": ["http://localhost:8765/callback"],
              "token_endpoint_auth_method": "none"}  # fmt: skip
    logins.save(
        Login(
            server.url,
            {"access_token": "old", "token_type": "Bearer"},
            client=client if is_registered else None,
        )
    )


@pytest.mark.parametrize("place", ["challenge", "resource", "page"])
@pytest.mark.parametrize("address", ["http://169.254.169.254/latest", "http://10.0.0.1:8080/a"])
async def test_no_connection_to_an_address_that_a_hostile_server_names(root, place, address):
    with login_server() as server:
        server.named = {place: address}
        await asyncio.to_thread(save_login, root, server, is_registered=place != "page")
        entry = {"type": "http", "url": server.url}
        async with started(root, {"closed": entry}, pauses=(60.0,)) as servers:
            [found] = servers.servers
            assert found.state is ServerState.FAILED
            assert found.reason.startswith(f"names `{address[:16]}"), found.reason
            assert "which is not requested" in found.reason
        assert not server.grants


def test_login_names_the_address_that_was_refused(capsys):
    with login_server() as server:
        server.named = {"challenge": "file:///etc/passwd"}
        main(["mcp", "add", "closed", server.url])
        assert main(["mcp", "login", "closed"]) == 2
        err = capsys.readouterr().err
        assert "names `file:/etc/passwd` for its login, which is not requested" in err


async def test_redirect_of_a_login_to_another_address_is_not_followed(root):
    with login_server() as server:
        server.named = {"redirect": "http://169.254.169.254/latest"}
        await asyncio.to_thread(save_login, root, server)
        async with started(root, {"closed": {"type": "http", "url": server.url}}) as servers:
            [found] = servers.servers
            assert found.state in (ServerState.FAILED, ServerState.NEEDS_LOGIN), found.reason
        assert not server.grants


@pytest.mark.parametrize("issuer", ["/oauth", ""])
async def test_older_metadata_can_name_an_issuer_of_the_same_origin(issuer):
    with login_server() as server:
        server.named = {"no resource": "yes", "issuer": f"{server.base}{issuer}"}
        assert await log_in(server) == [f"{server.base}/authorize"]


async def test_older_metadata_cannot_name_an_issuer_of_another_origin():
    with login_server() as server:
        server.named = {"no resource": "yes", "issuer": "https://login.example.org"}
        assert not await log_in(server)


async def log_in(server):
    """Return the address of the login page without its query, if it was shown."""
    asked = []

    async def ask(address):
        asked.append(address.partition("?")[0])
        raise ServerConnectionError("ends here")

    owner = Owner(ignore_tools, ignore_offers, "closed", asyncio.Queue(), 20.0)
    logins = Logins(resolve_paths().home / "mcp_logins.json")
    with pytest.raises(ServerConnectionError):
        await client.serve_http(Address(server.url), owner, logins, ask)
    return asked


async def ignore_tools(_tools):
    pass


def ignore_offers(_offers):
    pass
