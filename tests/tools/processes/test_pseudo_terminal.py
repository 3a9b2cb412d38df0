"""Input of programs on a pseudo-terminal."""

import subprocess
import sys
import time

import pytest

from yourtool.tools.processes.pseudo_terminal import PseudoTerminal, use_terminal

ASKS = "import getpass, time; time.sleep({}); getpass.getpass('Secret: ')"


def find_inputs(pause: float) -> set[str | None]:
    """Return what is found, without a break, until a program waits for a password."""
    terminal = PseudoTerminal()
    arguments = (sys.executable, "-I", "-S", "-c", ASKS.format(pause))
    command, side = use_terminal(arguments), terminal.program_side
    found: set[str | None] = set()
    with subprocess.Popen(command, stdin=side, stdout=side, stderr=side) as program:
        give_up = time.monotonic() + 20
        while "password" not in found and time.monotonic() < give_up:
            found.add(terminal.find_input())
        program.kill()
    terminal.close()
    return found


@pytest.mark.remaining
def test_a_password_is_never_taken_for_a_line_of_input():
    found = {kind for pause in range(20) for kind in find_inputs(pause / 500)}
    assert found == {None, "password"}
