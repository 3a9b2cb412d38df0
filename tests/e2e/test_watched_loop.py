"""A program that a test starts at a terminal fails the test when it blocks its event loop."""

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.loop_watchdog import LoopBlockedError

BLOCKING = """
import asyncio, time

async def block():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        pass

def main(arguments, handover):
    asyncio.run(block())
    return 0
"""


def test_a_program_that_blocks_its_event_loop_fails_the_test_that_started_it(tmp_path):
    package = tmp_path / "yourtool"
    package.mkdir()
    (package / "__init__.py").write_text(
        f"__version__ = '0'\n__path__.append({str(ROOT / 'yourtool')!r})\n"
    )
    (package / "cli.py").write_text(BLOCKING)
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with (
        pytest.raises(LoopBlockedError, match=r"(?s)blocked for \d+ ms, in\n.*in block"),
        Terminal(YOURTOOL, cwd=tmp_path, env=path) as terminal,
    ):
        assert terminal.end() == 0
