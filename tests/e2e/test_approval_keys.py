"""Only letters, or Enter after Tab, answer an approval prompt that was fully shown."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

UP, LEFT, PAGE_DOWN, CTRL_E = "\x1b[A", "\x1b[D", "\x1b[6~", "\x05"


@pytest.fixture
def asked(work, home):
    """Return a function that opens a terminal with the approval prompt of a command."""

    def opened(server, **size):
        env = {**home, **server.environment}
        terminal = Terminal(YOURTOOL, cwd=work, env=env, **size)
        terminal.wait("sonnet")
        terminal.say("run it")
        terminal.wait("Run this command")
        return terminal

    return opened


def test_recall_and_enter_at_an_approval_prompt_run_nothing(asked, work, home):
    command = [("shell", {"command": "touch ran"})]
    with (
        ProviderServer([Reply("I run it.", command), Reply("Done."), Reply("Again.")]) as server,
        asked(server) as terminal,
    ):
        terminal.read(0.8)
        terminal.send(UP)
        terminal.send("\r")
        terminal.send(UP * 3 + "\r")
        terminal.read(1.2)
        assert "Run this command" in terminal.text
        assert "queued" not in terminal.text
        assert not (work / "ran").exists()
        terminal.send("\t")
        terminal.wait("Enter: Allow once")
        terminal.send("\r")
        terminal.wait("Done|Again")
        assert (work / "ran").exists()
        rules = (work.parent / "home" / "permissions.toml").read_text()
        assert "touch" not in rules
        terminal.send("\x1b")
        terminal.read(0.3)
        terminal.send("\x03\x03\x03")
        terminal.end()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
def test_a_long_command_can_be_allowed_after_its_end_was_on_the_screen(asked, work, columns, rows):
    command = "\n".join(["touch ran", *(f"echo step-{n:02}" for n in range(40))])
    script = [Reply("I run it.", [("shell", {"command": command})]), Reply("Done.")]
    with (
        ProviderServer(script) as server,
        asked(server, columns=columns, rows=rows) as terminal,
    ):
        terminal.wait(r"\d\d lines not shown")
        terminal.answer("a")
        terminal.wait("Page Down for more")
        assert not (work / "ran").exists()
        for _ in range(20):
            terminal.send(PAGE_DOWN)
            terminal.read(0.1)
            if "not shown" not in terminal.text:
                break
        terminal.wait("the end")
        terminal.answer("a")
        terminal.wait("Done")
        assert (work / "ran").exists()
        terminal.say("/quit")
        assert terminal.end() == 0
