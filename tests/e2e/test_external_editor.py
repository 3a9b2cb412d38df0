"""Ctrl+G in a pseudo-terminal: the editor gets the terminal and gives it back."""

import os
import signal
import sys

import pytest

from tests.e2e.leftover_processes import is_alive
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.e2e.test_job_control import SHELL, children, left_on, open_in_shell
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

LINE_EDITOR = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
print("\\nthe editor is ready", flush=True)
file.write_text(file.read_text().strip() + input())
"""
RUDE_EDITOR = """
import os, pathlib, sys, tty
file = pathlib.Path(sys.argv[1])
tty.setraw(0)
os.write(1, b"\\x1b[?1049h\\x1b[?1000h\\x1b[?2004h\\x1b[>1u the editor is ready")
os.read(0, 1)
file.write_text(file.read_text().strip() + str(tuple(os.get_terminal_size(0))))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def editor(tmp_path):
    """Return a function that writes an editor and returns the environment with it."""

    def write(code):
        (tmp_path / "editor.py").write_text(code)
        return {"EDITOR": f"{sys.executable} {tmp_path / 'editor.py'}"}

    return write


def test_a_killed_editor_and_a_resize_leave_the_interface_as_it_was(work, home, editor):
    with ProviderServer([Reply("It is well.")]) as server:
        env = {**home, **server.environment, **editor(RUDE_EDITOR)}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("Shift.Tab mode", "anthropic:")
            terminal.send("draft ")
            terminal.wait("draft")
            before = left_on(bytes(terminal.output))
            terminal.send("\x07")
            terminal.wait("the editor is ready")
            terminal.resize(80, 24)
            terminal.send("x")
            terminal.wait(r"draft\(80, 24\)", "was ended: Killed", "anthropic:")
            assert left_on(bytes(terminal.output)) == before
            terminal.paste(" pasted")
            terminal.wait(r"\(80, 24\) pasted")
            terminal.send("\r")
            terminal.wait("It is well")
            terminal.say("/quit")
            assert terminal.end() == 0
            assert left_on(bytes(terminal.output)) == []


def test_the_turn_continues_while_the_editor_is_open(work, home, editor):
    slow = Reply("word " * 12 + "and the end", pause=0.05, words_at_once=1)
    with ProviderServer([slow]) as server:
        env = {**home, **server.environment, **editor(LINE_EDITOR)}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("Shift.Tab mode")
            terminal.say("talk")
            terminal.wait("word word")
            terminal.send("next\x07")
            terminal.wait("the editor is ready")
            written = terminal.output.rstrip()
            terminal.read(1.0)
            assert terminal.output.rstrip() == written, "the program drew over the editor"
            terminal.send(" one\r")
            terminal.wait("and the end", r"next\s+one")
            terminal.send("\x03")
            terminal.send("\x04")
            assert terminal.end() == 0


def test_ctrl_c_and_ctrl_z_reach_the_editor_only(work, home, editor):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null", **editor(LINE_EDITOR)}
    with (
        ProviderServer([Reply("It is well.")]) as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        terminal.wait("Shift.Tab mode")
        terminal.send("draft\x07")
        terminal.wait("the editor is ready")
        terminal.send("\x03")
        terminal.wait("ended|status", "draft")
        terminal.send("\x07")
        terminal.wait("the editor is ready")
        editing = os.tcgetpgrp(terminal.process.child_fd)
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.send("echo the shell $((40 + 2)) works\r")
        terminal.wait("the shell 42 works")
        terminal.screen.reset()  # so that only new output is visible
        terminal.send("fg; echo left with $?\r")
        terminal.wait(
            "-m yourtool", lambda _: os.tcgetpgrp(terminal.process.child_fd) == editing
        )  # before, the shell would read the keys
        terminal.send(" and more\r")
        terminal.wait("draft and more", "anthropic:")
        terminal.send("\x03")
        terminal.say("/quit")
        terminal.wait("left with 0")
        assert left_on(bytes(terminal.output)) == []


def test_sigterm_ends_the_editor_and_restores_the_terminal(work, home, editor):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null", **editor(LINE_EDITOR)}
    with (
        ProviderServer() as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        terminal.wait("Shift.Tab mode")
        terminal.send("\x07")
        terminal.wait("the editor is ready")
        group = os.tcgetpgrp(terminal.process.child_fd)
        [supervisor] = children(terminal.process.pid)
        os.kill(supervisor, signal.SIGTERM)
        terminal.wait(lambda _: not is_alive(supervisor))
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)
        terminal.send("echo the shell $((40 + 2)) works\r")
        terminal.wait("the shell 42 works")
        assert left_on(bytes(terminal.output)) == []
