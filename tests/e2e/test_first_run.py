"""The first screen of a person who has not read anything."""

import os
import pty
import subprocess

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply


@pytest.mark.req("R-EASE-01")
def test_enter_starts_the_tour_in_the_smallest_terminal(work, home):
    (work / "AGENTS.md").write_text("Be brief.\n")
    with Terminal(YOURTOOL, cwd=work, env=home, columns=40, rows=12) as terminal:
        terminal.wait("Press Enter to start", "Demo, no model: /key")
        terminal.send("\r")
        terminal.wait("Type anything to go on", lambda screen: "Demo, no model" not in screen)
        terminal.say("/quit")
        assert terminal.end() == 0


@pytest.mark.req("R-CLI-01")
def test_prompt_on_the_command_line_is_sent_and_answered(work, home):
    with ProviderServer([Reply("All tests pass now.")]) as server:
        env = {**home, **server.environment}
        command = (*YOURTOOL, "-m", "sonnet", "fix the failing test", "--mode", "plan")
        with Terminal(command, cwd=work, env=env) as terminal:
            terminal.wait("fix the failing test", "All tests pass now", "plan")
            terminal.say("/quit")
            assert terminal.end() == 0


@pytest.mark.parametrize("piped", [b"", b"some text\n"])
def test_prompt_with_piped_input_names_the_command_for_it(work, home, piped):
    env = {**os.environ, **home, "TERM": "xterm-256color"}
    screen, theirs = pty.openpty()
    with os.fdopen(screen, "rb"), os.fdopen(theirs, "wb") as out:
        command = (*YOURTOOL, "-m", "demo:tour", "fix it")
        run = subprocess.run(
            command, cwd=work, env=env, input=piped, stdout=out, stderr=subprocess.PIPE
        )
    assert run.returncode == 2
    assert b'yourtool -p "PROMPT"' in run.stderr
