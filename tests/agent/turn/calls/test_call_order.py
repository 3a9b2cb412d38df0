"""The order in which the calls of one reply run."""

import asyncio
from functools import reduce
from operator import add

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from yourtool.effects import SideEffects
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.base import Args, ToolContext, tool


def shell(command):
    return calls("shell", command=command)


async def results(bench, line, **options):
    """Play one reply with calls; return the text of each result."""
    session = await bench.session(Checked(Scripted([line, says("done")])), **options)
    await play(session.send("go"))
    await session.close()
    return [
        "\n".join(part.text for part in message.content[0].content)
        for message in session.state.messages
        if message.role == "tool"
    ]


@pytest.mark.parametrize("_", range(5))
async def test_read_after_an_edit_in_one_reply_gets_the_new_text(bench, _):
    (bench.workspace / "a.py").write_text("x = 1\n")
    read = calls("read_file", path="a.py")
    edit = calls("edit_file", path="a.py", edits=[{"old": "x = 1", "new": "x = 2"}])
    before, _edited, after = await results(bench, read + edit + read, confirm=User(ALLOW))
    assert "x = 1" in before and "x = 2" in after


@pytest.mark.parametrize("_", range(5))
async def test_commit_after_add_in_one_reply_has_the_files(bench, _):
    (bench.workspace / "a.txt").write_text("a\n")
    identity = "-c user.name=n -c user.email=n@example.com"
    line = shell("git init -q") + shell("sleep 0.1; git add a.txt")
    line += shell(f"git {identity} commit -qm one") + shell("git ls-tree --name-only HEAD")
    *_, listed = await results(bench, line, confirm=User(ALLOW))
    assert listed.startswith("a.txt\n")


async def test_edit_after_a_command_of_one_reply_is_shown_as_the_command_leaves_the_file(bench):
    (bench.workspace / "a.txt").write_text("one\n")
    user = User(ALLOW)
    edit = calls("edit_file", path="a.txt", edits=[{"old": "two", "new": "three"}])
    read = calls("read_file", path="a.txt")
    line = read + shell("echo two > a.txt") + read + edit
    _, _, read_again, _edited = await results(bench, line, confirm=user, mode=Mode.ASK)
    assert "two" in read_again
    assert "-two" in user.asked[1].preview.body
    assert (bench.workspace / "a.txt").read_text() == "three\n"


async def test_call_is_judged_again_after_a_command_that_changes_what_it_means(bench):
    (bench.workspace / ".env").write_text("TOKEN=abc\n")
    (bench.workspace / "notes").write_text("nothing\n")
    user = User(ALLOW, DENY)
    reading = calls("read_file", path="notes")
    line = shell("ln -sf .env notes") + reading
    _, read = await results(bench, line, confirm=user)
    assert [each.title for each in user.asked] == ["shell", "read_file"]
    assert "abc" not in read and "declined" in read


async def test_allowed_command_is_refused_after_one_that_makes_it_reach_credentials(bench):
    (bench.workspace / ".env").write_text("TOKEN=abc\n")
    (bench.workspace / "notes").write_text("nothing\n")
    user, rules = User(ALLOW, DENY), RuleSet(allow=(Rule.parse("shell(cat *)"),))
    line = shell("ln -sf .env notes") + shell("cat notes")
    _, read = await results(bench, line, confirm=user, rules=rules)
    assert [each.subject.text for each in user.asked] == ["ln -sf .env notes", "cat notes"]
    assert "abc" not in read and "declined" in read


PAIRS = {"r1": "r2", "r2": "r1", "r3": "r4", "r4": "r3"}
EFFECTS = {"r": SideEffects.READ, "w": SideEffects.WRITE, "x": SideEffects.EXECUTE}


class Step(Args, frozen=True):
    """One step."""

    name: str


def tracing(log):
    """Return tools with the effects read, write and execute, which log their start and end."""

    async def trace(args: Step, context: ToolContext) -> str:
        """Do a step."""
        log.append(f"+{args.name}")
        async with asyncio.timeout(10):
            while args.name in PAIRS and f"+{PAIRS[args.name]}" not in log:
                await asyncio.sleep(0.001)
        log.append(f"-{args.name}")
        return "done"

    for name, effects in EFFECTS.items():
        trace.__name__ = name
        yield tool(effects)(trace)


async def test_only_calls_without_effects_run_together(bench):
    log = []  # a call that reads ends only after the other one of its pair has started
    steps = ("r1", "r2", "x1", "x2", "w1", "r3", "r4")
    line = reduce(add, (calls(each[0], name=each) for each in steps))
    await results(bench, line, confirm=User(ALLOW), tools=[*tracing(log)])
    alone = [each for each in log if each[1] != "r"]
    assert alone == ["+x1", "-x1", "+x2", "-x2", "+w1", "-w1"]
    assert max(log.index("-r1"), log.index("-r2")) < log.index("+x1")
    assert log.index("-w1") < min(log.index("+r3"), log.index("+r4"))
