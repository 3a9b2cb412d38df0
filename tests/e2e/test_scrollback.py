"""The conversation in the terminal's own scrollback."""

import re
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

EVIL = "See \x1b]0;owned\x07\x1b[2J**this** · done"


@pytest.fixture
def served(home):
    with ProviderServer([Reply(EVIL), Reply("Again.")]) as server:
        yield {**home, **server.environment}


def test_conversation_stays_after_exit_with_the_line_that_resumes_it(work, served):
    with Terminal((*YOURTOOL, "-m", "sonnet", "hello"), cwd=work, env=served) as terminal:
        terminal.wait("this · done", "ask first")
        terminal.send("\x04")
        assert terminal.end() == 0
        after = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode(errors="replace")
    lines = re.sub("\x1b\\[[0-9;?]*[a-z<]?u?", "", after).splitlines()
    assert "❯ hello" in lines
    assert any("this · done" in line for line in lines)
    assert re.fullmatch("To continue this session: yourtool --resume sess_[0-9A-Z]+", lines[-1])
    assert "\x1b]0;" not in after
    assert "\x1b[2J" not in after


def test_plain_narrow_terminal_gets_plain_narrow_lines(work, served):
    directory = Path(served["YOURTOOL_HOME"])
    directory.mkdir()
    (directory / "config.toml").write_text("[ui]\nascii = true\n")
    env = {**served, "NO_COLOR": "1"}
    command = (*YOURTOOL, "-m", "sonnet", "hello")
    with Terminal(command, cwd=work, env=env, columns=40, rows=12) as terminal:
        terminal.wait("done", "ask")
        terminal.send("\x04")
        assert terminal.end() == 0
        after = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode(errors="replace")
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9;]*m", after)
    lines = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]|\x1b\\[<u", "", after).splitlines()
    assert "> hello" in lines
    assert all(len(line) <= 40 for line in lines if not line.startswith("To continue"))


def test_setting_prints_only_the_line_that_resumes(work, served):
    directory = Path(served["YOURTOOL_HOME"])
    directory.mkdir()
    (directory / "config.toml").write_text("[ui]\nscrollback_on_exit = false\n")
    with Terminal((*YOURTOOL, "-m", "sonnet", "hello"), cwd=work, env=served) as terminal:
        terminal.wait("this · done", "ask first")
        terminal.send("\x04")
        assert terminal.end() == 0
        after = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode(errors="replace")
    assert "hello" not in after
    assert "--resume sess_" in after


def test_key_prints_the_conversation_and_any_key_returns(work, served):
    with Terminal((*YOURTOOL, "-m", "sonnet", "hello"), cwd=work, env=served) as terminal:
        terminal.wait("this · done", "ask first")
        terminal.send("\t")
        terminal.wait("Tab back")
        left = len(terminal.output)
        terminal.send("[")
        terminal.wait("Press any key to return to yourtool")
        printed = terminal.output[left:].decode(errors="replace")
        assert "hello" in printed[printed.index("\x1b[?1049l") :]
        terminal.send("x")
        terminal.wait(
            lambda _: terminal.output[left:].rfind(b"\x1b[?1049h") > 0,
            lambda screen: "Press any key" not in screen,
            "this · done",
            "Tab back",
        )
        terminal.send("go on\r")
        terminal.wait("Again")
        terminal.send("\x04")
        assert terminal.end() == 0


def test_letter_after_the_page_does_not_answer_an_approval_that_it_covered(work, home):
    words = "I will run it after some words " * 3
    reply = Reply(words, [("shell", {"command": "touch ran"})], pause=0.15)
    with ProviderServer([Reply("Hello."), reply]) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "-m", "sonnet", "hello"), cwd=work, env=env) as terminal:
            terminal.wait("Hello", "ask first")
            terminal.say("go")
            terminal.wait("after some words")
            terminal.send("\t")
            terminal.wait("Tab back")
            terminal.send("[")
            terminal.wait("Press any key to return to yourtool")
            terminal.read(3.0)  # the approval prompt opens behind the page
            terminal.send("xa")
            terminal.wait("Run this command", "│ a ")
            terminal.read(0.8)
            assert "Run this command" in terminal.text
    assert not (work / "ran").exists()
