"""The questions about the calls of one reply are open at the same time."""

import asyncio
from functools import reduce
from operator import add

from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, Checked, play
from yourtool.effects import Scope
from yourtool.events.tools import ToolCalled, ToolConfirmationResolved, ToolFailed
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

SESSION = replace(ALLOW, scope=Scope.SESSION)


class Desk:
    """A user who sees all open questions and answers any of them."""

    def __init__(self):
        self.open = {}
        self.asked = []
        self._changed = asyncio.Event()

    async def __call__(self, question):
        future = asyncio.get_running_loop().create_future()
        name = question.subject.text if question.subject else question.title
        self.open[name] = future
        self.asked.append(name)
        self._changed.set()
        try:
            return await future
        finally:
            del self.open[name]
            self._changed.set()

    async def wait_for(self, *names):
        """Wait until exactly these questions are open."""
        async with asyncio.timeout(10):
            while sorted(self.open) != sorted(names):
                self._changed.clear()
                await self._changed.wait()


def shell(command):
    return calls("shell", command=command)


async def start(bench, line, **options):
    desk = Desk()
    session = await bench.session(Checked(Scripted([line, says("done")])), confirm=desk, **options)
    return session, desk, asyncio.create_task(play(session.send("go")))


async def finish(session, playing):
    events = await playing
    assert validate_session(session.state.messages) == []
    await session.close()
    return events


LINES = ("echo 1 >> log", "echo 2 >> log", "echo 3 >> log")


async def test_questions_of_one_reply_are_answered_in_any_order_and_run_in_theirs(bench):
    session, desk, playing = await start(bench, reduce(add, map(shell, LINES)))
    await desk.wait_for(*LINES)
    assert desk.asked == [*LINES]
    desk.open[LINES[2]].set_result(ALLOW)
    desk.open[LINES[0]].set_result(ALLOW)
    await desk.wait_for(LINES[1])
    assert not (bench.workspace / "log").exists()
    desk.open[LINES[1]].set_result(ALLOW)
    await finish(session, playing)
    assert (bench.workspace / "log").read_text() == "1\n2\n3\n"


async def test_edits_of_different_files_are_asked_together_and_of_one_file_in_turn(bench):
    line = calls("write_file", path="a", content="1\n") + calls(
        "write_file", path="b", content="1\n"
    )
    line += calls("edit_file", path="./a", edits=[{"old": "1", "new": "2"}])
    session, desk, playing = await start(bench, line)
    await desk.wait_for("a", "b")
    desk.open["b"].set_result(ALLOW)
    desk.open["a"].set_result(ALLOW)
    await desk.wait_for("a")
    desk.open["a"].set_result(ALLOW)
    await finish(session, playing)
    assert (bench.workspace / "a").read_text() == "2\n"


async def test_answer_with_a_rule_withdraws_the_questions_that_it_settles(bench):
    lines = ("touch a", "touch b", "rm a", "touch c")
    session, desk, playing = await start(bench, reduce(add, map(shell, lines)))
    await desk.wait_for(*lines)
    desk.open["touch b"].set_result(replace(SESSION, rules=("shell(touch *)",)))
    await desk.wait_for("rm a")
    desk.open["rm a"].set_result(DENY)
    events = await finish(session, playing)
    assert sorted(each.name for each in bench.workspace.iterdir()) == ["a", "b", "c"]
    decisions = [each.decision for each in events if isinstance(each, ToolConfirmationResolved)]
    assert sorted(decisions) == ["allow", "cancelled", "cancelled", "deny"]
    assert len([each for each in events if isinstance(each, ToolCalled)]) == 3


async def test_accepted_edits_withdraw_the_other_questions_about_edits(bench):
    line = calls("write_file", path="a.py", content="1\n")
    line += calls("write_file", path="b.py", content="1\n")
    session, desk, playing = await start(bench, line)
    await desk.wait_for("a.py", "b.py")
    desk.open["b.py"].set_result(replace(ALLOW, accepts_edits=True))
    await finish(session, playing)
    assert session.gate.mode is Mode.ACCEPT_EDITS
    assert (bench.workspace / "a.py").exists() and (bench.workspace / "b.py").exists()


async def test_denial_of_the_rest_withdraws_all_questions_of_the_reply(bench):
    session, desk, playing = await start(bench, reduce(add, map(shell, LINES)))
    await desk.wait_for(*LINES)
    desk.open[LINES[1]].set_result(replace(DENY, denies_rest=True))
    events = await finish(session, playing)
    assert len([each for each in events if isinstance(each, ToolFailed)]) == 3
    assert not (bench.workspace / "log").exists()


async def test_stop_withdraws_all_questions_and_each_call_has_a_result(bench):
    session, desk, playing = await start(bench, reduce(add, map(shell, LINES)))
    await desk.wait_for(*LINES)
    desk.open[LINES[0]].set_result(ALLOW)
    await desk.wait_for(*LINES[1:])
    session.cancel()
    events = await finish(session, playing)
    assert desk.open == {}
    assert {each.error_class for each in events if isinstance(each, ToolFailed)} == {"cancelled"}
    assert not (bench.workspace / "log").exists()


async def test_at_most_twenty_questions_are_open_at_once(bench):
    lines = [f"touch {number}" for number in range(23)]
    session, desk, playing = await start(bench, reduce(add, map(shell, lines)))
    await desk.wait_for(*lines[:20])
    desk.open[lines[5]].set_result(replace(SESSION, rules=("shell(touch *)",)))
    await finish(session, playing)
    assert len(desk.asked) == 20 and len(list(bench.workspace.iterdir())) == 23


async def test_question_stays_if_the_rule_of_another_answer_does_not_cover_it(bench):
    session, desk, playing = await start(bench, shell("touch a") + shell("rm other"))
    await desk.wait_for("touch a", "rm other")
    desk.open["touch a"].set_result(replace(SESSION, rules=("shell(touch *)",)))
    await desk.wait_for("rm other")
    await asyncio.sleep(0.2)
    assert [*desk.open] == ["rm other"]
    desk.open["rm other"].set_result(DENY)
    await finish(session, playing)
