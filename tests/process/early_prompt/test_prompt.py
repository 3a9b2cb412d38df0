"""Which command lines show the early prompt, and how its keys are handed over."""

import os
import threading

import pytest

from yourtool.cli.parsed_arguments import parse_arguments
from yourtool.process.early_prompt.handover import Handover, Pipes
from yourtool.process.early_prompt.prompt import OPTIONS, opens_interface

VALUES = {
    "--cwd": ".", "--add-dir": ".", "--mode": "plan", "--effort": "high", "--model": "sonnet",
    "-m": "sonnet", "--allow": "shell", "--deny": "shell",
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_opens_the_interface(name):
    value = [VALUES[name]] if OPTIONS[name] else []
    for arguments in ([name, *value, "--model=a"], ["-c", "-m", "a", name, *value]):
        parsed = parse_arguments(arguments)
        assert opens_interface(arguments)
        assert not parsed.command and parsed.prompt is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"], ["--help"], ["-h"], ["-p"], ["-phi"], ["--prompt", "hi"], ["--prom=hi"],
        ["-cp"], ["models"], ["fix the test"], ["-m"], ["-m", "sonnet", "doctor"], ["--no-color"],
        ["--continue=x"], ["--resume"], ["--"], ["-msonnet"], ["--model", "a", "-p"],
    ],
)  # fmt: skip
def test_other_command_lines_start_without_the_early_prompt(arguments):
    assert not opens_interface(arguments)


def handed_over(typed, take):
    """Return what the program gets, and whether it released the terminal."""
    pipes, released = Pipes(), []

    def answer():
        released.append(pipes.is_release())
        pipes.give(typed)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        return take(pipes), released
    finally:
        thread.join()


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000])
def test_the_program_gets_every_byte_once(size):
    typed = os.urandom(size)
    assert handed_over(typed, Pipes.take) == (typed, [False])
    assert handed_over(typed, Pipes.release) == (None, [True])


def test_the_end_of_the_program_releases_the_terminal():
    pipes = Pipes()
    pipes.keep_prompt_ends()
    assert pipes.is_release()
    pipes.give(b"typed")
    assert pipes.is_answered


def test_the_end_of_the_early_prompt_leaves_no_key():
    pipes = Pipes()
    handover = Handover(pipes, [])
    handover.open()
    assert handover.take_keys() == b""
    assert not handover.is_open


def test_a_handover_that_was_not_opened_asks_for_nothing():
    handover = Handover(Pipes(), [])
    assert handover.take_keys() == b""
    handover.release()
