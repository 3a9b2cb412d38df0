"""The linear mode: appended lines without a screen, in a real terminal."""

import re
import threading
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = [pytest.mark.remaining, pytest.mark.needs("extensions/linear")]

RUN = [("shell", {"command": "touch ran"})]


@pytest.fixture
def linear(work, home):
    """Return a function that opens a terminal with a conversation in plain lines."""
    config = Path(home["YOURTOOL_HOME"], "config.toml")
    config.parent.mkdir()
    config.write_text("[ui]\nlinear = true\n")

    def opened(server, **options):
        env = {**home, **server.environment, **options}
        terminal = Terminal(YOURTOOL, cwd=work, env=env)
        terminal.wait("You:")
        return terminal

    return opened


@pytest.mark.req("R-TUI-23")
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_conversation_is_appended_lines_with_roles_and_no_drawing(linear, work, term):
    script = [Reply("I run **it**.", RUN), Reply("It is\ndone.")]
    with ProviderServer(script) as server, linear(server, TERM=term) as terminal:
        terminal.send("run it\r")
        terminal.wait("Question: Run this command\\?", "touch ran", "Type a number from 1 to")
        assert not (work / "ran").exists()
        terminal.read(0.8)
        terminal.send("1\r")
        terminal.wait("Tool: ok", "Model: It is", "done\\.", "Done: ", "You:")
        assert (work / "ran").exists()
        terminal.send("/help\r")
        terminal.wait("/quit: quit")
        terminal.send("/quit\r")
        assert terminal.end() == 0
    assert b"\x1b" not in terminal.output
    shown = terminal.output.decode()
    assert not set("│╭╰─●✓⠋") & set(shown)


@pytest.mark.req("R-TUI-23")
def test_what_was_typed_before_a_question_never_allows_a_call(linear, work):
    typed = threading.Event()
    first = Reply("I run it.", RUN, before_piece=lambda: typed.wait(20) and None)
    script = [first, Reply("Done."), Reply("More.")]
    with ProviderServer(script) as server, linear(server) as terminal:
        terminal.send("run it\r")
        terminal.wait(lambda _: bool(server.requests))
        terminal.send("1\r")
        terminal.wait("Waits for the end of the turn: 1")
        terminal.send("1")
        terminal.wait(lambda screen: screen.rstrip().endswith("\n1"))
        typed.set()
        terminal.wait("Question: Run this command", "Type a number from 1")
        terminal.send("\r")
        terminal.read(0.8)
        terminal.send("yes 1\r")
        terminal.wait(lambda _: terminal.output.count(b"Type a number") >= 2)
        terminal.read(0.8)
        [number] = re.findall(r"(\d)\. Deny$", terminal.text, re.MULTILINE)
        terminal.send(f"{number}\r")
        terminal.wait("Tool: .*denied")
        assert not (work / "ran").exists()
        terminal.wait("You: 1")
        terminal.send("\x04")
        terminal.end()


def test_ctrl_c_stops_a_turn_and_twice_quits(linear):
    slow = Reply("One two three four five six seven.\nEight", pause=0.5, words_at_once=1)
    with ProviderServer([slow]) as server, linear(server) as terminal:
        terminal.send("go\r")
        terminal.wait(lambda _: bool(server.requests))
        terminal.send("\x03")
        terminal.wait("stopped", "You:")
        terminal.send("\x03")
        terminal.wait("again to quit")
        terminal.send("\x03")
        assert terminal.end() == 0


def test_files_of_a_folder_that_is_not_trusted_are_named_with_the_remedy(linear, work):
    (work / "AGENTS.md").write_text("Answer in French.\n")
    with ProviderServer([Reply("Hello.")]) as server, linear(server) as terminal:
        terminal.wait("Not used before you trust this folder with /trust: AGENTS.md")
        terminal.send("/trust\r")
        terminal.wait("1. Trust the folder", "3. AGENTS.md, 18 bytes", "Type a number from 0 to 3")
        terminal.send("1\r")
        terminal.wait(lambda _: b"Notice: Trusted " in terminal.output, r"You:\s*$")
        terminal.send("\x04")
        assert terminal.end() == 0
