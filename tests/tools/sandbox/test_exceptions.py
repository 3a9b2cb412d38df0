"""Exceptions from the sandbox have an effect as soon as the user makes them."""

import asyncio

import pytest

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.network import proxy
from yourtool.tools.sandbox.network.proxy import Proxy

CACHES = (".npm/_cacache", ".cache/pip", ".cargo/registry", ".cargo/git", "go/pkg",
          ".cache/go-build", ".cache/uv")  # fmt: skip


@pytest.fixture
async def port():
    """A web server on this machine."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved")
        await writer.drain()
        writer.close()

    running = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield running.sockets[0].getsockname()[1]
    running.close()


async def test_host_that_was_allowed_meanwhile_is_reached_until_it_is_taken_back(
    root, contexts, port, monkeypatch
):
    monkeypatch.setattr(proxy, "Proxy", lambda hosts: Proxy(hosts, lambda _: True))
    sandbox, rules = build_sandbox(root, SandboxLevel.FULL), [RuleSet()]
    sandbox.exceptions.get_rules = lambda: rules[0]
    context = contexts(sandbox=sandbox)
    fetch = f"curl -s --noproxy '' http://localhost:{port}/"
    assert not (await call(shell, context, command=fetch)).success
    rules[0] = RuleSet(allow=(Rule("sandbox_host", f"localhost:{port}"),))
    assert (await answer(shell, context, command=fetch)).startswith("served")
    assert sandbox.describe() == f"full sandbox; network: localhost:{port}"
    assert not sandbox.contains_fully
    rules[0] = RuleSet()
    assert not (await call(shell, context, command=fetch)).success
    assert sandbox.contains_fully
    await sandbox.close()


async def test_package_managers_write_their_caches_where_nothing_else_sees_it(root, contexts):
    sandbox = build_sandbox(root, SandboxLevel.FULL)
    for name in CACHES:
        line = f"mkdir -p ~/{name} && echo x > ~/{name}/probe && cat ~/{name}/probe"
        said = await answer(shell, contexts(sandbox=sandbox), command=line)
        assert said == "x\n[exit code 0]", name
    await sandbox.close()
