"""A server that sends anything: each call has one result, and nothing is asked in silence."""

import asyncio
import sys

import pytest

from tests.tools.servers.configured import HERE, started
from yourtool.errors import ToolError
from yourtool.tools.servers.server import ServerState


async def fuzz(root, calls: int, disturbances: int, seed: int) -> dict[str, int]:
    """Make calls, and return how often each outcome came."""
    script = [str(HERE / "fuzz_server.py"), str(seed), str(disturbances)]
    entry = {"command": sys.executable, "args": ["-I", *script], "timeoutSeconds": 1}
    counts = {"results": 0, "errors": 0, "questions": 0}

    async def decline(_title: str, _details: str) -> None:
        counts["questions"] += 1

    async with started(root, {"fuzz": entry}, pauses=(0.01,)) as servers:
        [server] = servers.servers
        for _ in range(calls):
            if server.state is not ServerState.CONNECTED:
                server.retry()
                await asyncio.wait_for(server.settle(), 20)
            async with asyncio.timeout(20):  # a call without a result
                try:
                    await server.call(server.tools[0], {}, decline)
                    counts["results"] += 1
                except ToolError:
                    counts["errors"] += 1
        task = server._task
        assert task is not None and not task.done(), "the task of the server is alive"
    assert task.done() and task.exception() is None
    return counts


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    return path


async def test_each_call_to_a_server_that_sends_anything_has_one_result(root):
    counts = await fuzz(root, 10, 10, 3)
    assert counts["results"] + counts["errors"] == 10


@pytest.mark.reliability
@pytest.mark.timeout(1800)
async def test_many_messages_of_a_server_that_sends_anything(root, figures):
    counts = await fuzz(root, 500, 100, 4)
    assert counts["results"] + counts["errors"] == 500
    text = f"50,000 messages, {counts['questions']:,} questions, 500 calls: 0, 0, 0"
    figures("doors", text, part="MCP")
