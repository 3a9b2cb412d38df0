"""The process of a server, without a client."""

import asyncio
import gc
import logging
import os
import sys
import threading
import warnings

import anyio
import pytest

from yourtool.tools.mcp.transport import StdioTransport
from yourtool.tools.processes.process import ShellCommand

FLOODS = """
import sys
line = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"text": "%s"}}\\n'
try:
    for _ in range(400):
        sys.stdout.buffer.write(line % (b"a" * 10_000))
finally:
    sys.stdin.read()
"""


class Threads(logging.Handler):
    """Records the thread that writes each line."""

    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        self.found.append(threading.current_thread())


@pytest.mark.parametrize("lines", ["sys.stderr.write('line\\n' * 100)", "print('line\\n' * 100)"])
async def test_lines_that_are_no_message_are_logged_in_a_thread(tmp_path, lines):
    chatty = f"import sys; {lines}; sys.stdout.flush(); sys.stdin.read()"
    command = ShellCommand((sys.executable, "-I", "-c", chatty), tmp_path, dict(os.environ))
    handler, log = Threads(), logging.getLogger("yourtool")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        async with StdioTransport("chatty", command).connect():
            with anyio.fail_after(20):
                while len(handler.found) < 100:
                    await asyncio.sleep(0.01)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert threading.main_thread() not in handler.found


@pytest.mark.remaining
async def test_pipes_of_a_server_that_nobody_reads_are_closed(tmp_path):
    command = ShellCommand((sys.executable, "-I", "-c", FLOODS), tmp_path, dict(os.environ))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        async with StdioTransport("floods", command).connect() as (incoming, _):
            await incoming.receive()
            with anyio.fail_after(20):
                while incoming.statistics().current_buffer_used < 16:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
        gc.collect()
    assert [str(each.message) for each in caught if each.category is ResourceWarning] == []
