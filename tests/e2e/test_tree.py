"""A session is a tree in a terminal: another attempt, its files, and the way back."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

SCRIPT = [
    Reply("I write.", [("write_file", {"path": "first.txt", "content": "1\n"})]),
    Reply("The first attempt."),
    Reply("- A file was written, which was not wanted."),
    Reply("The second attempt."),
    Reply("Once more."),
]


@pytest.mark.req("R-SEED-05", "R-PER-08", "R-UNDO-01")
def test_a_prompt_is_edited_on_a_new_branch_and_the_old_one_comes_back(work, home):
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "--mode", "auto"), cwd=work, env=env) as terminal:
            terminal.wait("anthropic:")
            terminal.say("begin")
            terminal.wait("The first attempt.")
            terminal.say("/tree")
            terminal.wait("› begin", "the conversation is here")
            terminal.send("\x1b[A")
            terminal.wait("edit and send again")
            terminal.send("\x13")
            terminal.wait("restore 1 file: first.txt")
            terminal.send("\r")
            terminal.wait("Took back the changes to 1 file", "Summarised the branch that was left")
            assert not (work / "first.txt").exists()
            terminal.send(" again\r")
            terminal.wait("begin again", "The second attempt.")
            terminal.say("/tree list")
            terminal.wait("1 *├─ › begin", "5 *└─ ⑂ summary of a branch", "6 *› begin again")
            terminal.send("q")
            terminal.say("/tree 4")
            terminal.wait("Restore what?")
            terminal.send("\r")
            terminal.wait(lambda _: (work / "first.txt").exists())
            terminal.wait("The first attempt.", lambda screen: "second" not in screen)
            assert (work / "first.txt").read_text() == "1\n"
            terminal.say("/quit")
            assert terminal.end() == 0
        with Terminal((*YOURTOOL, "--continue"), cwd=work, env=env) as terminal:
            terminal.wait("The first attempt.", lambda screen: "second" not in screen)
            terminal.say("and now")
            terminal.wait("Once more.")
            terminal.say("/quit")
            assert terminal.end() == 0
