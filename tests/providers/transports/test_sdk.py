import gzip
import importlib
import re
import sys

import pytest

from tests.providers.fakes import join_chunks
from tests.providers.local_server import END, RESET, LocalServer, chunk, head
from tests.providers.recorded_exchanges import exchange, sets
from yourtool.errors import AuthError, NetworkError, OtherAdapterError
from yourtool.foundation.decompression import MAX_PIECE_BYTES
from yourtool.providers.transports.exchange import MAX_ERROR_BYTES, Timeouts
from yourtool.providers.transports.http import HttpTransport
from yourtool.providers.transports.sdk import Login, SdkTransport
from yourtool.settings.credentials import Secret

CANARY = "sk-canary-0123456789abcdefghij"
KEY = Secret(CANARY)


@pytest.fixture
async def connect():
    """Open a transport of a kind: `key`, or the vendor whose client it goes through."""
    open_transports = []

    def opener(kind, url, **login):
        transport = (
            HttpTransport(url, {"x-api-key": CANARY})
            if kind == "key"
            else SdkTransport(
                importlib.import_module,
                Login(vendor=kind, base_url=url, **(login or {"api_key": KEY})),
                Timeouts(read=5),
            )
        )
        open_transports.append(transport)
        return transport

    yield opener
    for transport in open_transports:
        await transport.close()


KINDS = pytest.mark.parametrize("kind", ["key", "anthropic", "openai"])
VENDORS = pytest.mark.parametrize("kind", ["anthropic", "openai"])
PASSED_ON = re.compile(
    r"(anthropic-messages|openai-chat)-(call-stream|text|error-(server|gateway|rate-limit))"
    r"|anthropic-messages-1.*|doc-(anthropic|openai-chat)-.*|cut-a.*"
)


@KINDS
@pytest.mark.parametrize("names", sets())
@pytest.mark.sample(3)
async def test_recorded_bytes_and_statuses_arrive_unchanged_through_every_transport(
    connect, kind, names
):
    chosen = [name for name in names if PASSED_ON.fullmatch(name)]
    assert len(chosen) >= 7
    for name in chosen:
        response = exchange(name)["response"]
        body, headers = response["body"].encode(), response["headers"] or {}
        pieces = [chunk(body[at : at + 700]) for at in range(0, len(body), 700)]
        start = head(response["status"], **{k.replace("-", "_"): v for k, v in headers.items()})
        with LocalServer(lambda *_, a=start, b=pieces: [a, *b, END]) as server:
            async with connect(kind, server.url).post("/v1/x", b'{"a": 1}') as reply:
                assert reply.status == response["status"]
                assert reply.headers.items() >= headers.items()
                assert await join_chunks(reply.chunks()) == body
        [(line, sent, posted)] = server.requests
        assert (line, posted) == ("POST /v1/x HTTP/1.1", b'{"a": 1}')
        assert sent["content-type"] == "application/json"


@KINDS
async def test_compressed_response_arrives_in_small_chunks(connect, kind):
    packed = gzip.compress(bytes(20_000_000))
    with LocalServer(
        lambda *_: [head(200, len(packed), content_encoding="gzip"), packed]
    ) as server:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            sizes = [len(piece) async for piece in reply.chunks()]
    [(_, sent, _)] = server.requests
    assert sent["accept-encoding"] == "gzip"
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= MAX_PIECE_BYTES


@KINDS
@pytest.mark.parametrize("status", [200, 401, 500])
async def test_response_that_is_compressed_twice_is_rejected(connect, kind, status):
    packed = gzip.compress(gzip.compress(bytes(5_000_000)))
    start = head(status, len(packed), content_encoding="gzip, gzip")
    refusal = pytest.raises(OtherAdapterError, match="compressed more than once")
    with LocalServer(lambda *_: [start, packed]) as server, refusal:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            await reply.read()


@KINDS
async def test_huge_error_is_read_up_to_a_limit(connect, kind):
    packed = gzip.compress(bytes(MAX_ERROR_BYTES + 5_000_000))
    with LocalServer(
        lambda *_: [head(500, len(packed), content_encoding="gzip"), packed]
    ) as server:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            assert len(await reply.read()) == MAX_ERROR_BYTES


@KINDS
async def test_first_bytes_arrive_before_the_last_are_sent(connect, kind):
    with LocalServer(lambda *_: [head() + chunk(b"1"), 0.03, chunk(b"2") + END]) as server:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            pieces = [piece async for piece in reply.chunks()]
    assert pieces == [b"1", b"2"]


@KINDS
async def test_transport_never_retries(connect, kind):
    answer = head(429, 2, retry_after="7", retry_after_ms="6500")
    with LocalServer(lambda *_: [answer, b"{}"]) as server:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            assert reply.status == 429
            assert reply.headers["retry-after"] == "7"
            assert await reply.read() == b"{}"
    assert len(server.requests) == 1


@KINDS
@pytest.mark.parametrize("ending", [RESET, b""])
async def test_truncated_body_is_a_network_error_and_not_a_foreign_exception(connect, kind, ending):
    with LocalServer(lambda *_: [head() + chunk(b"half"), 0.02, ending]) as server:
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            with pytest.raises(NetworkError, match="was lost in the middle of the reply"):
                await reply.read()


@KINDS
async def test_closed_or_refused_connection_is_a_network_error_without_the_key(connect, kind):
    with LocalServer(lambda *_: [RESET]) as server, pytest.raises(NetworkError):
        async with connect(kind, server.url).post("/x", b"{}"):
            pass
    assert len(server.requests) == 1
    with pytest.raises(NetworkError) as caught:
        async with connect(kind, server.url).post("/x", b"{}"):
            pass
    assert f"127.0.0.1:{server.port}" in str(caught.value)
    assert CANARY not in str(caught.value)


@VENDORS
async def test_redirect_is_not_followed(connect, kind):
    with (
        LocalServer(lambda *_: [head(200, 0)]) as elsewhere,
        LocalServer(lambda *_: [head(307, 0, location=elsewhere.url)]) as server,
    ):
        async with connect(kind, server.url).post("/x", b"{}") as reply:
            assert reply.status == 307
    assert elsewhere.requests == []


@VENDORS
async def test_list_of_models_is_fetched_as_json(connect, kind):
    with LocalServer(lambda *_: [head(200, 12), b'{"data": []}']) as server:
        assert await connect(kind, server.url).get("/v1/models") == {"data": []}
    missing = pytest.raises(OtherAdapterError, match="status 404")
    with LocalServer(lambda *_: [head(404, 0)]) as server, missing:
        await connect(kind, server.url).get("/v1/models")


async def headers_sent(connect, kind, **login):
    with LocalServer(lambda *_: [head(200, 0)]) as server:
        transport = connect(kind, server.url, **login)
        async with transport.post("/x", b"{}"):
            pass
    return server.requests[0][1]


async def test_anthropic_gets_its_key_in_its_header_and_the_api_version(connect):
    ours = {"anthropic-version": "2023-06-01"}
    sent = await headers_sent(connect, "anthropic", api_key=KEY, headers=ours)
    assert sent["x-api-key"] == CANARY
    assert "authorization" not in sent
    assert sent["anthropic-version"] == "2023-06-01"


async def test_anthropic_gets_an_auth_token_as_a_bearer_token(connect):
    sent = await headers_sent(connect, "anthropic", auth_token=KEY)
    assert sent["authorization"] == f"Bearer {CANARY}"
    assert "x-api-key" not in sent


async def test_openai_gets_a_bearer_token_and_the_headers_of_the_row(connect):
    sent = await headers_sent(connect, "openai", api_key=KEY, headers={"x-team": "blue"})
    assert sent["authorization"] == f"Bearer {CANARY}"
    assert sent["x-team"] == "blue"


@VENDORS
async def test_missing_credentials_are_an_error_that_names_them(
    connect, kind, tmp_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    refused = pytest.raises(AuthError, match=f"the `{kind}` package found no way to log in")
    with LocalServer(lambda *_: [head(200, 0)]) as server, refused:
        async with connect(kind, server.url, headers={}).post("/x", b"{}"):
            pass
    assert server.requests == []


async def test_package_is_imported_on_the_first_request_only():
    loaded = []

    def load(name):
        loaded.append(name)
        return sys.modules.get(name) or importlib.import_module(name)

    with LocalServer(lambda *_: [head(200, 0)]) as server:
        transport = SdkTransport(load, Login(vendor="openai", base_url=server.url, api_key=KEY))
        await transport.close()
        assert loaded == []
        for _ in range(2):
            async with transport.post("/x", b"{}"):
                pass
        await transport.close()
    assert loaded == ["openai"]
