import asyncio
import os
import subprocess
import sys

import pytest

from yourtool import cli
from yourtool.agent.runtime import Runtime
from yourtool.cli.parsed_arguments import parse_arguments
from yourtool.paths import resolve_paths
from yourtool.process import prctl

PROGRAM = """
import os
from yourtool import cli
cli._import_interface()
from textual.constants import MAX_FPS
print(MAX_FPS, os.environ.get("TEXTUAL_FPS"))
"""


@pytest.mark.parametrize(("given", "seen"), [(None, "120 None"), ("30", "30 30")])
def test_frame_rate_is_raised_unless_set_and_not_inherited(given, seen):
    environ = {name: value for name, value in os.environ.items() if name != "TEXTUAL_FPS"}
    environ |= {"TEXTUAL_FPS": given} if given else {}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environ
    )
    assert run.stdout.strip() == seen, run.stderr


def test_memory_of_the_imports_is_returned_after_the_start(monkeypatch, tmp_path):
    async def open_nothing(*_):
        calls.append("open")

    calls = []
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path))
    monkeypatch.setattr(Runtime, "open", open_nothing)
    monkeypatch.setattr(prctl, "return_free_memory", lambda: calls.append("return"))
    asyncio.run(cli._runtime_opener(parse_arguments([]), resolve_paths())())
    assert calls == ["open", "return"]
