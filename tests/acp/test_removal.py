"""The program without the front end for editors: nothing else needs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path):
    """Return a directory with a copy of the program that has no `acp`."""
    ignored = shutil.ignore_patterns("acp", "__pycache__")
    shutil.copytree(ROOT / "yourtool", tmp_path / "copy/yourtool", ignore=ignored)
    for name in ("config", "themes"):
        (tmp_path / "copy" / name).symlink_to(ROOT / name)
    return tmp_path / "copy"


def run(copy, home, *words):
    command = [sys.executable, "-m", "yourtool", *words]
    env = {**os.environ, "PYTHONPATH": str(copy), "HOME": str(home), "YOURTOOL_DEMO_PACE": "0"}
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)


def test_program_without_the_front_end_for_editors_answers(copy, home):
    assert not (copy / "yourtool/acp").exists()
    done = run(copy, home, "-p", "hello", "-m", "demo:tour")
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    for words in (("--help",), ("config", "check"), ("sessions", "list", "--json")):
        done = run(copy, home, *words)
        assert done.returncode == 0, done.stderr
    assert run(copy, home, "acp").returncode != 0, "the copy was run"
