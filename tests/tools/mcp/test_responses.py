"""Responses of a server by HTTP that are too large, too slow, or not what was asked for."""

import socket
import ssl

import pytest

from tests.providers.transports.test_encryption import certificate
from tests.tools.contexts import answer, get_refusal
from tests.tools.mcp.hostile_pages import hostile_pages
from tests.tools.servers.configured import started
from yourtool.errors import ToolFailure
from yourtool.tools.servers.server import ServerState

__all__ = ["certificate"]
pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("bomb", "a message of over 8 MiB"),
        ("other encoding", "cannot be decompressed"),
        ("huge", "a message of over 8 MiB"),
        ("wide", "a message with over 100,000 values"),
        ("wide event", "a message with over 100,000 values"),
        ("endless line", "exceeded the 1048576 byte limit"),
        ("endless event", "exceeded the 1048576 byte limit"),
        ("elsewhere", "127.0.0.1:9"),
    ],
)
@pytest.mark.sample(8)
async def test_call_has_the_fault_of_the_response_as_its_result(root, context, kind, reason):
    with hostile_pages(kind) as url:
        async with started(root, {"bad": {"type": "http", "url": url}}) as servers:
            act = servers.current().get("mcp__bad__act")
            await get_refusal(act, context, reason)
            assert servers.servers[0].state is ServerState.CONNECTED


async def test_compressed_response_is_read(root, context):
    with hostile_pages("compressed") as url:
        async with started(root, {"bad": {"type": "http", "url": url}}) as servers:
            assert await answer(servers.current().get("mcp__bad__act"), context) == "small"


async def test_response_that_never_ends_is_given_up_after_the_time_of_a_call(root, context):
    with hostile_pages("slow") as url:
        entry = {"type": "http", "url": url, "timeoutSeconds": 0.3}
        async with started(root, {"bad": entry}) as servers:
            act = servers.current().get("mcp__bad__act")
            failure = ToolFailure.TIMEOUT
            await get_refusal(act, context, "has no result within 0.3 s", failure=failure)


async def test_server_with_a_certificate_of_its_own_is_not_connected(root, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with hostile_pages("compressed", context) as url:
        async with started(root, {"bad": {"type": "http", "url": url}}) as servers:
            [server] = servers.servers
            assert server.state is ServerState.FAILED
            assert "cannot be reached" in server.reason and "certificate" in server.reason


async def test_server_that_never_answers_has_failed_after_its_time(root):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        entries = {"bad": {"type": "http", "url": url}}
        async with started(root, entries, connect_seconds=0.3) as servers:
            [server] = servers.servers
            assert server.state is ServerState.FAILED
            assert server.reason == "did not answer within 0.3 s"
