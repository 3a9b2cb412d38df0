"""A program that can read no more keys ends, because no key could end it."""

import sys

import pytest

from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.remaining

PROGRAM = """
import sys

from yourtool.tui.terminal import terminal

read = terminal.read_items

def read_items(*arguments):
    for items in read(*arguments):
        if any(item.source == "x" for item in items):
            raise MemoryError
        yield items

terminal.read_items = read_items
sys.argv[0] = "yourtool"
from yourtool.__main__ import main

main()
"""


def test_program_without_input_ends_with_a_sentence_and_restores_the_terminal(work, home):
    command = (sys.executable, "-P", "-c", PROGRAM, "-m", "demo:tour")
    with Terminal(command, cwd=work, env=home, watched=False) as terminal:
        terminal.wait("demo:tour +ask")
        terminal.say("hello")
        terminal.send("x")
        terminal.wait("The program failed: there is not enough memory")
        assert terminal.end() == 1
        assert terminal.output.rfind(b"\x1b[?1049l") > terminal.output.rfind(b"\x1b[?1049h")
        assert b"Traceback" not in terminal.output
