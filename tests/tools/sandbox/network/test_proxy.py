"""The proxy dials the host that it checked, and no other."""

import asyncio
import base64
import random
import socket
import sys
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.permissions.hosts import allows_host, host_subject
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.network import proxy
from yourtool.tools.sandbox.network.proxy import Proxy, _RefusedError, parse_head

HOSTS = ("localhost", "*.example.org", "example.net:8443")


def everything(_):
    return True


@asynccontextmanager
async def serving(proxy):
    """Yield the address of a proxy that serves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        async with proxy.serve(listener):
            yield address


@asynccontextmanager
async def noting(proxy):
    """Yield the address of a proxy that serves, and what it refuses."""
    with proxy.refusals.watching() as refused:
        async with serving(proxy) as address:
            yield address, refused


async def ask(address, request):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    await writer.drain()
    answered = await reader.read()
    writer.close()
    return answered


@pytest.fixture
async def server():
    """A web server on this machine that repeats the request."""

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        body = head.replace(b"\r\n", b"|")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    running = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield running.sockets[0].getsockname()[1]
    running.close()


async def test_allowed_host_is_reached_and_gets_a_direct_request(server):
    proxy = Proxy((f"localhost:{server}",), everything)
    async with noting(proxy) as (address, refused):
        said = await ask(
            address,
            f"GET http://localhost:{server}/a?b HTTP/1.1\r\nHost: evil.example\r\n"
            "Proxy-Authorization: x\r\nAccept: */*\r\n\r\n".encode(),
        )
        tunnel = await ask(
            address,
            f"CONNECT localhost:{server} HTTP/1.1\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        )
    assert b"GET /a?b HTTP/1.1|Host: localhost:%d|Connection: close|Accept: */*|" % server in said
    assert tunnel.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert not refused


@pytest.mark.parametrize(
    "target",
    [
        "evil.org:443", "example.org:443", "example.org.evil.org:443", "notexample.org:443",
        "xexample.org:443", "a.example.org:22", "example.net:443", "a.example.org.:25",
    ],
)  # fmt: skip
async def test_host_that_is_not_on_the_list_is_refused_and_noted(target):
    proxy = Proxy(HOSTS, everything)
    async with noting(proxy) as (address, refused):
        said = await ask(address, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 403 ")
    assert len(refused) == 1


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:80", "[::1]:80", "2130706433:80", "0x7f000001:80", "0x7f.1:80", "127.1:80",
        "a@b.example.org:80", "b.example.org%00.evil.org:80", "b.exämple.org:80", "a b:80",
        "b.example.org:0", "b.example.org:65536", "b.example.org", ":80", ".example.org:80",
        "-a.example.org:80", "a..example.org:80", "169.254.169.254:80", "b.example.org:８０",
        "b.example.org\t:80", "b.example.org#.evil.org:80", "b.example.org/.evil.org:80",
    ],
)  # fmt: skip
async def test_address_that_is_not_a_plain_name_is_refused(address):
    proxy = Proxy(("*.example.org", "127.0.0.1"), everything)
    async with serving(proxy) as place:
        said = await ask(place, f"CONNECT {address} HTTP/1.1\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 400 ")


async def test_name_with_a_private_address_is_refused():
    proxy = Proxy(("localhost",))
    async with serving(proxy) as address:
        said = await ask(address, b"CONNECT localhost:80 HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"private address" in said


async def test_empty_list_of_hosts_reaches_nothing():
    proxy = Proxy((), everything)
    async with serving(proxy) as address:
        said = await ask(address, b"CONNECT localhost:443 HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("request_bytes", [b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x00\r\n\r\n",
                                           b"GET https://a.org/ HTTP/1.1\r\n\r\n"])  # fmt: skip
async def test_other_request_is_refused(request_bytes):
    proxy = Proxy(HOSTS, everything)
    async with serving(proxy) as address:
        assert (await ask(address, request_bytes)).startswith(b"HTTP/1.1 400 ")


PIECES = ("a.example.org", "example.org", "localhost", "evil.org", ".", ":", ":443", ":80", "@",
          "/", "\\", "#", "?", "%00", "\x00", " ", "[", "]", "::1", "127.0.0.1", "http://", "é",
          "CONNECT ", "GET ", " HTTP/1.1", "\r\n", "*", "-", "0x7f")  # fmt: skip


def check(line):
    """The parsed host is one that the list would allow only if it is spelled exactly like it."""
    try:
        target = parse_head(line.encode("utf-8", "surrogatepass") + b"\r\n\r\n")
    except _RefusedError:
        return
    assert target.host.isascii()
    assert not set(target.host) & set("@/\\#?%\0 []:*")
    subject = host_subject(target.host, target.port)
    if any(allows_host(spec, subject) for spec in HOSTS):
        assert f"{target.host}" in line
        name = target.host.lower().removesuffix(".")
        assert name == "localhost" or name.endswith((".example.org", "example.net"))


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_checked_host_is_the_dialled_host_for_any_request(line):
    check(f"CONNECT {line} HTTP/1.1")
    check(f"GET http://{line} HTTP/1.1")


@pytest.mark.security
def test_checked_host_is_the_dialled_host_in_many_requests(figures):
    source = random.Random(11)
    count = 50_000
    for _ in range(count):
        line = "".join(source.choices(PIECES, k=source.randint(1, 9)))
        check(f"CONNECT {line} HTTP/1.1")
        check(f"GET http://{line} HTTP/1.1")
    figures("proxy", f"all of {2 * count:,}")


async def test_sandboxed_command_reaches_only_the_hosts_of_the_settings(
    server, root, contexts, monkeypatch
):
    monkeypatch.setattr(proxy, "Proxy", lambda hosts: Proxy(hosts, everything))
    hosts = (f"localhost:{server}",)
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL, hosts=hosts))
    fetch = (
        "import os, urllib.request as u; os.environ['no_proxy'] = '';"
        " o = u.build_opener(u.ProxyHandler({'http': os.environ['http_proxy']})); print(o.open('http://%s/x').read())"
    )
    line = f'{sys.executable} -c "{fetch}"'
    said = await answer(shell, context, command=line % f"localhost:{server}")
    assert "GET /x" in said
    output = await call(shell, context, command=line % "evil.example")
    assert output.blocked.hosts == ("evil.example",)
    direct = f"import socket; socket.create_connection(('127.0.0.1', {server}), 2)"
    assert not (await call(shell, context, command=f'{sys.executable} -c "{direct}"')).success
    assert (await call(shell, context, command="exit 7")).details["exit_code"] == 7


async def test_commands_of_a_session_share_the_proxy_and_each_has_its_own_refusals(root, contexts):
    sandbox = build_sandbox(root, SandboxLevel.FULL, hosts=("example.org",))
    context = contexts(sandbox=sandbox)
    request = "printf 'CONNECT {}:443 HTTP/1.1\\r\\n\\r\\n' >&3"
    line = f"exec 3<>/dev/tcp/127.0.0.1/8118; {request}; cat <&3; false"
    for host in ("one.example", "two.example"):
        output = await call(shell, context, command=line.format(host))
        assert output.blocked.hosts == (host,)
    await sandbox.close()


async def test_command_that_takes_the_port_of_the_proxy_stops_no_other(root, contexts):
    sandbox = build_sandbox(root, SandboxLevel.FULL)
    context = contexts(sandbox=sandbox)
    take = "import socket, time; s = socket.create_server(('127.0.0.1', 8118)); time.sleep(99)"
    await call(shell, context, command=f'{sys.executable} -c "{take}"', background=True)
    reached = "until : < /dev/tcp/127.0.0.1/8118; do sleep 0.05; done 2>&-"
    assert (await call(shell, context, command=reached)).success
    sandbox.exceptions.hosts_of_servers = ("a.example",)
    request = "printf 'CONNECT b.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3"
    said = await answer(
        shell, context, command=f"exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}; {request}"
    )
    assert said.startswith("HTTP/1.1 403")
    await context.processes.close()
    await sandbox.close()


@pytest.mark.parametrize(
    "field",
    [
        "X: 1\nConnection: keep-alive",
        "X: 1\rHost: evil.example",
        "Connection : keep-alive",
        "X: 1\r\n Connection: keep-alive",
        "no field",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: +1",
        "Content-Length: 1, 1",
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
    ],
)
def test_head_that_servers_may_read_in_another_way_is_refused(field):
    with pytest.raises(_RefusedError):
        parse_head(f"POST http://a.example/ HTTP/1.1\r\n{field}\r\n\r\n".encode())


async def test_client_with_a_password_reaches_every_host_until_its_end(server):
    box = Proxy((), everything)
    request = f"GET http://localhost:{server}/ HTTP/1.1\r\nHost: x\r\n"
    async with serving(box) as address:
        with box.serving_all() as password:
            login = base64.b64encode(f"yourtool:{password}".encode()).decode()
            logged_in = f"{request}Proxy-Authorization: Basic {login}\r\n\r\n".encode()
            assert b"200 OK" in (said := await ask(address, logged_in))
            assert login.encode() not in said, "the host does not get it"
            for other in ("", "yourtool:", "yourtool:0"):
                wrong = base64.b64encode(other.encode()).decode()
                said = await ask(
                    address, f"{request}Proxy-Authorization: Basic {wrong}\r\n\r\n".encode()
                )
                assert b"403" in said
        assert b"403" in await ask(address, logged_in)


async def test_connection_of_a_password_ends_with_it():
    box, closed = Proxy((), everything), asyncio.Event()

    async def serve(reader, writer):
        writer.write(await reader.read(4))
        await reader.read()
        closed.set()
        writer.close()

    running = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = running.sockets[0].getsockname()[1]
    async with serving(box) as address:
        with box.serving_all() as password:
            login = base64.b64encode(f"yourtool:{password}".encode()).decode()
            reader, writer = await asyncio.open_connection(*address)
            head = f"CONNECT localhost:{port} HTTP/1.1\r\nProxy-Authorization: Basic {login}"
            writer.write(f"{head}\r\n\r\nping".encode())
            assert (await reader.readuntil(b"ping")).startswith(b"HTTP/1.1 200")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
            await closed.wait()
        writer.close()
    running.close()


async def test_password_opens_no_private_address(server):
    box = Proxy(())
    async with serving(box) as address:
        with box.serving_all() as password:
            login = base64.b64encode(f"yourtool:{password}".encode()).decode()
            head = (
                f"CONNECT localhost:{server} HTTP/1.1\r\nProxy-Authorization: Basic {login}\r\n\r\n"
            )
            assert b"has a private address" in await ask(address, head.encode())
