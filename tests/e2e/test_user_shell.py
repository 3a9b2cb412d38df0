"""A command of the user, typed at a real terminal."""

import json
import subprocess

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal

pytestmark = pytest.mark.remaining


def test_a_command_is_run_shown_and_shown_again_when_the_session_is_resumed(work, home):
    """R-TUI-04, R-TUI-20."""
    with Terminal((*YOURTOOL, "-m", "demo:tour"), cwd=work, env=home) as terminal:
        terminal.wait("demo:tour  ask")
        terminal.say("!echo h''i; exit 3")
        terminal.wait(r"✗ ! echo h''i; exit 3 · exit code 3")
        terminal.wait("│ hi")
        terminal.say("!!echo un''seen")
        terminal.wait("│ unseen")
        terminal.say("/quit")
        assert terminal.end() == 0
        assert b"yourtool --resume" in terminal.output
    with Terminal((*YOURTOOL, "--resume"), cwd=work, env=home) as terminal:
        terminal.wait(r"\$ echo h''i; exit 3")
        terminal.send("\r")
        terminal.wait(r"✗ ! echo h''i; exit 3 · exit code 3")
        terminal.wait("✓ !! echo un''seen\n.*│ unseen")
        terminal.say("hello")
        terminal.wait("I understand")
        terminal.say("/quit")
        assert terminal.end() == 0


@pytest.mark.req("R-CLI-01")
def test_without_the_interface_an_exclamation_mark_is_text_for_the_model(work, home):
    options = ("-p", "!touch ran", "-m", "demo:guide", "--output-format", "stream-json")
    done = subprocess.run(
        (*YOURTOOL, *options),
        cwd=work,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **home},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    [started] = [event for event in events if event["type"] == "turn.started"]
    assert started["message"]["content"] == [{"type": "text", "text": "!touch ran"}]
    assert not any(event["type"].startswith("shell") for event in events)
