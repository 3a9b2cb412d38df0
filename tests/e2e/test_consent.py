"""A question is read, changed, granted for always, used again and taken back in a terminal."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

CTRL_D, CTRL_U = "\x04", "\x15"
WANTED, CHANGED = "mkdir -p from-model", "mkdir -p from-user"


def call(command):
    return [("shell", {"command": command})]


SCRIPT = [
    Reply("I make it.", call(WANTED)),
    Reply("First turn ended."),
    Reply("I make it again.", call(CHANGED)),
    Reply("Second turn ended."),
    Reply("And again.", call(CHANGED)),
    Reply("Third turn ended."),
]


@pytest.mark.req("R-CONF-02", "R-CONF-03", "R-CONF-04", "R-CONF-08", "R-LOOP-12")
def test_question_is_changed_granted_used_again_and_taken_back(work, home):
    rules = work.parent / "home" / "permissions.toml"
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("sonnet")
            terminal.say("go")
            terminal.wait("Run this command", WANTED, r"\[a\]", "Allow every `mkdir`")
            terminal.answer("e")
            terminal.wait("shows the changed command")
            terminal.send(CTRL_U)
            terminal.wait("The command")
            terminal.send(CHANGED)
            terminal.wait(CHANGED)
            terminal.send("\r")
            terminal.wait("changed by you; this is what runs", CHANGED)
            assert not (work / "from-user").exists()
            terminal.answer("l")
            terminal.wait("First turn ended")
            assert (work / "from-user").is_dir()
            assert not (work / "from-model").exists()
            stored = rules.read_text()
            assert f"shell({CHANGED})" in stored and "not_match" in stored
            (work / "from-user").rmdir()
            terminal.say("again")
            terminal.wait("Second turn ended")
            assert (work / "from-user").is_dir()
            terminal.say("/permissions")
            terminal.wait(r"shell\(mkdir -p from-user\)", "take back")
            terminal.send(CTRL_D)
            terminal.wait(r"Ctrl\+R")
            terminal.send("\x1b")
            terminal.wait(lambda screen: "Ctrl+R" not in screen)
            assert f"shell({CHANGED})" not in rules.read_text()
            terminal.say("once more")
            terminal.wait("Run this command", "waiting for you")
            terminal.read(0.7)
            terminal.send("\x1b")
            terminal.wait("Third turn ended")
            terminal.say("/quit")
            assert terminal.end() == 0
