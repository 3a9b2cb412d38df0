"""Permitted addresses of a login.

- The origin of the server itself is always requested: the user configured it.
- Every other address needs https. Only a server on this machine can name http, on this machine.
- It must not be nearer than the server: a server on the internet names no address of a private
  network or of this machine, and one in a private network none of this machine.
- Addresses of a link, such as 169.254.169.254 with the credentials of a cloud, are never requested.

The connection resolves a name again. If it then leads elsewhere, https fails there,
because the certificate is not that of the name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from enum import IntEnum

import httpx2

from yourtool.foundation.text import printable
from yourtool.tools.servers.calls import ServerConnectionError

FindAddresses = Callable[[str], Awaitable[list[str]]]
_MAX_SHOWN = 200


class RefusedAddressError(ServerConnectionError):
    """A server names an address for its login that is not requested."""


class _Reach(IntEnum):
    """From where an address can be reached, ordered by how near it is."""

    INTERNET = 0
    PRIVATE = 1
    THIS_MACHINE = 2
    LINK = 3


class LoginAddresses:
    """Checks the requests of one connection before they are sent."""

    def __init__(self, url: str, find_addresses: FindAddresses | None = None) -> None:
        """`url`: of the server."""
        self._server = httpx2.URL(url)
        self._find_addresses = find_addresses or _find_addresses
        self._reach: _Reach | None = None

    async def check(self, request: httpx2.Request) -> None:
        """Return if a request may be sent; an event hook of the HTTP client.

        Raises:
            RefusedAddressError: it may not.
        """
        url = request.url
        if _get_origin(url) == _get_origin(self._server):
            return
        if reason := await self._find_problem(url):
            shown = printable(str(url.copy_with(userinfo=b"", query=None)))[:_MAX_SHOWN]
            raise RefusedAddressError(
                f"names `{shown}` for its login, which is not requested: {reason}"
            )

    async def _find_problem(self, url: httpx2.URL) -> str:
        """Return why an address is not requested; empty if it is."""
        if url.scheme not in ("http", "https"):
            return "it is no address of the web"
        if self._reach is None:
            self._reach = await self._measure(self._server.host)
        reach = await self._measure(url.host)
        if reach is _Reach.LINK:
            return "it belongs to this machine or its link, not to a login page"
        if reach > self._reach:
            return "it is in a private network, and the server is not"
        if url.scheme == "http" and reach is not _Reach.THIS_MACHINE:
            return "it is not encrypted"
        return ""

    async def _measure(self, host: str) -> _Reach:
        """Return the nearest place that a host leads to; one that is not found is far away."""
        try:
            return _classify(host)
        except ValueError:
            found = await self._find_addresses(host)
        return max(map(_classify, found), default=_Reach.INTERNET)


def _classify(text: str) -> _Reach:
    """Return the reach of an IP address.

    Raises:
        ValueError: it is a name.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        address = inner or address
        if address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.is_loopback:
        return _Reach.THIS_MACHINE
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return _Reach.LINK
    return _Reach.INTERNET if address.is_global else _Reach.PRIVATE


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""https://www.rfc-editor.org/rfc/rfc6052"""


async def _find_addresses(host: str) -> list[str]:
    """Return the IP addresses of a host; none if it has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def _get_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
