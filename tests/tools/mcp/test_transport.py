"""The process of a server, without a client."""

import asyncio
import gc
import os
import sys
import warnings

import anyio

from yourtool.tools.mcp.transport import StdioTransport
from yourtool.tools.process import ShellCommand

FLOODS = """
import sys
line = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"text": "%s"}}\\n'
try:
    for _ in range(400):
        sys.stdout.buffer.write(line % (b"a" * 10_000))
finally:
    sys.stdin.read()
"""


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
