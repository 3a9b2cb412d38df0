"""Network proxy for sandboxed commands.

A host is compared by its labels and resolved once; the connection uses an address that was checked.
Names that are not ASCII, IP addresses and private addresses are refused. It listens on the loopback
address of an enclosure, which nothing else reaches. Where the user has a proxy, this one connects
to it, and it resolves the names.

The proxy understands `CONNECT` and requests with a full `http` address
(https://www.rfc-editor.org/rfc/rfc9112.html#section-3.2).
"""

import asyncio
import base64
import re
import secrets
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NoReturn, TypeGuard

from msgspec import Struct

from yourtool.foundation.public_addresses import Address, find_addresses, is_public
from yourtool.permissions.hosts import allows_host, host_subject
from yourtool.tools.sandbox.network import user_proxy
from yourtool.tools.sandbox.network.refusals import Refusals
from yourtool.tools.sandbox.network.user_proxy import Streams

_MAX_HEAD_BYTES = 65_536
_MAX_CONNECTIONS = 256
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 20.0
_LOOK_UP_SECONDS = 2.0
"""For the addresses of a host that the user's proxy looks up itself."""
_CHUNK_BYTES = 65_536
_REQUEST = re.compile(r"([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01]")
_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.?")
_PORT = re.compile(r"[0-9]{1,5}")
_USER = "yourtool"
_LOGIN = re.compile(
    rb"\r\nproxy-authorization:[ \t]{0,8}basic[ \t]{1,8}([A-Za-z0-9+/=]{1,200})[ \t]{0,8}\r\n",
    re.IGNORECASE,
)
_FIELD = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
"""https://www.rfc-editor.org/rfc/rfc9112.html#section-5"""
_LENGTH = re.compile(rb"[0-9]{1,18}")
_PRIVATE_ENDINGS = frozenset(
    {
        "arpa", "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost",
        "private",
    }
)  # fmt: skip
"""Of names that only private networks have."""
_ONLY_DIGITS = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)\.?")


class Target(Struct, frozen=True):
    """What a client asked for."""

    host: str
    port: int
    is_tunnel: bool
    path: bytes = b""
    password: str = ""
    body_bytes: int | None = 0
    """None: its length is not known before its end."""


class _RefusedError(Exception):
    """The proxy does not serve a request; the text is the answer."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """Serves the clients in one enclosure."""

    def __init__(
        self,
        hosts: Sequence[str],
        is_allowed: Callable[[Address], bool] = is_public,
    ) -> None:
        """`hosts` are specs as in `permissions.hosts`; `is_allowed` checks every address."""
        self.get_hosts: Callable[[], Sequence[str]] = lambda: hosts
        """Returns the hosts that are allowed now."""
        self.refusals = Refusals()
        """Where refused hosts are noted."""
        self._served = dict[str, set[asyncio.Task[None]]]()
        """The connections of clients that reach every public host, by their passwords."""
        self._is_allowed = is_allowed
        self._slots = asyncio.Semaphore(_MAX_CONNECTIONS)
        self._tasks = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def serve(self, listener: socket.socket) -> AsyncGenerator[None, None]:
        """Serve on a listening socket; at the end every connection is closed."""
        server = await asyncio.start_server(self._serve, sock=listener, limit=_MAX_HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @contextmanager
    def serving_all(self) -> Generator[str, None, None]:
        """Yield a password with which a client reaches every public host.

        At the end its connections are closed, as another command can have them.
        """
        password = secrets.token_hex(16)
        self._served[password] = set()
        try:
            yield password
        finally:
            for task in self._served.pop(password):
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served in a task"
        self._tasks.add(task)
        try:
            async with self._slots:
                await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # the client is gone, or sent no request
        except asyncio.CancelledError:
            pass  # the command ended
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            target = parse_head(head)
            self._require_allowed(target)
            scheme = "https" if target.is_tunnel else "http"
            proxy = user_proxy.find_user_proxy(scheme, target.host, target.port)
            upstream, out = await self._connect(target, proxy)
        except _RefusedError as error:
            await _refuse(writer, error.status, str(error))
            return
        except user_proxy.UserProxyError as error:
            self.refusals.note_proxy(str(error))
            await _refuse(writer, "502 Bad Gateway", str(error))
            return
        except (OSError, TimeoutError):
            await _refuse(writer, "502 Bad Gateway", "the host did not answer")
            return
        try:
            if target.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.write(_build_head(head, target, proxy))
            # What followed would be another request to the user's proxy, for any host.
            limit = target.body_bytes if _forwards(proxy, target) else None
            await asyncio.gather(copy_stream(reader, out, limit), copy_stream(upstream, writer))
        finally:
            out.close()

    def _require_allowed(self, target: Target) -> None:
        subject = host_subject(target.host, target.port)
        served = self._served.get(target.password)
        if served is not None and (task := asyncio.current_task()) is not None:
            served.add(task)
            task.add_done_callback(served.discard)
        elif not self._is_named(target):
            self.refusals.note(subject)
            raise _RefusedError("403 Forbidden", f"`{subject}` is not a host of `[sandbox] hosts`")

    def _is_named(self, target: Target) -> bool:
        subject = host_subject(target.host, target.port)
        return any(allows_host(spec, subject) for spec in self.get_hosts())

    async def _connect(self, target: Target, proxy: user_proxy.UserProxy | None) -> Streams:
        """Return a connection to a host, through the user's proxy if there is one.

        Raises:
            _RefusedError: the host does not have a public address.
            UserProxyError: the user's proxy did not connect.
            OSError: the host did not.
        """
        host: str | None = target.host
        if proxy is None or proxy.needs_address:
            host = await self._resolve(target)
            if host is None:
                subject = host_subject(target.host, target.port)
                raise _RefusedError("502 Bad Gateway", f"`{subject}` was not found")
        elif not self._is_named(target):
            await self._require_public_name(target)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                if proxy is None:
                    return await asyncio.open_connection(host, target.port)
                if _forwards(proxy, target):
                    return await user_proxy.open_proxy(proxy)
                return await user_proxy.open_tunnel(proxy, host, target.port)
        except TimeoutError as error:
            if proxy is None:
                raise
            raise user_proxy.UserProxyError(f"{proxy.name} did not answer in time") from error

    async def _require_public_name(self, target: Target) -> None:
        """Refuse a host that is visibly private; the user's proxy decides about the others.

        Raises:
            _RefusedError: the host does not have a public address.
        """
        name = target.host.removesuffix(".").lower()
        if "." not in name or name.rpartition(".")[2] in _PRIVATE_ENDINGS:
            self._refuse_private(target)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                await self._resolve(target)

    async def _resolve(self, target: Target) -> str | None:
        """Return the checked address to connect to; None: the host was not found.

        Raises:
            _RefusedError: the host does not have a public address.
        """
        try:
            addresses = await find_addresses(target.host, target.port)
        except (OSError, UnicodeError):
            return None
        if not addresses or not all(map(self._is_allowed, addresses)):
            self._refuse_private(target)
        return str(addresses[0])

    def _refuse_private(self, target: Target) -> NoReturn:
        subject = host_subject(target.host, target.port)
        self.refusals.note(subject, is_private=True)
        raise _RefusedError("403 Forbidden", f"`{subject}` has a private address")


def build_variables(port: int, password: str = "") -> dict[str, str]:
    """Return the variables by which programs use a proxy on a port of their loopback address."""
    login = f"{_USER}:{password}@" if password else ""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
    variables = dict[str, str]()
    for name in names:
        variables[name] = f"http://{login}127.0.0.1:{port}"
    for name in ("NO_PROXY", "no_proxy"):
        variables[name] = "localhost,127.0.0.1,::1"
    return variables


def parse_head(head: bytes) -> Target:
    """Return the target in the head of a request.

    Raises:
        _RefusedError: it is not a request for a named host.
    """
    line = head.partition(b"\r\n")[0].decode("latin-1")
    if (found := _REQUEST.fullmatch(line)) is None or not line.isascii() or b"\0" in head:
        raise _RefusedError("400 Bad Request", "not a request that this proxy understands")
    body_bytes = _find_length(head)
    method, address = found[1], found[2]
    if method == "CONNECT":
        host, port = _split_host(address, None)
        return Target(host, port, is_tunnel=True, password=_find_password(head))
    scheme, _, rest = address.partition("://")
    if scheme.lower() != "http":
        raise _RefusedError("400 Bad Request", "only `CONNECT` and `http` addresses are supported")
    authority, slash, path = rest.partition("/")
    host, port = _split_host(authority, 80)
    onward = f"/{path}".encode() if slash else b"/"
    password = _find_password(head)
    return Target(
        host, port, is_tunnel=False, path=onward, password=password, body_bytes=body_bytes
    )


def _find_length(head: bytes) -> int | None:
    """Return the bytes that follow a head; None: it does not name their number.

    Raises:
        _RefusedError: a server may read the fields in another way.
    """
    fields = [_FIELD.fullmatch(line) for line in head.split(b"\r\n")[1:-2]]
    found = [(each[1].lower(), each[2].strip(b" \t")) for each in fields if each is not None]
    lengths = [value for name, value in found if name == b"content-length"]
    is_chunked = any(name == b"transfer-encoding" for name, _ in found)
    if len(found) < len(fields) or len(lengths) + is_chunked > 1:
        raise _RefusedError("400 Bad Request", "a field of the request is not valid")
    if not all(map(_LENGTH.fullmatch, lengths)):
        raise _RefusedError("400 Bad Request", "the length of the request is not valid")
    return None if is_chunked else sum(map(int, lengths))


def _find_password(head: bytes) -> str:
    """Return the password of a client; empty without any.

    https://www.rfc-editor.org/rfc/rfc9110.html#name-proxy-authorization
    """
    if (found := _LOGIN.search(head)) is None:
        return ""
    try:
        login = base64.b64decode(found[1], validate=True).decode("ascii")
    except ValueError:
        return ""
    return login.partition(":")[2]


def _split_host(authority: str, default_port: int | None) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon and default_port is not None:
        host, port = authority, str(default_port)
    last = host.removesuffix(".").rpartition(".")[2]
    if _HOST.fullmatch(host) is None or _ONLY_DIGITS.fullmatch(last) is not None:
        raise _RefusedError("400 Bad Request", "only the names of hosts are supported")
    if _PORT.fullmatch(port) is None or not 0 < int(port) < 65_536:
        raise _RefusedError("400 Bad Request", "the port is not valid")
    return host, int(port)


def _forwards(
    proxy: user_proxy.UserProxy | None, target: Target
) -> TypeGuard[user_proxy.UserProxy]:
    """Whether the user's proxy gets the request itself, instead of one for a tunnel."""
    is_whole = not target.is_tunnel and target.body_bytes is not None
    return proxy is not None and is_whole and not proxy.is_socks


def _build_head(head: bytes, target: Target, proxy: user_proxy.UserProxy | None) -> bytes:
    """Return the head for the server, or the user's proxy; both close the connection after it."""
    line, _, fields = head.partition(b"\r\n")
    dropped = (b"host:", b"connection:", b"proxy-")
    lines = [each for each in fields.split(b"\r\n") if not each.lower().startswith(dropped)]
    name = target.host if target.port == 80 else f"{target.host}:{target.port}"
    address, extra = target.path, (b"Host: " + name.encode(), b"Connection: close")
    if _forwards(proxy, target):
        address, extra = b"http://" + name.encode() + address, (*extra, *proxy.fields)
    first = b" ".join((line.split(b" ")[0], address, b"HTTP/1.1"))
    return b"\r\n".join((first, *extra, *lines))


async def _refuse(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"yourtool: {reason}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def copy_stream(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, limit: int | None = None
) -> None:
    """Copy until the source ends, and end the target then; waits for a slow target.

    `limit`: the bytes that are copied; the others are dropped.
    """
    left = sys.maxsize if limit is None else limit
    with suppress(OSError):
        while data := await source.read(_CHUNK_BYTES):
            target.write(data[:left])
            left -= min(left, len(data))
            await target.drain()
    with suppress(OSError, RuntimeError):
        target.write_eof()
