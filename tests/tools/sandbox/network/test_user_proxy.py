"""Hosts that commands reach through the user's own proxy."""

import asyncio
import base64
import socket
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.agent.turn.calls.sandbox_notes import describe_block
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.network import proxy as module
from yourtool.tools.sandbox.network.proxy import Proxy
from yourtool.tools.sandbox.network.user_proxy import UserProxyError, find_user_proxy, open_tunnel

HOST = "api.example.org"
"""A name that nothing here finds."""
TUNNEL = (
    "exec 3<>/dev/tcp/127.0.0.1/8118; printf 'CONNECT {}:443 HTTP/1.1\\r\\n\\r\\n' >&3;"
    " head -1 <&3; printf ping >&3; timeout 20 head -c 4 <&3"
)
TOKEN = base64.b64encode(b"me:p@ss").decode()
OF_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in OF_PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class HttpProxy:
    """Answers what it is asked, and repeats what comes through a tunnel."""

    def __init__(self, status="200 OK"):
        self.status = status
        self.heads = []

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(f"HTTP/1.1 {self.status}\r\n\r\n".encode())
        if head.startswith("CONNECT") and self.status.startswith("2"):
            writer.write(await reader.read(100))


class SocksProxy:
    """A proxy of SOCKS 5, which sends a byte at a time."""

    def __init__(self, status=0, method=2):
        self.status = status
        self.method = method
        self.login = self.asked = b""

    async def serve(self, reader, writer):
        async def send(data):
            for each in data:
                writer.write(bytes((each,)))
                await writer.drain()
                await asyncio.sleep(0)

        _, count = await reader.readexactly(2)
        await reader.readexactly(count)
        await send(bytes((5, self.method)))
        if self.method == 2:
            for _ in range(2):
                length = await reader.readexactly(2 if not self.login else 1)
                self.login += await reader.readexactly(length[-1]) + b"|"
            await send(bytes((1, 0)))
        kind = (await reader.readexactly(4))[3]
        length = 4 if kind == 1 else 16 if kind == 4 else (await reader.readexactly(1))[0]
        self.asked = await reader.readexactly(length + 2)
        await send(bytes((5, self.status, 0, 3, 4)) + b"name" + bytes(2))
        writer.write(await reader.read(100))


@asynccontextmanager
async def connected(proxy):
    """Yield a connection to the proxy of a sandbox."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        async with proxy.serve(listener):
            reader, writer = await asyncio.open_connection(*address)
            yield reader, writer
            writer.close()


@asynccontextmanager
async def running(proxy):
    served = []

    async def serve(reader, writer):
        served.append(asyncio.current_task())
        with suppress(EOFError, OSError):
            await proxy.serve(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*served)


def find_closed_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


async def run(root, contexts, line, hosts=(HOST,)):
    sandbox = build_sandbox(root, SandboxLevel.FULL, hosts=hosts)
    try:
        return await call(shell, contexts(sandbox=sandbox), command=line)
    finally:
        await sandbox.close()


def get_text(output):
    return "".join(each.text for each in output.content)


async def test_allowed_host_is_reached_through_the_proxy_of_the_user(root, contexts, monkeypatch):
    proxy = HttpProxy()
    async with running(proxy) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{port}")
        said = get_text(await run(root, contexts, TUNNEL.format(HOST)))
    assert said.startswith("HTTP/1.1 200 Connection established\n")
    assert "ping" in said
    [head] = proxy.heads
    assert head.startswith(f"CONNECT {HOST}:443 HTTP/1.1\r\n")
    assert f"Proxy-Authorization: Basic {TOKEN}\r\n" in head


@pytest.mark.parametrize("scheme", ["socks5h", "socks"])
async def test_allowed_host_is_reached_through_a_socks_proxy_that_finds_its_name(
    root, contexts, monkeypatch, scheme
):
    proxy = SocksProxy()
    async with running(proxy) as port:
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://me:p%40ss@127.0.0.1:{port}")
        said = get_text(await run(root, contexts, TUNNEL.format(HOST)))
    assert "ping" in said
    assert proxy.login == b"me|p@ss|"
    assert proxy.asked == HOST.encode() + (443).to_bytes(2, "big")


async def test_socks5_gets_an_address_that_was_checked(monkeypatch):
    proxy = SocksProxy(method=0)
    own = Proxy(("localhost",), lambda address: address.is_loopback)
    request = b"CONNECT localhost:443 HTTP/1.1\r\n\r\n"
    async with running(proxy) as port, connected(own) as (reader, writer):
        monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{port}")
        writer.write(request)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    assert proxy.asked[:-2] in (bytes((127, 0, 0, 1)), bytes(15) + b"\1")


async def test_request_without_encryption_is_forwarded_with_its_full_address(
    root, contexts, monkeypatch
):
    proxy = HttpProxy("204 No Content")
    line = (
        "exec 3<>/dev/tcp/127.0.0.1/8118;"
        f" printf 'GET http://{HOST}/a HTTP/1.1\\r\\nProxy-X: 1\\r\\n\\r\\n' >&3; cat <&3"
    )
    async with running(proxy) as port:
        monkeypatch.setenv("http_proxy", f"me:p%40ss@127.0.0.1:{port}")
        said = get_text(await run(root, contexts, line))
    assert said.startswith("HTTP/1.1 204")
    [head] = proxy.heads
    assert head.startswith(f"GET http://{HOST}/a HTTP/1.1\r\nHost: {HOST}\r\n")
    assert f"Proxy-Authorization: Basic {TOKEN}\r\n" in head
    assert "Proxy-X" not in head


@pytest.mark.parametrize(
    ("fields", "body", "passed"),
    [
        ("", "CONNECT 10.0.0.1:22 HTTP/1.1\r\n\r\n", ""),
        ("Content-Length: 4\r\n", "bodyGET http://10.0.0.1/ HTTP/1.1\r\n\r\n", "body"),
    ],
)
async def test_proxy_of_the_user_gets_no_second_request(monkeypatch, fields, body, passed):
    class LastingProxy:
        """One that ignores `Connection: close`."""

        async def serve(self, reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            self.rest = await reader.read()

    proxy, own = LastingProxy(), Proxy((HOST,))
    async with running(proxy) as port, connected(own) as (reader, writer):
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{port}")
        writer.write(f"POST http://{HOST}/ HTTP/1.1\r\n{fields}\r\n{body}".encode())
        assert b" 204 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET http://10.0.0.1/ HTTP/1.1\r\n\r\n")
        writer.write_eof()
    assert proxy.rest.decode() == passed


async def test_request_of_unknown_length_goes_through_a_tunnel(monkeypatch):
    proxy, own = HttpProxy(), Proxy((HOST,))
    async with running(proxy) as port, connected(own) as (reader, writer):
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{port}")
        fields = "Transfer-Encoding: chunked\r\n"
        writer.write(f"POST http://{HOST}/ HTTP/1.1\r\n{fields}\r\n".encode())
        assert b"POST / HTTP/1.1\r\n" in await reader.read()
    [head] = proxy.heads
    assert head.startswith(f"CONNECT {HOST}:80 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("host", "address", "is_reached"),
    [
        ("localhost", None, False),
        ("db.localhost.", None, False),
        ("intranet", None, False),
        ("metadata.google.internal", None, False),
        ("printer.local", None, False),
        ("rebinding.example", "169.254.169.254", False),
        ("rebinding.example", "::ffff:10.0.0.1", False),
        ("public.example", "93.184.215.14", True),
        ("only-the-proxy-finds.example", None, True),
    ],
)
async def test_network_of_a_program_opens_no_private_host_through_the_proxy_of_the_user(
    monkeypatch, host, address, is_reached
):
    async def find(host, port):
        if address is None:
            raise OSError
        return [ip_address(address)]

    monkeypatch.setattr(module, "find_addresses", find)
    proxy, own = HttpProxy(), Proxy(())
    async with running(proxy) as port, connected(own) as (reader, writer):
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
        with own.serving_all() as password:
            login = base64.b64encode(f"yourtool:{password}".encode()).decode()
            writer.write(f"CONNECT {host}:443 HTTP/1.1\r\n".encode())
            writer.write(f"Proxy-Authorization: Basic {login}\r\n\r\n".encode())
            said = await reader.readuntil(b"\r\n\r\n")
    assert (b" 200 " in said, bool(proxy.heads)) == (is_reached, is_reached)


async def test_host_that_no_proxy_excepts_is_reached_directly(monkeypatch):
    proxy, server = HttpProxy(), HttpProxy("204 No Content")
    async with running(proxy) as port, running(server) as direct:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("NO_PROXY", "internal.example,localhost")
        own = Proxy((f"localhost:{direct}",), lambda address: address.is_loopback)
        async with connected(own) as (reader, writer):
            writer.write(b"CONNECT localhost:%d HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n" % direct)
            said = await reader.read()
    assert said.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 204")
    assert not proxy.heads


@pytest.mark.parametrize("hosts", [(), ("other.example",)])
async def test_question_behind_a_proxy_names_the_real_host(root, contexts, monkeypatch, hosts):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pw@proxy.corp.example:3128")
    line = f"curl -sS -m 20 https://{HOST}/ || exit 3"
    output = await run(root, contexts, line, hosts)
    assert output.blocked.hosts == (HOST,)


async def test_proxy_of_the_user_is_never_a_host_to_allow(root, contexts, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pw@proxy.corp.example:3128")
    output = await run(root, contexts, "getent ahosts proxy.corp.example || exit 3", ())
    assert output.blocked is None


async def test_command_in_the_sandbox_sees_no_password_of_a_proxy(root, contexts, monkeypatch):
    for name in (*OF_PROXIES, "npm_config_https_proxy"):
        monkeypatch.setenv(name, "http://me:pw@proxy.corp.example:3128")
    for hosts in ((), (HOST,)):
        said = get_text(await run(root, contexts, "env", hosts))
        assert "proxy.corp.example" not in said
        assert "HTTPS_PROXY=http://127.0.0.1:8118" in said
        assert "npm_config_https_proxy=http://127.0.0.1:8118" in said


async def test_unreachable_proxy_is_named(root, contexts, monkeypatch):
    port = find_closed_port()
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:pw@127.0.0.1:{port}")
    output = await run(root, contexts, f"curl -sS https://{HOST}/")
    note = describe_block(output.blocked, has_user=True)
    assert note == (
        f"[The proxy of the user, `127.0.0.1:{port}` in `HTTPS_PROXY`, could not be reached:"
        " connection refused. Commands reach the allowed hosts through it.]"
    )
    assert output.blocked.hosts == ()
    assert "pw" not in note


@pytest.mark.parametrize(
    ("written", "proxy", "problem"),
    [
        ("http://me:pw@127.0.0.1:{}", HttpProxy("407 Proxy Authentication Required"),
         "answered with the status 407 for `a.example:443`"),
        ("http://127.0.0.1:{}", HttpProxy("403 No\r\nX: 1"), "answered with the status 403"),
        ("socks5h://127.0.0.1:{}", SocksProxy(5, 0), "did not connect to `a.example:443`"),
        ("socks5h://127.0.0.1:{}", SocksProxy(0, 255), "does not accept the login"),
        ("gopher://me:pw@127.0.0.1:{}", HttpProxy(), "has a kind that is not supported"),
        ("http://me:pw@127.0.0.1:x{}", HttpProxy(), "is no address"),
    ],
)  # fmt: skip
async def test_proxy_that_does_not_connect_is_named_without_its_password(
    monkeypatch, written, proxy, problem
):
    async with running(proxy) as port:
        monkeypatch.setenv("https_proxy", written.format(port))
        with pytest.raises(UserProxyError) as raised:
            found = find_user_proxy("https", "a.example", 443)
            await open_tunnel(found, "a.example", 443)
    assert problem in str(raised.value)
    assert "`https_proxy`" in str(raised.value)
    assert "pw" not in str(raised.value)


async def test_proxy_that_ends_the_connection_is_named(monkeypatch):
    class ShortProxy:
        async def serve(self, reader, writer):
            await reader.read(1)

    async with running(ShortProxy()) as port:
        for scheme in ("http", "socks5h"):
            monkeypatch.setenv("https_proxy", f"{scheme}://127.0.0.1:{port}")
            found = find_user_proxy("https", "a.example", 443)
            with pytest.raises(UserProxyError, match="sent no answer"):
                await open_tunnel(found, "a.example", 443)


async def test_exceptions_of_no_proxy(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://p.example:1")
    for written, host, is_direct in (
        ("*", "a.example", True),
        ("a.example", "b.a.example", True),
        (".a.example", "b.a.example", True),
        ("a.example:8443", "a.example", False),
        ("a.example", "xa.example", False),
        ("", "a.example", False),
    ):
        monkeypatch.setenv("NO_PROXY", written)
        assert (find_user_proxy("https", host, 443) is None) is is_direct, (written, host)


async def test_host_that_is_not_allowed_is_refused_behind_a_proxy_too(root, contexts, monkeypatch):
    proxy = HttpProxy()
    async with running(proxy) as port:
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
        output = await run(root, contexts, f"{TUNNEL.format('evil.example')}; false")
    assert output.blocked.hosts == ("evil.example",)
    assert not proxy.heads
    assert "403" in get_text(output)
