"""The user's proxy.

Commands reach the allowed hosts through it.

It is named by the usual variables, with the exceptions of `NO_PROXY`.

https://www.rfc-editor.org/rfc/rfc9110.html#section-9.3.6
https://www.rfc-editor.org/rfc/rfc1928.html
https://www.rfc-editor.org/rfc/rfc1929.html
"""

import asyncio
import base64
import os
import re
from ipaddress import ip_address
from typing import Literal, TypeAlias
from urllib import request
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

VARIABLES = frozenset(
    {
        "http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy", "npm_config_proxy",
        "npm_config_https_proxy", "npm_config_noproxy", "pip_proxy", "cargo_http_proxy",
    }
)  # fmt: skip
"""Variables about proxies, in lower case."""
EXCEPTIONS = frozenset({"no_proxy", "npm_config_noproxy"})
"""Those with hosts that are reached without a proxy."""
_USED = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})\b")
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080, "socks": 1080}
_SOCKS, _LOGIN_VERSION, _CONNECT = 5, 1, 1
_NO_LOGIN, _PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_MAX_FIELD_BYTES = 255


class UserProxyError(Exception):
    """The user's proxy did not connect; the text names it."""


class UserProxy(Struct, frozen=True):
    """A proxy that a variable names."""

    variable: str
    scheme: str
    host: str
    port: int
    user: bytes = b""
    password: bytes = b""

    @property
    def name(self) -> str:
        """The proxy as errors name it, without its password."""
        return f"the proxy of the user, `{self.host}:{self.port}` in `{self.variable}`,"

    @property
    def is_socks(self) -> bool:
        """Whether its protocol is SOCKS instead of HTTP."""
        return self.scheme.startswith("socks")

    @property
    def needs_address(self) -> bool:
        """Whether it is not asked to look up names."""
        return self.scheme == "socks5"

    @property
    def fields(self) -> tuple[bytes, ...]:
        """The lines with the login in the head of a request."""
        if not self.user:
            return ()
        login = base64.b64encode(self.user + b":" + self.password)
        return (b"Proxy-Authorization: Basic " + login,)


def find_user_proxy(scheme: Literal["http", "https"], host: str, port: int) -> UserProxy | None:
    """Return the proxy for a host, or None if it is reached directly.

    Raises:
        UserProxyError: the variable has no address of a proxy.
    """
    excepted = os.environ.get("no_proxy", os.environ.get("NO_PROXY", ""))
    is_excepted: bool = request.proxy_bypass_environment(f"{host}:{port}", {"no": excepted})  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue] - typeshed does not have it
    if is_excepted:
        return None
    for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"):
        if name in os.environ:
            return _parse_proxy(name, os.environ[name]) if os.environ[name] else None
    return None


def has_user_proxy() -> bool:
    """Whether a variable that programs use names a proxy."""
    return any(os.environ.get(each) for each in _USED)


def is_user_proxy(host: str) -> bool:
    """Whether a host is the user's proxy."""
    written = (os.environ.get(each, "") for each in _USED)
    return host in {parts.hostname for parts in map(_split, written) if parts is not None}


def _split(written: str) -> SplitResult | None:
    try:
        parts = urlsplit(written if "://" in written else f"http://{written}")
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _parse_proxy(variable: str, written: str) -> UserProxy:
    if (parts := _split(written)) is None:
        raise UserProxyError(f"the proxy of the user in `{variable}` is no address")
    if (port := _PORTS.get(parts.scheme)) is None:
        raise UserProxyError(
            f"the proxy of the user in `{variable}` has a kind that is not supported; supported"
            f" are {', '.join(_PORTS)}"
        )
    login = [unquote(each or "").encode() for each in (parts.username, parts.password)]
    if max(map(len, login)) > _MAX_FIELD_BYTES:
        raise UserProxyError(f"the proxy of the user in `{variable}` has too long a login")
    return UserProxy(variable, parts.scheme, parts.hostname or "", parts.port or port, *login)


async def open_proxy(proxy: UserProxy) -> Streams:
    """Return a connection to the proxy itself.

    Raises:
        UserProxyError: it could not be reached.
    """
    encrypts = True if proxy.scheme == "https" else None
    try:
        return await asyncio.open_connection(proxy.host, proxy.port, ssl=encrypts)
    except OSError as error:
        reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
        raise UserProxyError(f"{proxy.name} could not be reached: {reason}") from error


async def open_tunnel(proxy: UserProxy, host: str, port: int) -> Streams:
    """Return a connection to a host through the proxy.

    Raises:
        UserProxyError: the proxy could not be reached, or did not connect.
    """
    streams = await open_proxy(proxy)
    try:
        ask = _ask_socks if proxy.is_socks else _ask_http
        await ask(proxy, streams, host, port)
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        streams[1].close()
        raise UserProxyError(f"{proxy.name} sent no answer") from error
    except BaseException:
        streams[1].close()
        raise
    return streams


async def _ask_http(proxy: UserProxy, streams: Streams, host: str, port: int) -> None:
    reader, writer = streams
    target = f"{host}:{port}".encode()
    lines = (b"CONNECT " + target + b" HTTP/1.1", b"Host: " + target, *proxy.fields, b"", b"")
    writer.write(b"\r\n".join(lines))
    head = await reader.readuntil(b"\r\n\r\n")
    if (found := _STATUS.match(head)) is None:
        raise UserProxyError(f"{proxy.name} does not answer with HTTP")
    if not (status := found[1].decode()).startswith("2"):
        raise UserProxyError(f"{proxy.name} answered with the status {status} for `{host}:{port}`")


async def _ask_socks(proxy: UserProxy, streams: Streams, host: str, port: int) -> None:
    reader, writer = streams
    methods = bytes((_NO_LOGIN, _PASSWORD) if proxy.user else (_NO_LOGIN,))
    writer.write(bytes((_SOCKS, len(methods))) + methods)
    _, method = await reader.readexactly(2)
    is_accepted = method == _NO_LOGIN
    if method == _PASSWORD:
        writer.write(bytes((_LOGIN_VERSION,)) + _measured(proxy.user) + _measured(proxy.password))
        _, status = await reader.readexactly(2)
        is_accepted = status == 0
    if not is_accepted:
        raise UserProxyError(f"{proxy.name} does not accept the login")
    head = bytes((_SOCKS, _CONNECT, 0))
    writer.write(head + _encode_host(host) + port.to_bytes(2, "big"))
    _, status, _, kind = await reader.readexactly(4)
    if status:
        raise UserProxyError(f"{proxy.name} did not connect to `{host}:{port}`")
    sizes = {_IPV4: 4, _IPV6: 16}
    size = sizes[kind] if kind in sizes else (await reader.readexactly(1))[0]
    await reader.readexactly(size + 2)


def _encode_host(host: str) -> bytes:
    """Return a name, or an address, as SOCKS has them."""
    try:
        address = ip_address(host)
    except ValueError:
        return bytes((_NAME,)) + _measured(host.encode())
    return bytes((_IPV4 if address.version == 4 else _IPV6,)) + address.packed


def _measured(field: bytes) -> bytes:
    return bytes((len(field),)) + field
