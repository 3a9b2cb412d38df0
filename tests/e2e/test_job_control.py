"""Ctrl+Z and `fg` in a shell in a terminal."""

import os
import shlex
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.leftover_processes import is_alive
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")
MODES = (b"1000", b"1003", b"1004", b"1006", b"1049")
"""Bracketed paste is not among them: the shell turns it on for itself."""


def open_in_shell(terminal):
    terminal.wait("shell>")
    terminal.send(f"{shlex.join(YOURTOOL)}\r")
    terminal.wait("anthropic:")


def left_on(output):
    return [
        mode
        for mode in MODES
        if output.rfind(b"\x1b[?%sh" % mode) > output.rfind(b"\x1b[?%sl" % mode)
    ]


@pytest.mark.req("R16")
def test_ctrl_z_restores_the_terminal_and_fg_the_interface(work, home):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer([Reply("One is done."), Reply("Two is done.")]) as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        terminal.say("first")
        terminal.wait("One is done")
        terminal.send("a draft that stays")
        terminal.wait("a draft that stays")
        terminal.send("\x1a")
        terminal.wait("Stopped")
        assert left_on(bytes(terminal.output)) == []
        assert b"\x1b[?25h" in terminal.output[terminal.output.rfind(b"\x1b[?25l") :]
        terminal.send("echo the shell $((40 + 2)) works\r")
        terminal.wait("the shell 42 works")
        terminal.screen.reset()  # so that only new output is visible
        terminal.send("fg; echo left with $?\r")
        terminal.wait("One is done", "a draft that stays")
        terminal.send(" as it was")
        terminal.wait("a draft that stays as it was")
        terminal.send("\r")
        terminal.wait("Two is done")
        terminal.say("/quit")
        terminal.wait("left with 0")
        assert left_on(bytes(terminal.output)) == []


def test_a_turn_survives_being_stopped_in_the_middle(work, home):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    slow = Reply("word " * 12 + "and the end", pause=0.1, words_at_once=1)
    with (
        ProviderServer([slow]) as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        terminal.say("talk")
        terminal.wait("word word")
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.send("fg; echo left with $?\r")
        terminal.wait("and the end")
        terminal.wait("Shift.Tab mode")
        terminal.say("/quit")
        terminal.wait("left with 0")


def test_the_program_does_not_stop_without_a_shell_to_continue_it(work, home):
    with (
        ProviderServer([Reply("Hello.")]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        assert os.getsid(terminal.process.pid) == terminal.process.pid
        terminal.send("\x1a")
        terminal.wait("no shell with job control")
        terminal.say("hello")
        terminal.wait("Hello")
        terminal.say("/quit")
        assert terminal.end() == 0


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def program_below(shell):
    [supervisor] = children(shell)
    [guardian] = children(supervisor)
    [program] = children(guardian)
    return program


def wait_until_stopped(pid):
    for _ in range(400):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T"):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} did not stop")


def test_ctrl_c_before_the_terminal_is_taken_back_clears_the_prompt(work, home):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        program = program_below(terminal.process.pid)
        terminal.send("a draft")
        terminal.wait("a draft")
        terminal.send("\x1a")
        terminal.wait("Stopped")
        os.kill(
            program, signal.SIGINT
        )  # what the terminal sends while its settings are the shell's
        terminal.screen.reset()
        terminal.send("fg; echo left with $?\r")
        terminal.wait("Say what to do", lambda screen: "a draft" not in screen)
        terminal.say("/quit")
        terminal.wait("left with 0")


def test_program_in_the_background_stops_until_fg_shows_it_again(work, home):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        [supervisor] = children(terminal.process.pid)
        terminal.send("a draft")
        terminal.wait("a draft")
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.send("bg\r")
        terminal.wait(r"yourtool &")
        wait_until_stopped(supervisor)
        terminal.say("echo the shell $((40 + 2)) works")
        terminal.wait("the shell 42 works")
        terminal.screen.reset()
        terminal.send("fg; echo left with $?\r")
        terminal.wait("a draft", "Shift.Tab mode")
        terminal.send(" stays\x15")
        terminal.wait("Say what to do")
        terminal.say("/quit")
        terminal.wait("left with 0")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
@pytest.mark.parametrize("types_in_shell", [True, False])
def test_fg_after_a_stop_from_outside_takes_the_terminal_back(work, home, number, types_in_shell):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer([Reply("One is done.")]) as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        [supervisor] = children(terminal.process.pid)
        os.kill(supervisor, number)
        terminal.wait("Stopped")
        if types_in_shell:
            terminal.send("echo the shell $((40 + 2)) works\r")
            terminal.wait("the shell 42 works")
        terminal.screen.reset()
        terminal.send("fg; echo left with $?\r")
        terminal.wait("Say what to do", "Shift.Tab mode")
        terminal.say("hello")
        terminal.wait("One is done")
        terminal.say("/quit")
        terminal.wait("left with 0")


def test_shell_gets_its_terminal_back_when_the_supervisor_is_killed(work, home):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        open_in_shell(terminal)
        [supervisor] = children(terminal.process.pid)
        [guardian] = children(supervisor)
        below = [guardian, *children(guardian)]
        os.kill(supervisor, signal.SIGKILL)
        end = time.monotonic() + 20
        while time.monotonic() < end and any(map(is_alive, below)):
            terminal.read(0.1)
        assert not any(map(is_alive, below)), "they were stopped, without anybody to resume them"
        terminal.send("echo the shell $((40 + 2)) works\r")
        terminal.wait("the shell 42 works")
        assert left_on(bytes(terminal.output)) == []
