"""Servers of background processes in the sandbox of a session."""

import asyncio
import socket
import sys
import urllib.request

import pytest

from tests.agent.harness import ALLOW, Checked, User, play
from tests.tools.sandbox.levels import build_sandbox, find_reason, require
from yourtool.events.deltas import Notice
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.sandbox_config import SandboxLevel

FULL = SandboxLevel.FULL


@pytest.fixture(autouse=True)
def measured_level():
    """Measure the machine before a test, whose event loop must not block."""
    find_reason(FULL)


def fetch(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as reply:
        return reply.read()


async def test_session_shows_the_address_of_a_server_and_ends_it(bench):
    require(FULL)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    (bench.workspace / "index.html").write_text("hello\n")
    later = f"until curl -s http://127.0.0.1:{port}/; do sleep .02; done"
    replies = [
        calls("shell", command=f"{sys.executable} -u -m http.server {port}", background=True),
        calls("shell", command=later),
        calls("process_output", id="p1", wait_seconds=1),
        says("done"),
    ]
    adapter = Checked(Scripted(replies))
    session = await bench.session(adapter, confirm=User(ALLOW))
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    shown = []
    session.processes.show_with(shown.append)
    await play(session.send("go"))
    said = [block.text for each in adapter.requests[-1].messages for part in each.content
            for block in getattr(part, "content", ()) if hasattr(block, "text")]  # fmt: skip
    assert said[1].startswith("hello\n")
    assert f"listens on http://127.0.0.1:{port}" in said[2]
    notices = [each.text for each in shown if isinstance(each, Notice)]
    assert notices == [f"Process p1 listens on http://127.0.0.1:{port}"]
    assert await asyncio.to_thread(fetch, port) == b"hello\n"
    await session.close()
    with pytest.raises(OSError):
        await asyncio.to_thread(fetch, port)
    await session._env.place.sandbox.close()
