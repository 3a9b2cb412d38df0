import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
from yourtool import cli
cli._interface()
from textual.constants import MAX_FPS
print(MAX_FPS, os.environ.get("TEXTUAL_FPS"))
"""


@pytest.mark.parametrize(("given", "seen"), [(None, "120 None"), ("30", "30 30")])
def test_frames_come_often_unless_the_user_says_how_often_and_no_child_is_told(given, seen):
    environ = {name: value for name, value in os.environ.items() if name != "TEXTUAL_FPS"}
    environ |= {"TEXTUAL_FPS": given} if given else {}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environ
    )
    assert run.stdout.strip() == seen, run.stderr
