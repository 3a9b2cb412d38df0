"""Ten ordinary things work by the keys and commands of Claude Code and Codex."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

ESC, UP, CTRL_C, CTRL_D, CTRL_O, CTRL_R = "\x1b", "\x1b[A", "\x03", "\x04", "\x0f", "\x12"
PASTED = "a pasted line\n" * 50


def is_quiet(screen: str) -> bool:
    return "Esc to interrupt" not in screen


def ask_mention_and_paste(terminal: Terminal, server: ProviderServer) -> None:
    """1 type and Enter; 2 `@` and Tab; 3 paste and Enter."""
    server.script += [Reply("It prints 1."), Reply("It is one line."), Reply("A long text.")]
    terminal.say("what is this?")
    terminal.wait("It prints 1", is_quiet)
    terminal.send("explain @tal")
    terminal.wait("tally.py +file")
    terminal.send("\t please")
    terminal.wait("explain @tally.py please")
    terminal.send("\r")
    terminal.wait("It is one line", is_quiet)
    assert "print(1)" in str(server.requests[-1])
    terminal.paste(PASTED)
    terminal.wait(r"\[Pasted text #1: 5[01] lines\]")
    terminal.send("\r")
    terminal.wait("A long text", is_quiet)
    assert str(server.requests[-1]).count("a pasted line") == 50


def approve_and_expand(terminal: Terminal, server: ProviderServer) -> None:
    """4 `y`, which names the letters that answer here (ADR 49), then `a` and Enter; 5 Ctrl+O."""
    command = ("shell", {"command": "seq -f row-%g 16"})
    server.script += [Reply("I count.", [command]), Reply("Counted.")]
    terminal.say("count to 16")
    terminal.wait("Run this command")
    terminal.read(1.2)
    terminal.send("y")
    terminal.wait("Enter: Allow once")
    terminal.send("\r")
    terminal.wait("Counted", "row-16", r"more lines \(Ctrl\+O\)", is_quiet)
    terminal.send(CTRL_O)
    terminal.wait("row-4", "row-16", "Counted")
    terminal.send(CTRL_O)
    terminal.wait(r"more lines \(Ctrl\+O\)")


def edit_a_queued_message_and_interrupt(terminal: Terminal, server: ProviderServer) -> None:
    """6 Enter queues, and Up edits the last message; 7 Esc."""
    server.script.append(Reply("word " * 400, pause=0.05, words_at_once=1))
    terminal.say("write much")
    terminal.wait("word word")
    terminal.say("a queued message")
    terminal.wait("1. a queued message")
    terminal.send(UP)
    terminal.wait("│ a queued message", lambda screen: "1. a queued" not in screen)
    terminal.send(CTRL_C)
    terminal.wait(lambda screen: "a queued message" not in screen)
    terminal.send(ESC)
    terminal.wait("stopped by you", is_quiet)


def swap_search_and_quit(terminal: Terminal) -> None:
    """8 `/model`; 9 Ctrl+R; Ctrl+D quits."""
    terminal.say("/model")
    terminal.wait("Model for this session", "claude-haiku-4-5")
    terminal.send("haiku")
    terminal.wait("✓?★? ?claude-haiku-4-5 +1/5")
    terminal.send("\r")
    terminal.wait("anthropic:claude-haiku-4-5 +ask")
    terminal.send(CTRL_R)
    terminal.wait("Prompts", "count to 16")
    terminal.send("count")
    terminal.wait(r"│ count +│\n.*│ count to 16 +│\n")
    terminal.send("\r")
    terminal.wait("│ count to 16")
    terminal.send(CTRL_C + CTRL_D)
    assert terminal.end() == 0


def test_ten_ordinary_things_work_by_the_keys_that_are_known_from_other_agents(work, home):
    (work / "tally.py").write_text("print(1)\n")
    with ProviderServer() as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("anthropic:", r"\? keys")
            ask_mention_and_paste(terminal, server)
            approve_and_expand(terminal, server)
            edit_a_queued_message_and_interrupt(terminal, server)
            swap_search_and_quit(terminal)
        with Terminal((*YOURTOOL, "--resume"), cwd=work, env=env) as terminal:  # 10
            terminal.wait("Sessions by last used", "what is this")
            terminal.send("\r")
            terminal.wait("stopped by you", "claude-haiku-4-5 +ask")
