import os
import subprocess
import sys

import pytest

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
