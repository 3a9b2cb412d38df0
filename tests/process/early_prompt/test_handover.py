import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
import sys, tty
from yourtool.process.early_prompt.handover import Handover, Pipes
from yourtool.process.terminal_modes import get_settings
saved = get_settings()
handover = Handover(Pipes(), saved)
tty.setraw(0)
handover.open()  # closes the only ends of the prompt
handover.release()
sys.exit(get_settings() != saved)
"""


@pytest.mark.req("R-TUI-16")
def test_program_restores_the_terminal_if_the_early_prompt_was_killed():
    master, terminal = pty.openpty()
    code = subprocess.run(
        [sys.executable, "-c", PROGRAM], stdin=terminal, stdout=terminal, check=False
    ).returncode
    assert code == 0
    assert b"\x1b[?1049l" in os.read(master, 4_096)
    os.close(master)
    os.close(terminal)
