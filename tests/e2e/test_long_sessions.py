"""A prompt in a session of 100,000 messages, in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.turns import FactBuilder
from yourtool.messages.blocks import TextBlock
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

MIB = 1024 * 1024
GROWTH = 5.5

MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""


async def write_session(home: Path, workspace: Path, messages: int) -> None:
    database = Database(home / "data" / "sessions.db")
    builder, store = FactBuilder(workspace=str(workspace)), SqliteStore(database)
    await store.append(builder.session_start())
    for _ in range(messages // 1_000):
        facts = []
        for number in range(125):
            facts += builder.turn("a line of output\n" * 10)
            facts += [builder.turn_start(f"prompt {number}"), builder.route(), builder.request()]
            facts += [builder.reply(TextBlock("Some words. " * 10)), builder.turn_end()]
            facts += [
                builder.turn_start("again"),
                builder.reply(TextBlock("Yes.")),
                builder.turn_end(),
            ]
        await store.append(*facts)
    await database.close()


def measured(home: Path, workspace: Path, *arguments: str) -> tuple[float, int]:
    """Return CPU seconds and the largest resident size in bytes of one run of the program."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "yourtool", *arguments]
    environment = {**os.environ, "YOURTOOL_HOME": str(home)}
    run = subprocess.run(
        command, cwd=workspace, env=environment, capture_output=True, text=True, check=True
    )
    status, cpu, size = run.stdout.split()
    assert status == "0", run.stderr
    return float(cpu), int(size)


@pytest.mark.soak
@pytest.mark.blocks_loop("the test waits for processes that it starts")
@pytest.mark.timeout(900)
async def test_a_prompt_in_a_session_of_100_000_messages_is_linear_and_small(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"replies": [[{"say": "Done."}], [{"say": "Done."}], [{"say": "Done."}]]}')
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    seconds, sizes = [], []
    for messages in (20_000, 100_000):
        home = tmp_path / str(messages)
        await write_session(home, workspace, messages)
        prompt = ("-p", "hello", "--continue", "-m", f"demo:{script}")
        runs = [measured(home, workspace, *prompt) for _ in range(2)]
        seconds.append(min(cpu for cpu, _ in runs))
        sizes.append(max(size for _, size in runs))
    assert seconds[1] <= GROWTH * seconds[0]
    assert sizes[1] <= 200 * MIB
