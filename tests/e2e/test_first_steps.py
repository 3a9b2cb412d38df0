"""The page `docs/first-steps.md`, step by step in a terminal."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining
ANSWER_SECONDS = 1.2
"""After this time without a key, a question takes answers."""


def answer(terminal, *keys):
    """Look at the question for a moment, then press keys one by one."""
    terminal.read(ANSWER_SECONDS)
    for key in keys:
        terminal.send(key)
        terminal.read(0.05)


def test_the_steps_of_the_page_work_in_their_order(tmp_path, home):
    """R-QLT-06."""
    work = tmp_path / "work"
    work.mkdir()
    replies = [
        Reply(calls=[("write_file", {"path": "a.txt", "content": "one\n"})]),
        Reply("The file is there."),
        Reply(calls=[("write_file", {"path": "b.txt", "content": "two\n"})]),
        Reply("It was declined."),
        Reply(calls=[("propose_plan", {"plan": "1. Write `c.txt`"})]),
        Reply("The plan stays a plan."),
    ]
    with (
        ProviderServer(replies) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("Say what to do")
        terminal.say("write a file")
        terminal.wait("Create `a.txt`")
        answer(terminal, "y", "\r")
        terminal.wait("The file is there")
        assert (work / "a.txt").read_text() == "one\n"
        terminal.say("write another")
        terminal.wait("Create `b.txt`")
        answer(terminal, "n", "\r")
        terminal.wait("It was declined")
        assert not (work / "b.txt").exists()
        terminal.say("/undo")
        terminal.wait(lambda _: not (work / "a.txt").exists())
        terminal.say("/redo")
        terminal.wait(lambda _: (work / "a.txt").exists())
        terminal.send("\x1b[Z")
        terminal.wait("accept.edits")
        terminal.send("\x1b[Z")
        terminal.wait(" plan ")
        terminal.say("plan the next file")
        terminal.wait("Carry out this plan")
        answer(terminal, "d", "\r")
        terminal.wait("The plan stays a plan")
        terminal.say("/model show")
        terminal.wait("global default")
        terminal.say("/cost")
        terminal.wait("By model")
        terminal.send("\x1b")
        terminal.read(0.3)  # else it is Alt and the next key
        terminal.say("/quit")
        assert terminal.end() == 0
    assert not (work / "c.txt").exists()
