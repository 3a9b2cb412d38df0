"""A kill between the end of a tool and the next request loses no result."""

import asyncio
import sys

from tests.agent.harness import Bench
from yourtool.events.tools import ToolCompleted
from yourtool.messages.blocks import ToolResultBlock
from yourtool.providers.scripted import Scripted


async def test_result_survives_a_kill_before_the_next_request(tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.agent.killed_turn",
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
    )
    bench = Bench(tmp_path)
    try:
        assert process.stdout is not None
        session_id = (await process.stdout.readline()).decode().strip()
        async with asyncio.timeout(10):
            while not any(
                isinstance(fact, ToolCompleted) for fact in await bench.store.read(session_id)
            ):
                await asyncio.sleep(0.01)
    finally:
        process.kill()
        await process.wait()
    session = await bench.session(Scripted([]), resume=session_id)
    [result] = [
        block
        for message in session.state.messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert not result.is_error
    assert result.content[0].text == "42\n[exit code 0]"
    await session.close()
    await bench.close()
