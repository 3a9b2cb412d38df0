import asyncio
import gzip
import socket
from contextlib import suppress

import pytest

from tests.providers.fakes import join_chunks
from tests.providers.local_server import END, RESET, LocalServer, chunk, head
from yourtool.errors import AuthError, NetworkError, OtherAdapterError, ServerError
from yourtool.providers.transports.exchange import Timeouts
from yourtool.providers.transports.http import HttpTransport

CANARY = "sk-canary-0123456789abcdefghij"


@pytest.fixture
async def connect():
    open_transports = []

    def opener(url, headers=None, **timeouts):
        transport = HttpTransport(url, headers or {"x-api-key": CANARY}, Timeouts(**timeouts))
        open_transports.append(transport)
        return transport

    yield opener
    for transport in open_transports:
        await transport.close()


async def test_base_url_is_used_unchanged_over_plain_http_on_loopback(connect):
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        for base in (f"{server.url}/gateway/v1", f"{server.url}/gateway/v1/"):
            async with connect(base).post("/messages", b'{"a": 1}') as reply:
                assert reply.status == 200
                assert await reply.read() == b"ok"
    for line, headers, body in server.requests:
        assert line == "POST /gateway/v1/messages HTTP/1.1"
        assert body == b'{"a": 1}'
        assert headers["content-type"] == "application/json"
        assert headers["x-api-key"] == CANARY


async def test_large_body_arrives_in_order_and_with_its_length(connect):
    body = b"%06d " * 30_000 % tuple(range(30_000))
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        async with connect(server.url).post("/x", body) as reply:
            assert await reply.read() == b"ok"
    [(_, headers, received)] = server.requests
    assert received == body
    assert headers["content-length"] == str(len(body))
    assert "transfer-encoding" not in headers


async def test_response_headers_have_lower_case_names(connect):
    answer = b"HTTP/1.1 429 X\r\nRetry-After: 3\r\nX-Request-ID: r1\r\ncontent-length: 0\r\n\r\n"
    with LocalServer(lambda *_: [answer]) as server:
        async with connect(server.url).post("/x", b"{}") as reply:
            assert reply.status == 429
            assert (reply.headers["retry-after"], reply.headers["x-request-id"]) == ("3", "r1")


async def test_bytes_are_yielded_as_they_arrive(connect):
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    first_seen = asyncio.Event()

    def answer(*_):
        yield head() + chunk(b"data: 1\n\n")
        asyncio.run_coroutine_threadsafe(first_seen.wait(), loop).result(5)
        gate.set()
        yield chunk(b"data: 2\n\n") + END

    with LocalServer(answer) as server:
        async with connect(server.url).post("/x", b"{}") as reply:
            chunks = reply.chunks()
            assert await anext(chunks) == b"data: 1\n\n"
            assert not gate.is_set()
            first_seen.set()
            assert await join_chunks(chunks) == b"data: 2\n\n"


async def test_compressed_body_is_decompressed(connect):
    packed = gzip.compress(b"hello")
    with LocalServer(
        lambda *_: [head(200, len(packed), content_encoding="gzip"), packed]
    ) as server:
        async with connect(server.url).post("/x", b"{}") as reply:
            assert await reply.read() == b"hello"


async def test_redirect_is_not_followed_so_that_the_key_does_not_leak(connect):
    with (
        LocalServer(lambda *_: [head(200, 0)]) as elsewhere,
        LocalServer(lambda *_: [head(307, 0, location=elsewhere.url + "/x")]) as server,
    ):
        async with connect(server.url).post("/x", b"{}") as reply:
            assert reply.status == 307
        with pytest.raises(OtherAdapterError, match="status 307"):
            await connect(server.url).get("/models")
    assert elsewhere.requests == []


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def test_connection_error_names_the_server_without_key_path_or_query(connect):
    port = closed_port()
    transport = connect(f"http://user:{CANARY}@127.0.0.1:{port}/secret-path?key={CANARY}")
    with pytest.raises(NetworkError) as caught:
        async with transport.post("/x", b"{}"):
            pass
    text = str(caught.value)
    assert f"`127.0.0.1:{port}` could not be reached" in text
    assert CANARY not in text + repr(caught.value) + repr(transport)
    assert "secret-path" not in text
    assert caught.value.retryable


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://127.0.0.1", "http://127.0.0.1:x"])
async def test_invalid_base_url_is_a_network_error(connect, url):
    with pytest.raises(NetworkError, match="must start with `http://` or `https://`"):
        async with connect(url).post("/x", b"{}"):
            pass


async def test_error_names_an_invalid_header_without_its_value(connect):
    transport = connect("http://127.0.0.1:1", {"x-team": "schlüssel"})
    with pytest.raises(NetworkError, match="characters beyond ASCII") as caught:
        async with transport.post("/x", b"{}"):
            pass
    assert "schl" not in str(caught.value)


@pytest.mark.parametrize("ending", [RESET, b""])
async def test_truncated_body_yields_its_bytes_and_then_a_network_error(connect, ending):
    with LocalServer(lambda *_: [head() + chunk(b"half"), 0.02, ending]) as server:
        async with connect(server.url).post("/x", b"{}") as reply:
            got = []
            with pytest.raises(NetworkError, match="was lost in the middle of the reply"):
                async for piece in reply.chunks():
                    got.append(piece)
    assert got == [b"half"]


@pytest.mark.parametrize("pieces", [[RESET], [b""], [b"what is this"], [b"HTTP/1.1 200"]])
async def test_connection_closed_before_the_response_is_a_network_error(connect, pieces):
    with LocalServer(lambda *_: pieces) as server, pytest.raises(NetworkError):
        async with connect(server.url).post("/x", b"{}"):
            pass


async def test_silence_is_a_network_error_with_its_duration(connect):
    with LocalServer(lambda *_: [head(), 0.05, chunk(b"late") + END]) as server:
        async with connect(server.url, read=0.01).post("/x", b"{}") as reply:
            with pytest.raises(NetworkError, match=r"silent for 0\.01 s"):
                await reply.read()


async def test_leaving_the_block_early_closes_the_connection(connect):
    closed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def answer(*_):
        yield head()
        while not loop.is_closed():
            yield chunk(b"more")
            yield 0.001

    class Watching(LocalServer):
        def _serve(self, connection):
            super()._serve(connection)
            loop.call_soon_threadsafe(closed.set)

    with Watching(answer) as server:
        async with connect(server.url).post("/x", b"{}") as reply:
            await anext(reply.chunks())
        await asyncio.wait_for(closed.wait(), 5)


async def test_transport_can_be_closed_twice_and_used_again(connect):
    with LocalServer(lambda *_: [head(200, 0)]) as server:
        transport = connect(server.url)
        await transport.close()
        async with transport.post("/x", b"{}"):
            pass
        await transport.close()
        await transport.close()


async def test_list_of_models_is_fetched_as_json(connect):
    with LocalServer(lambda *_: [head(200, 12), b'{"data": []}']) as server:
        assert await connect(server.url).get("/models") == {"data": []}
    [(line, headers, _)] = server.requests
    assert line == "GET /models HTTP/1.1"
    assert headers["x-api-key"] == CANARY


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AuthError), (403, AuthError), (500, ServerError), (404, OtherAdapterError)],
)
async def test_unavailable_list_is_an_error_with_the_reason(connect, status, kind):
    with LocalServer(lambda *_: [head(status, 0)]) as server, pytest.raises(kind) as caught:
        await connect(server.url).get("/models")
    assert caught.value.status == status


async def test_list_that_is_not_json_is_an_error(connect):
    refused = pytest.raises(OtherAdapterError, match="did not answer with JSON")
    with LocalServer(lambda *_: [head(200, 6), b"<html>"]) as server, refused:
        await connect(server.url).get("/models")
    with pytest.raises(NetworkError):
        await connect(f"http://127.0.0.1:{closed_port()}").get("/models")


def keep_alive(body=b"ok", more=b""):
    return b"HTTP/1.1 200 OK\r\n%scontent-length: %d\r\n\r\n%s" % (more, len(body), body)


class Counting(LocalServer):
    """Answers every request on a connection, and counts the connections."""

    connections = 0

    def _serve(self, connection):
        self.connections += 1
        with suppress(ConnectionError), connection, connection.makefile("rb") as lines:
            while lines.readline():
                size = 0
                while (line := lines.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        size = int(line.partition(b":")[2])
                for piece in self._answer({}, lines.read(size)):
                    connection.sendall(piece)


async def ask(transport, body=b"{}"):
    async with transport.post("/x", body) as reply:
        return await reply.read()


async def test_connection_is_used_again_after_a_complete_response(connect):
    with Counting(lambda *_: [keep_alive()]) as server:
        transport = connect(server.url)
        assert [await ask(transport) for _ in range(3)] == [b"ok"] * 3
        assert server.connections == 1
        await transport.close()


async def test_cookies_of_a_server_are_not_sent_back(connect):
    answer = head(200, 2).replace(b"\r\n\r\n", b"\r\nSet-Cookie: id=1; Path=/\r\n\r\n")
    with LocalServer(lambda *_: [answer, b"ok"]) as server:
        transport = connect(server.url)
        assert [await ask(transport) for _ in range(2)] == [b"ok"] * 2
    assert ["cookie" in headers for _, headers, _ in server.requests] == [False, False]


@pytest.mark.parametrize(
    "answer",
    [
        keep_alive(more=b"Connection: close\r\n"),
        keep_alive().replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
)
async def test_connection_is_not_used_again_after_other_responses(connect, answer):
    with Counting(lambda *_: [answer]) as server:
        transport = connect(server.url)
        assert [await ask(transport) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 2
        await transport.close()


@pytest.mark.parametrize("is_closed", [True, False])
async def test_response_that_arrives_between_two_requests_answers_neither(connect, is_closed):
    late = b"HTTP/1.1 408 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    ending = () if is_closed else (0.2,)
    with LocalServer(lambda *_: [keep_alive(), 0.02, late, *ending]) as server:
        transport = connect(server.url)
        assert await ask(transport) == b"ok"
        await asyncio.sleep(0.05)
        assert await ask(transport) == b"ok"
        await transport.close()


async def test_cancelled_request_does_not_disturb_the_next_one(connect):
    with Counting(lambda _, body: [keep_alive(body)]) as server:
        transport = connect(server.url)
        for turns in range(40):
            sending = asyncio.create_task(ask(transport, b"cancelled"))
            for _ in range(turns):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait([sending])
            assert await ask(transport, b"%d" % turns) == b"%d" % turns
        await transport.close()


async def test_connection_that_the_server_closed_meanwhile_is_replaced(connect):
    with LocalServer(lambda *_: [keep_alive()]) as server:
        transport = connect(server.url)
        assert await ask(transport) == b"ok"
        await asyncio.sleep(0.02)
        assert await ask(transport) == b"ok"
        assert len(server.requests) == 2


async def test_response_before_the_body_was_read_is_returned(connect):
    answer = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1_000_000):
                    pass

        refusing = asyncio.create_task(asyncio.to_thread(refuse))
        transport = connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        async with transport.post("/x", b"x" * 4_000_000) as reply:
            assert reply.status == 413
        await refusing


async def test_interim_responses_are_skipped(connect):
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    with LocalServer(lambda *_: [interim, head(200, 2), b"ok"]) as server:
        assert await ask(connect(server.url)) == b"ok"


async def test_path_is_encoded_and_the_query_of_the_base_url_is_kept(connect):
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        assert await ask(connect(f"{server.url}/a b/%7Eé")) == b"ok"
    [(line, _, _)] = server.requests
    assert line == "POST /a%20b/%7E%C3%A9/x HTTP/1.1"


async def test_body_without_a_length_ends_with_the_connection(connect):
    with LocalServer(lambda *_: [b"HTTP/1.1 200 OK\r\n\r\n", b"half", b"half"]) as server:
        assert await ask(connect(server.url)) == b"halfhalf"


@pytest.fixture
def proxies(monkeypatch):
    """Set the variables of proxies; returns a function that does it."""
    names = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
    for name in [*names, *(each.upper() for each in names)]:
        monkeypatch.delenv(name, raising=False)

    def set_variables(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_provider_is_reached_through_the_proxy_of_the_environment(connect, proxies, name):
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        proxies(**{name: f"http://me:pw@127.0.0.1:{server.port}"})
        assert await ask(connect("http://api.example.com/v1")) == b"ok"
    [(line, headers, _)] = server.requests
    assert line == "POST http://api.example.com/v1/x HTTP/1.1"
    assert headers["proxy-authorization"].startswith("Basic ")


async def test_server_on_this_machine_is_reached_without_the_proxy(connect, proxies):
    proxies(ALL_PROXY="http://127.0.0.1:1")
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        assert await ask(connect(server.url)) == b"ok"


@pytest.mark.parametrize("excluded", ["::1", "[::1]", "fd00::/8", "[fd00::1]:8080", "127.0.0.0/8"])
async def test_hosts_without_a_proxy_can_be_addresses_of_both_versions(connect, proxies, excluded):
    with LocalServer(lambda *_: [head(200, 2), b"ok"]) as server:
        proxies(HTTP_PROXY=server.url, NO_PROXY=excluded)
        assert await ask(connect("http://api.example.com/v1")) == b"ok"


@pytest.mark.parametrize("proxy", ["ftp://me:pw-secret@10.0.0.1", "http://me:pw-secret@host:port"])
async def test_error_names_the_variable_of_an_invalid_proxy_without_its_password(
    connect, proxies, proxy
):
    proxies(HTTPS_PROXY=proxy, NO_PROXY="localhost")
    with pytest.raises(NetworkError) as caught:
        await ask(connect("https://api.example.com"))
    assert "`api.example.com` could not be reached" in str(caught.value)
    assert "correct `HTTPS_PROXY`" in str(caught.value)
    assert "pw-secret" not in str(caught.value)


async def test_socks_proxy_that_is_not_reached_is_an_error_of_the_network(connect, proxies):
    proxies(ALL_PROXY=f"socks5h://me:pw@127.0.0.1:{closed_port()}")
    with pytest.raises(NetworkError, match=r"`api.example.com` could not be reached"):
        await connect("http://api.example.com").get("/models")


async def test_socks_proxy_gets_the_name_of_the_host_and_passes_the_request_on(connect, proxies):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            """Use SOCKS 5 (RFC 1928) without a login; return the host that was asked for."""
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                lines.read(2 + lines.peek(2)[1])
                connection.sendall(b"\5\0")
                lines.read(4)
                host = lines.read(lines.read(1)[0])
                lines.read(2)
                connection.sendall(b"\5\0\0\1" + bytes(6))
                while lines.readline().strip():
                    pass
                connection.sendall(keep_alive())
                return host

        serving = asyncio.create_task(asyncio.to_thread(serve))
        proxies(ALL_PROXY=f"socks5h://127.0.0.1:{listener.getsockname()[1]}")
        transport = connect("http://api.example.com")
        async with transport.post("/x", b"") as reply:
            assert await reply.read() == b"ok"
        assert await serving == b"api.example.com"


async def test_requests_that_start_together_share_one_client(connect):
    with Counting(lambda *_: [keep_alive()]) as server:
        transport = connect(server.url)
        assert await asyncio.gather(*(ask(transport) for _ in range(5))) == [b"ok"] * 5
        await transport.close()


@pytest.mark.remaining
async def test_other_tasks_run_while_a_flood_of_the_smallest_chunks_is_read(connect):
    flood = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 60_000
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with LocalServer(lambda *_: [flood, END]) as server:
        transport = connect(server.url)
        counting = asyncio.create_task(count())
        async with transport.post("/x", b"{}") as reply:
            assert len(await reply.read()) == 60_000
        counting.cancel()
        assert turns > len(flood) // (32 * 1024)
        await transport.close()
